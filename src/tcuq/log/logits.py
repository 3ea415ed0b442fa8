"""From logits to posteriors: in floats, or from int8 in the integers that the exported C uses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.checks import number
from ..base.errors import InputError, InputTypeError, wrong_value
from ..base.spelling import option

ENTRIES = 256
"""Distances between two int8 values."""


def softmax(logits: npt.ArrayLike, scale: float | None = None) -> npt.NDArray[Any]:
    """Return the posteriors of logits, as `fit`, `Log` and `Monitor` take them.

    Parameters
    ----------
    logits : array of shape (T, L) or (L,)
        Float, or int8 as a runtime leaves them. -inf stands for a class that is ruled out.
    scale : float, optional
        What one unit of int8 logits is worth, 1e-6 to 1000, as the runtime that quantized them says.
        Their zero point does not matter: a softmax reads differences only.

    Returns
    -------
    numpy.ndarray
        Float64 for float logits. For int8 logits int8 (scale 1/256, zero point -128): the same integers
        as `tcuq_softmax` gives, which `tcuq export --logits-scale` writes.

    Examples
    --------
    >>> softmax([[2.0, 0.0]]).round(3).tolist()
    [[0.881, 0.119]]
    >>> softmax(np.array([10, 8], np.int8), scale=0.5).tolist()
    [59, -59]
    """
    values = np.asarray(logits)
    if values.ndim not in (1, 2) or values.shape[-1] < 2:
        raise InputError("value", f"logits have shape {values.shape}, expected (T, L) or (L,), L at least 2")
    if values.dtype == np.int8:
        if scale is None:
            way = f"pass {option('logits_scale')}, what one unit is worth"
            raise InputError("missing", f"logits are int8; {way}")
        rows = posteriors(np.atleast_2d(values), softmax_table(scale))
        return rows if values.ndim == 2 else rows[0]
    if values.dtype.kind not in "fiu":
        raise InputTypeError("value", f"logits have dtype {values.dtype}, expected int8 or float")
    if scale is not None:
        raise InputError("conflict", f"{option('logits_scale')} is for int8 logits; these are {values.dtype}")
    table = np.atleast_2d(values).astype(np.float64)
    top = table.max(axis=1, keepdims=True)
    bad = np.isnan(table) | np.isposinf(table) | np.isneginf(top)
    if bad.any():
        row, column = np.argwhere(bad)[0].tolist()
        place = f"[{row}, {column}]" if values.ndim == 2 else f"[{column}]"
        raise wrong_value(f"logits{place}", table[row, column], "a finite number")
    shares = np.exp(table - top)
    shares /= shares.sum(axis=1, keepdims=True)
    return shares if values.ndim == 2 else np.asarray(shares[0])


def paired(logits: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return logits of two classes from one column, the logit of class 1; other tables as they are."""
    if logits.ndim == 0 or logits.shape[-1] != 1:
        return logits
    if logits.dtype == np.int8:
        raise InputError("value", "logits have one int8 column of unknown zero point, expected float or two")
    return np.concatenate([np.zeros_like(logits), logits], axis=-1)


def softmax_table(scale: float) -> npt.NDArray[np.uint16]:
    """Return 65535 * exp(-scale * distance), rounded, for every distance between two int8 logits."""
    scale = number("logits_scale", scale, 1e-6, 1e3)
    shares = [math.floor(65535 * math.exp(-scale * distance) + 0.5) for distance in range(ENTRIES)]
    return np.array(shares, np.uint16)


def posteriors(logits: npt.NDArray[Any], table: npt.NDArray[np.uint16]) -> npt.NDArray[np.int8]:
    """Return posteriors as `tcuq_softmax` leaves them: scale 1/256, zero point -128."""
    if logits.dtype != np.int8 or logits.ndim != 2:
        raise InputError("value", f"logits are {logits.ndim}-D {logits.dtype}, expected 2-D int8")
    values = logits.astype(np.int64)
    shares = table.astype(np.int64)[values.max(axis=1, keepdims=True) - values]
    total = shares.sum(axis=1, keepdims=True)
    units = (shares * 512 + total) // (2 * total)
    return np.asarray(np.minimum(units, 255) - 128, np.int8)
