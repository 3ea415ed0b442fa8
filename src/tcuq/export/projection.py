"""A fixed projection of wide features in int8: the numbers that the exported C holds, and the same bits."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.checks import integer, number
from ..base.errors import InputError, placed
from ..base.limits import limits_given, read_limited
from ..monitor.params import Params

MAX_OUTPUTS = 32
"""Features that a monitor behind a projection reads at most."""

MAX_INPUTS = 16384
"""Wide features at most: 127 * 128 * 16384 leaves room for a bias in 32 bits."""

MAX_SHIFT = 24
KEYS = ("matrix", "offset", "scale", "zero_point")


@dataclass(frozen=True, eq=False)
class IntegerProjection:
    """Output k is (bias[k] + sum of matrix[k] * wide) >> shift[k], rounded down and confined to int8.

    Parameters
    ----------
    matrix : int8 array of shape (outputs, inputs)
        Weights of each output.
    bias : int32 array of shape (outputs,)
        Offset, both zero points and the half that makes rounding down round to the nearest.
    shift : uint8 array of shape (outputs,)
        Bits that each output is shifted right by.
    """

    matrix: npt.NDArray[np.int8]
    bias: npt.NDArray[np.int32]
    shift: npt.NDArray[np.uint8]

    @property
    def inputs(self) -> int:
        """Wide features."""
        return int(self.matrix.shape[1])

    @property
    def outputs(self) -> int:
        """Features of the monitor."""
        return int(self.matrix.shape[0])

    def __call__(self, wide: npt.NDArray[Any]) -> npt.NDArray[np.int8]:
        """Return the features of int8 rows (T, inputs), bit for bit as `tcuq_project` does."""
        if wide.dtype != np.int8 or wide.ndim != 2 or wide.shape[1] != self.inputs:
            shape = f"{wide.dtype} of shape {wide.shape}"
            raise InputError("value", f"wide features are {shape}, expected int8 of shape (T, {self.inputs})")
        sums = wide.astype(np.int64) @ self.matrix.astype(np.int64).T + self.bias
        return np.asarray(np.clip(sums >> self.shift.astype(np.int64), -128, 127), np.int8)


def integer_projection(
    matrix: npt.ArrayLike, offset: npt.ArrayLike, scale: float, zero_point: int, params: Params
) -> IntegerProjection:
    """Make the integers of a projection whose outputs have the scale and zero point of a monitor's features.

    Parameters
    ----------
    matrix : array of shape (inputs, outputs)
        The projected features are features @ matrix + offset.
    offset : array of shape (outputs,)
        Added to each output; zeros where there is none.
    scale : float
        What one unit of the wide int8 features is worth, as the runtime that makes them says.
    zero_point : int
        The integer that stands for 0 in those.
    params : Params
        With as many features as there are outputs.
    """
    scale = number("scale of the wide features", scale, 1e-30, 1e30)
    zero_point = integer("zero_point of the wide features", zero_point, -128, 127)
    weights, added = _table(matrix, offset)
    inputs, outputs = weights.shape
    integer("inputs of the projection", inputs, 1, MAX_INPUTS)
    integer("outputs of the projection", outputs, 1, MAX_OUTPUTS)
    check_outputs(outputs, params)
    # In units of the output, so that one shift is all that is left to do.
    weights = weights * (scale / params.feature_scale)
    added = added / params.feature_scale + params.feature_zero_point
    rows = [_row(k, weights[:, k], float(added[k]), zero_point) for k in range(outputs)]
    return IntegerProjection(
        np.array([row for row, _, _ in rows], np.int8),
        np.array([bias for _, bias, _ in rows], np.int32),
        np.array([shift for _, _, shift in rows], np.uint8),
    )


def _table(
    matrix: npt.ArrayLike, offset: npt.ArrayLike
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    try:
        if np.iscomplexobj(matrix) or np.iscomplexobj(offset):
            raise ValueError
        weights, added = np.asarray(matrix, np.float64), np.asarray(offset, np.float64)
    except (TypeError, ValueError):
        raise InputError(
            "missing", "matrix or offset of the projection holds no numbers, expected numbers"
        ) from None
    if weights.ndim != 2:
        raise InputError("value", f"matrix of the projection has {weights.ndim} dimensions, expected 2")
    if added.shape != weights.shape[1:]:
        raise InputError(
            "value", f"offset of the projection has shape {added.shape}, expected {weights.shape[1:]}"
        )
    if not (np.isfinite(weights).all() and np.isfinite(added).all()):
        raise InputError("value", "the projection holds inf or nan, expected finite numbers")
    return weights, added


def _row(
    number_: int, weights: npt.NDArray[np.float64], added: float, zero_point: int
) -> tuple[list[int], int, int]:
    """Return the row with the finest shift at which weights fit 8 bits and every sum fits 32."""
    for shift in range(MAX_SHIFT, -1, -1):
        row = np.floor(weights * 2.0**shift + 0.5)
        half = 2 ** (shift - 1) if shift else 0
        bias = np.floor(added * 2.0**shift + 0.5) + half - zero_point * row.sum()
        if np.abs(row).max() <= 127 and abs(bias) + 128 * np.abs(row).sum() < 2**31:
            return row.astype(int).tolist(), int(bias), shift
    largest = float(np.abs(weights).max())
    raise InputError(
        "value",
        f"output {number_} of the projection has a weight of {largest:g} and an offset of {added:g} in units"
        " of the monitor's features, expected -127 to 127 and sums of 32 bits",
    )


def check_outputs(outputs: int, params: Params) -> None:
    """Refuse a projection that does not give what a monitor reads."""
    if outputs != params.features:
        raise InputError(
            "conflict",
            f"the projection has {outputs} outputs, expected {params.features}, the monitor's features",
        )


def load_projection(path: str | Path, params: Params) -> IntegerProjection:
    """Read a projection from an NPZ file and make its integers.

    Parameters
    ----------
    path : path
        Arrays `matrix` (inputs, outputs), `scale` and `zero_point` of the wide features, and `offset`
        (outputs,) where there is one.
    params : Params
        Of the monitor that reads the outputs.
    """
    from ..io.tables import arrays_of

    needed = [key for key in KEYS if key != "offset"]
    given = limits_given()
    arrays = arrays_of(read_limited(path, "model", given), str(path), KEYS, needed, given, "model")
    matrix = arrays["matrix"]
    offset = arrays.get("offset", np.zeros(matrix.shape[1:]))
    for key in ("scale", "zero_point"):
        if arrays[key].size != 1:
            raise InputError("value", f"{path}: {key} has {arrays[key].size} values, expected one number")
    try:
        scale, zero_point = arrays["scale"].item(), arrays["zero_point"].item()
        return integer_projection(matrix, offset, scale, zero_point, params)
    except ValueError as error:
        raise placed(error, str(path)) from None
