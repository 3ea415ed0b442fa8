"""From what users have to what the core takes: dtypes, shapes, int8 as a runtime would leave it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..base.checks import integer, number
from ..base.errors import InputError, InputTypeError
from ..base.spelling import option

LEAST_TOLERANCE = 0.02 + 1e-6
"""How far the sum of a float posterior may always be from 1; 0.98 in single precision is a little less."""

_FORMATS = {"int8": "int8 of scale 1/256 and zero point -128", "uint8": "uint8 of scale 1/256"}

_DIRECT = tuple(np.dtype(t) for t in (np.int8, np.uint8, np.float32, np.float64))


def _converted(name: str, values: npt.ArrayLike, dimensions: int) -> npt.NDArray[Any]:
    try:
        array = np.asarray(values)
    except ValueError:
        raise InputError("value", f"{name} has rows of different lengths, expected a table") from None
    if array.ndim != dimensions:
        raise InputError("value", f"{name} has {array.ndim} dimensions; {dimensions} expected")
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if array.dtype in _DIRECT:
        return np.ascontiguousarray(array)
    if array.dtype == np.float16 or array.dtype == np.longdouble:
        with np.errstate(invalid="ignore"):  # a NaN is reported with its place, by whoever looks for it
            return np.ascontiguousarray(array, dtype=np.float64)
    if array.size == 0 and not isinstance(values, np.ndarray):
        return np.ascontiguousarray(array, dtype=np.float64)
    if array.dtype.kind in "iu" and not isinstance(values, np.ndarray):
        # Python lists carry no width: integers are taken as the int8 that a runtime prints.
        low, high = (int(array.min()), int(array.max())) if array.size else (0, 0)
        if low < -128 or high > 127:
            raise InputError("value", f"{name} holds {low if low < -128 else high}, expected -128 to 127")
        return np.ascontiguousarray(array, dtype=np.int8)
    raise InputTypeError("value", f"{name} has dtype {array.dtype}, expected int8, uint8, float32 or float64")


def as_vector(name: str, values: npt.ArrayLike) -> npt.NDArray[Any]:
    """Return one step's values as a contiguous array of a dtype that the core takes."""
    return _converted(name, values, 1)


def as_rows(name: str, values: npt.ArrayLike) -> npt.NDArray[Any]:
    """Return a table of steps as a contiguous array of a dtype that the core takes."""
    return _converted(name, values, 2)


def quantize_probs(probs: npt.ArrayLike) -> npt.NDArray[np.int8]:
    """Return posteriors as an int8 softmax would leave them: scale 1/256, zero point -128."""
    rows = as_rows("probs", probs)
    out = np.empty(rows.shape, dtype=np.int8)
    _core.quantize_probs(rows, out, rows.shape[1])
    return out


def sum_tolerances(probs: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return how far the sum of each float row may be from 1: the rule of the core's `check_probs`."""
    # Rounding to int8 moves a class by half a unit, an integer softmax by a whole one: rows of multiples of
    # 1/256, to five decimals, get L/256.
    classes = probs.shape[1]
    with np.errstate(invalid="ignore", over="ignore"):
        units = probs.astype(np.float32).astype(np.float64) * 256
        whole = (np.abs(units - np.floor(units + 0.5)) <= 1 / 512).all(axis=1)
    return np.asarray(np.maximum(LEAST_TOLERANCE, np.where(whole, classes / 256, classes / 512)))


def odd_sums(probs: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Return which rows cannot come from a softmax: their sum is off, or a float is outside [0, 1]."""
    if probs.dtype.kind == "f":
        with np.errstate(invalid="ignore", over="ignore"):
            single = probs.astype(np.float32)
            outside = ~((single >= 0) & (single <= 1)).all(axis=1)
            off = ~(np.abs(single.sum(axis=1, dtype=np.float64) - 1) <= sum_tolerances(probs))
        return np.asarray(outside | off)
    classes = probs.shape[1]
    mass = probs.sum(axis=1, dtype=np.int64) + (128 * classes if probs.dtype == np.int8 else 0)
    return np.asarray(np.abs(mass - 256) > max(LEAST_TOLERANCE * 256, classes))


def _average(probs: npt.NDArray[Any]) -> float:
    mean = float(probs.sum(axis=1, dtype=np.float64).mean())
    if probs.dtype.kind == "f":
        return mean
    return (mean + (128 * probs.shape[1] if probs.dtype == np.int8 else 0)) / 256


def mass_note(probs: npt.NDArray[Any]) -> str | None:
    """Return what is odd about the sums of int8 or uint8 posteriors, None when most are about 1."""
    if probs.dtype not in (np.int8, np.uint8) or probs.size == 0:
        return None
    odd = int(odd_sums(probs).sum())
    if 2 * odd <= len(probs):
        return None
    count = f"{odd:,} of {len(probs):,} {probs.dtype} rows"
    return f"{count} do not sum to 1 (mean sum {_average(probs):.2f}); are these percentages or logits?"


def _percentages(probs: npt.NDArray[Any]) -> bool:
    """Tell whether most rows sum to about 100; whole numbers are off by half a percent a class at most."""
    whole = probs.dtype.kind != "f" or bool((probs == np.floor(probs)).all())
    tolerance = max(2, probs.shape[1] / 2) if whole else 2
    sums = probs.sum(axis=1, dtype=np.float64)
    return bool(probs.min() >= 0 and abs(float(np.median(sums)) - 100) <= tolerance)


def other_outputs(probs: npt.NDArray[Any]) -> str | None:
    """Say what outputs are that are neither posteriors nor logits, and what to do; None for others."""
    if not probs.size or not np.isfinite(probs).all():
        return None
    if _percentages(probs):
        return "Are these percentages? Divide them by 100."
    if probs.dtype.kind == "f" and probs.min() >= 0 and probs.max() <= 1:
        if np.abs(probs.sum(axis=1) - 1).max() <= 0.005 * probs.shape[1] + 1e-6:
            return "Are these rounded to two decimals? Log more digits."
        wanted = "a classifier with one class per input, trained with a softmax"
        return f"Are these sigmoids of a multi-label model? The monitor needs {wanted}."
    return None


def refuse_logits(probs: npt.NDArray[Any], what: str = "rows of probs") -> None:
    """Refuse a log of which most rows cannot come from a softmax, and say what to do."""
    odd = odd_sums(probs)
    if 2 * int(odd.sum()) <= len(probs):
        return
    rows = f"{int(odd.sum()):,} of {len(probs):,} {what} cannot come from a softmax"
    other = other_outputs(probs[odd])
    if other is not None and _percentages(probs):
        raise InputError("value", f"{rows}: most sum to about 100. {other}")
    floats = probs.dtype.kind == "f"
    kind = "" if floats else f" with {_FORMATS[str(probs.dtype)]}"
    extra = "" if floats else f" and {option('logits_scale')}, the scale of the int8 logits"
    way = other or f"Are these logits? Pass {option('logits', True)}{extra}."
    problem = f"they sum to {_average(probs):.2f} on average, expected 1.00{kind}"
    raise InputError("value", f"{rows}: {problem}. {way}")


def quantize_features(features: npt.ArrayLike, scale: float, zero_point: int) -> npt.NDArray[np.int8]:
    """Return features as the monitor takes them: int8 as they are, floats by this scale and zero point."""
    rows = as_rows("features", features)
    if rows.dtype == np.int8:
        return rows
    if rows.dtype == np.uint8:
        raise InputError("value", "features are uint8, expected int8, float32 or float64")
    out = np.empty(rows.shape, dtype=np.int8)
    number("feature_scale", scale, 1e-30, 1e30)
    integer("feature_zero_point", zero_point, -128, 127)
    _core.quantize_features(rows, out, rows.shape[1], scale, zero_point)
    return out


def choose_feature_scale(features: npt.NDArray[Any]) -> tuple[float, int]:
    """Choose scale and zero point that cover float features and 0, as a post-training quantizer would."""
    low = min(0.0, float(features.min())) if features.size else 0.0
    high = max(0.0, float(features.max())) if features.size else 0.0
    if not np.isfinite(high - low):
        raise InputError("value", f"features range from {low} to {high}, expected finite values")
    scale = (high - low) / 255 or 1.0
    return scale, int(np.clip(round(-128 - low / scale), -128, 127))


ONE_OUTPUT = "one number per step is taken as a sigmoid, the probability of class 1 of two"


def two_classes(probs: npt.ArrayLike) -> npt.NDArray[Any]:
    """Return posteriors of two classes from one sigmoid output (class 1), float, int8 or uint8."""
    array = np.asarray(probs).reshape(-1)
    if array.dtype == np.int8:
        other = np.minimum(127, -array.astype(np.int16)).astype(np.int8)
    elif array.dtype == np.uint8:
        other = np.minimum(255, 256 - array.astype(np.int16)).astype(np.uint8)
    else:
        with np.errstate(invalid="ignore"):  # what is no number stays none, and is refused later
            other = 1 - array
    return np.stack([other, array], axis=1)


def sigmoid_pairs(probs: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return posteriors of two classes where there is one value a step; other tables as they are."""
    single = probs.ndim == 1 or (probs.ndim == 2 and probs.shape[1] == 1)
    return two_classes(probs) if single else probs
