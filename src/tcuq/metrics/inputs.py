"""Checks of the arrays that metrics take: an error names the value and what was expected."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.errors import InputError, wrong_value

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]


def _array(name: str, values: npt.ArrayLike, dimensions: int = 1) -> npt.NDArray[Any]:
    array = np.asarray(values)
    if array.ndim != dimensions:
        raise InputError("value", f"{name} has {array.ndim} dimensions, expected {dimensions}")
    if array.dtype.kind not in "biuf":
        raise InputError("value", f"{name} has dtype {array.dtype}, expected real numbers or booleans")
    return array


def _refuse(name: str, array: npt.NDArray[Any], bad: Bools, accepted: str) -> None:
    if bad.any():
        at = tuple(int(i) for i in np.argwhere(bad)[0])
        raise wrong_value(f"{name}[{', '.join(map(str, at))}]", array[at], accepted)


def not_empty(name: str, array: npt.NDArray[Any]) -> None:
    """Refuse an array without entries."""
    if len(array) == 0:
        raise InputError("value", f"{name} has 0 entries, expected at least 1")


def same_length(name: str, array: npt.NDArray[Any], other: str, reference: npt.NDArray[Any]) -> None:
    """Refuse two arrays of different length."""
    if len(array) != len(reference):
        problem = f"{name} has {len(array)} entries, {other} has {len(reference)}, expected the same number"
        raise InputError("value", problem)


def numbers(name: str, values: npt.ArrayLike) -> Floats:
    """Return one float a step; infinite is fine, NaN is refused."""
    array = _array(name, values).astype(np.float64)
    _refuse(name, array, np.isnan(array), "any number but NaN")
    return array


def unit(name: str, values: npt.ArrayLike, dimensions: int = 1) -> Floats:
    """Return floats in [0, 1]; a matrix when `dimensions` is 2."""
    array = _array(name, values, dimensions).astype(np.float64)
    _refuse(name, array, ~((array >= 0) & (array <= 1)), "0 to 1")
    return array


def flags(name: str, values: npt.ArrayLike) -> Bools:
    """Return one boolean a step, from booleans or from the numbers 0 and 1."""
    array = _array(name, values)
    _refuse(name, array, (array != 0) & (array != 1), "0 or 1")
    return array.astype(np.bool_)


def wholes(name: str, values: npt.ArrayLike, low: int | None = None, high: int | None = None) -> Ints:
    """Return one integer a step, at least `low` and at most `high`."""
    array = _array(name, values)
    if array.dtype.kind == "f":
        _refuse(name, array, ~((np.abs(array) <= 2.0**53) & (array == np.round(array))), "an integer")
    elif array.dtype.kind == "u" and array.size:
        _refuse(name, array, array > np.iinfo(np.int64).max, f"at most {np.iinfo(np.int64).max}")
    if low is not None:
        _refuse(name, array, array < low, f"{low} or more" if high is None else f"{low} to {high}")
    if high is not None:
        _refuse(name, array, array > high, f"at most {high}" if low is None else f"{low} to {high}")
    return array.astype(np.int64)


def marks(name: str, values: npt.ArrayLike) -> Bools:
    """Return where integers differ from 0: an alarm of either side, a shift of any kind."""
    return np.asarray(wholes(name, values, low=0) != 0, dtype=np.bool_)
