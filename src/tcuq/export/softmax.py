"""Posteriors from int8 logits, in the integers that the exported C uses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.checks import number

ENTRIES = 256
"""Distances between two int8 values."""


def softmax_table(scale: float) -> npt.NDArray[np.uint16]:
    """Return 65535 * exp(-scale * distance), rounded, for every distance between two int8 logits.

    Parameters
    ----------
    scale : float
        What one unit of the logits is worth, as the runtime that quantized them says.

    Examples
    --------
    >>> softmax_table(0.5)[:3].tolist()
    [65535, 39749, 24109]
    >>> softmax_table(0)
    Traceback (most recent call last):
    ...
    ValueError: logits_scale is 0; 1e-06 to 1000 is accepted
    """
    scale = number("logits_scale", scale, 1e-6, 1e3)
    return np.array(
        [math.floor(65535 * math.exp(-scale * distance) + 0.5) for distance in range(ENTRIES)], np.uint16
    )


def posteriors(logits: npt.NDArray[Any], table: npt.NDArray[np.uint16]) -> npt.NDArray[np.int8]:
    """Return posteriors as `tcuq_softmax` leaves them: scale 1/256, zero point -128.

    Parameters
    ----------
    logits : int8 array (T, L)
    table : array of `ENTRIES` values
        From `softmax_table`.

    Examples
    --------
    >>> posteriors(np.array([[10, 8]], np.int8), softmax_table(0.5)).tolist()
    [[59, -59]]
    """
    if logits.dtype != np.int8 or logits.ndim != 2:
        raise ValueError(f"logits are {logits.dtype} of {logits.ndim} dimensions; int8 of 2 is accepted")
    values = logits.astype(np.int64)
    shares = table.astype(np.int64)[values.max(axis=1, keepdims=True) - values]
    total = shares.sum(axis=1, keepdims=True)
    found = (shares * 512 + total) // (2 * total)
    return np.asarray(np.minimum(found, 255) - 128, np.int8)
