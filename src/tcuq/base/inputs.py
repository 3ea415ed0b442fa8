"""Numbers as the integer input of a network."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def whole_units(x: npt.NDArray[Any], scale: float, zero: int) -> npt.NDArray[np.float32]:
    """Return numbers in units of an integer input, not confined to its range yet.

    A half is rounded away from zero, as the operator QUANTIZE of TFLite does.

    Parameters
    ----------
    x : array
    scale : float
    zero : int
        The integer that stands for 0.

    Examples
    --------
    >>> whole_units(np.array([0.0, 0.25, -0.25, 9.0]), 0.5, -128).tolist()
    [-128.0, -127.0, -129.0, -110.0]
    """
    units = x.astype(np.float32) / np.float32(scale)
    return np.asarray(np.copysign(np.floor(np.abs(units) + np.float32(0.5)), units) + np.float32(zero))
