"""From what users have to what the core takes: dtypes, shapes, int8 as a runtime would leave it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..base.checks import integer, number

_DIRECT = tuple(np.dtype(t) for t in (np.int8, np.uint8, np.float32, np.float64))


def _converted(name: str, values: npt.ArrayLike, dimensions: int) -> npt.NDArray[Any]:
    try:
        array = np.asarray(values)
    except ValueError:
        raise ValueError(f"{name} has rows of different lengths; a table is needed") from None
    if array.ndim != dimensions:
        raise ValueError(f"{name} has {array.ndim} dimensions; {dimensions} expected")
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if array.dtype in _DIRECT:
        return np.ascontiguousarray(array)
    if array.dtype == np.float16 or array.dtype == np.longdouble:
        return np.ascontiguousarray(array, dtype=np.float64)
    if array.size == 0 and not isinstance(values, np.ndarray):
        return np.ascontiguousarray(array, dtype=np.float64)
    if array.dtype.kind in "iu" and not isinstance(values, np.ndarray):
        # Python lists carry no width: integers are taken as the int8 that a runtime prints.
        low, high = (int(array.min()), int(array.max())) if array.size else (0, 0)
        if low < -128 or high > 127:
            raise ValueError(
                f"{name} holds {low if low < -128 else high}; integers must be int8, -128 to 127"
            )
        return np.ascontiguousarray(array, dtype=np.int8)
    raise TypeError(f"{name} has dtype {array.dtype}; int8, uint8, float32 or float64 is accepted")


def as_vector(name: str, values: npt.ArrayLike) -> npt.NDArray[Any]:
    """Return one step's values as a contiguous array of a dtype that the core takes."""
    return _converted(name, values, 1)


def as_rows(name: str, values: npt.ArrayLike) -> npt.NDArray[Any]:
    """Return a table of steps as a contiguous array of a dtype that the core takes."""
    return _converted(name, values, 2)


def quantize_probs(probs: npt.ArrayLike) -> npt.NDArray[np.int8]:
    """Return posteriors as an int8 softmax would leave them: scale 1/256, zero point -128.

    Parameters
    ----------
    probs : array of shape (T, L)

    Examples
    --------
    >>> quantize_probs([[0.25, 0.75], [0.0, 1.0]]).tolist()
    [[-64, 64], [-128, 127]]
    """
    rows = as_rows("probs", probs)
    out = np.empty(rows.shape, dtype=np.int8)
    _core.quantize_probs(rows, out, rows.shape[1])
    return out


def mass_note(probs: npt.NDArray[Any]) -> str | None:
    """Return what is odd about the mean sum of int8 or uint8 posteriors, None when it is about 1.

    The core takes any sum. Rounding moves it by at most half a unit a class; more than that on
    average is likely to be another kind of number.

    Parameters
    ----------
    probs : array of shape (T, L)

    Examples
    --------
    >>> mass_note(np.array([[90, 10]], dtype=np.int8))
    'posteriors sum to 1.39 on average; an int8 softmax sums to about 1: are these percentages or logits?'
    >>> mass_note(np.array([[-128, 127]], dtype=np.int8))
    """
    if probs.dtype not in (np.int8, np.uint8) or probs.size == 0:
        return None
    classes = probs.shape[1]
    mass = float(probs.sum(dtype=np.int64)) / len(probs) + (128 * classes if probs.dtype == np.int8 else 0)
    if abs(mass - 256) <= classes / 2 + 2:
        return None
    average = f"posteriors sum to {mass / 256:.2f} on average"
    return f"{average}; an int8 softmax sums to about 1: are these percentages or logits?"


def quantize_features(features: npt.ArrayLike, scale: float, zero_point: int) -> npt.NDArray[np.int8]:
    """Return float features as a runtime with this scale and zero point would leave them.

    Parameters
    ----------
    features : array of shape (T, d)
    scale : float
    zero_point : int

    Examples
    --------
    >>> quantize_features([[0.0, 1.0, -2.5]], 0.5, 0).tolist()
    [[0, 2, -5]]
    """
    rows = as_rows("features", features)
    out = np.empty(rows.shape, dtype=np.int8)
    number("feature_scale", scale, 1e-30, 1e30)
    integer("feature_zero_point", zero_point, -128, 127)
    _core.quantize_features(rows, out, rows.shape[1], scale, zero_point)
    return out


def choose_feature_scale(features: npt.NDArray[Any]) -> tuple[float, int]:
    """Choose scale and zero point that cover float features, as a post-training quantizer would.

    Zero is always representable; the range is that of the data.

    Parameters
    ----------
    features : float array of shape (T, d)

    Returns
    -------
    scale, zero_point

    Examples
    --------
    >>> scale, zero_point = choose_feature_scale(np.array([[0.0, 5.1]]))
    >>> round(scale, 6), zero_point
    (0.02, -128)
    """
    low = min(0.0, float(features.min())) if features.size else 0.0
    high = max(0.0, float(features.max())) if features.size else 0.0
    if not np.isfinite(high - low):
        raise ValueError(f"features range from {low} to {high}; finite values are needed")
    scale = (high - low) / 255 or 1.0
    return scale, int(np.clip(round(-128 - low / scale), -128, 127))


def two_classes(probs: npt.ArrayLike) -> npt.NDArray[Any]:
    """Return posteriors of two classes from one sigmoid output (class 1).

    Parameters
    ----------
    probs : array of T values
        Float in [0, 1], int8 (scale 1/256, zero point -128), or uint8.

    Examples
    --------
    >>> two_classes([0.25]).tolist()
    [[0.75, 0.25]]
    >>> two_classes(np.array([-128, 0], dtype=np.int8)).tolist()
    [[127, -128], [0, 0]]
    """
    array = np.asarray(probs).reshape(-1)
    if array.dtype == np.int8:
        other = np.minimum(127, -array.astype(np.int16)).astype(np.int8)
    elif array.dtype == np.uint8:
        other = np.minimum(255, 256 - array.astype(np.int16)).astype(np.uint8)
    else:
        other = 1 - array
    return np.stack([other, array], axis=1)
