"""Columns of a log with one value a step: as many as there are steps, and integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.errors import InputError


def one_a_step(name: str, values: npt.ArrayLike, length: int) -> npt.NDArray[Any]:
    """Return values as an array; refuse another number of them than there are steps."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise InputError("value", f"{name} has {array.ndim} dimensions, expected one value for each step")
    if len(array) != length:
        raise InputError("value", f"{name} has {len(array)} entries, probs has {length} rows")
    return array


def all_text(values: npt.NDArray[Any]) -> bool:
    """Tell whether every value is a text, such as the name of a class.

    >>> all_text(np.array(["cat", "dog"])), all_text(np.array([0, 1]))
    (True, False)
    """
    return values.dtype.kind == "U" or (
        values.dtype.kind == "O" and all(isinstance(each, str) for each in values)
    )


def whole(name: str, array: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return values as integers; refuse what none are, and what would wrap around.

    >>> whole("segments", np.array([1.0, 2.0])).tolist()
    [1, 2]
    """
    if array.dtype.kind == "f" and not (np.isfinite(array).all() and (array == np.round(array)).all()):
        raise InputError("value", f"{name} has dtype {array.dtype}, expected integers")
    if array.dtype.kind not in "iubf":
        hint = "; pass `names`, the names of the classes" if name == "labels" and all_text(array) else ""
        raise InputError("value", f"{name} has dtype {array.dtype}, expected integers{hint}")
    if array.dtype.kind in "uf" and array.size:
        most = 2**53 if array.dtype.kind == "f" else np.iinfo(np.int64).max
        for value in (array.min(), array.max()):
            if abs(int(value)) > most:  # would wrap around
                raise InputError("value", f"{name} holds {value}, expected at most {most}")
    return array.astype(np.int64)
