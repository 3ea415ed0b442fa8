"""Numbers as the integer input of a network."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

WRONG_SCALE = 0.5
"""Share of values outside the range of an input from which on data are refused."""


def outside(whole: npt.NDArray[Any], low: int, high: int) -> float:
    """Return the share of units that lie outside a range by more than one.

    >>> outside(np.array([-129.0, 0.0, 300.0, 127.0]), -128, 127)
    0.25
    """
    return float(((whole < low - 1) | (whole > high + 1)).mean()) if whole.size else 0.0


def whole_units(x: npt.NDArray[Any], scale: float, zero: int) -> npt.NDArray[np.float32]:
    """Return numbers in units of an integer input, not confined to its range yet.

    A half is rounded away from zero, as the operator QUANTIZE of TFLite does. `zero` stands for 0.

    >>> whole_units(np.array([0.0, 0.25, -0.25, 9.0]), 0.5, -128).tolist()
    [-128.0, -127.0, -129.0, -110.0]
    """
    units = x.astype(np.float32) / np.float32(scale)
    return np.asarray(np.copysign(np.floor(np.abs(units) + np.float32(0.5)), units) + np.float32(zero))
