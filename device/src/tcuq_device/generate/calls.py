"""Calls of the kernels without weights, and the constants that they take."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tcuq.base.errors import InputError

from ..graph.model import Graph
from ..graph.steps import (
    Concat,
    FixedSoftmax,
    MeanPool,
    Mul,
    Pad,
    Pool,
    Step,
    Table,
    TableAdd,
)
from .constants import Constants

Shape = tuple[int, ...]
STEEPEST = 2**22
"""Of a table that is a straight line: a byte times twice that stays within 32 bits."""


def call_of(graph: Graph, step: Step, constants: Constants, pointers: list[str]) -> str:
    """Define what a step needs, and return the statements that run it.

    `pointers` say where the sources lie, then the target.
    """
    name = step.target
    target = graph.tensors[name]
    if isinstance(step, (TableAdd, Mul)):
        return _both(graph, step, constants, pointers)
    if isinstance(step, Concat):
        return _joined(graph, step, pointers)
    among = ", ".join(pointers)
    if isinstance(step, MeanPool):
        size = graph.tensors[step.source].size
        inner = target.size // step.outer
        parts = [step.outer, size // (step.outer * inner * step.tail), inner, step.tail]
        factors = [step.bias, step.multiplier, step.shift, target.zero]
        record = constants.record("tcuq_nn_means", f"{name}_means", [_list(parts), _list(factors)])
        return f"tcuq_nn_mean_twice(&{record}, {among});"
    if isinstance(step, Pool):
        lines = [
            _list(graph.tensors[step.source].shape),
            _list(target.shape[:2]),
            _list((*step.window, *step.stride)),
            _list(step.padding[:2]),
        ]
        record = constants.record("tcuq_nn_pool", f"{name}_pool", lines)
        return f"tcuq_nn_pool_{step.kind}(&{record}, {among});"
    if isinstance(step, Table):
        table = constants.array("int8_t", f"{name}_table", by_byte(step.values))
        return f"tcuq_nn_table({among}, {target.size}, {table});"
    if isinstance(step, Pad):
        missing = 3 - len(step.before)
        lengths = _lifted(graph.tensors[step.source].shape)
        borders = ((0,) * missing + each for each in (step.before, step.after))
        lines = [_braced(lengths), *(_braced(each) for each in borders), str(step.value)]
        return f"tcuq_nn_pad(&{constants.record('tcuq_nn_frame', f'{name}_frame', lines)}, {among});"
    if isinstance(step, FixedSoftmax):
        table = constants.array("int32_t", f"{name}_table", step.table)
        rows, columns = target.size // target.shape[-1], target.shape[-1]
        return f"tcuq_nn_fixed_softmax({among}, {rows}, {columns}, {table});"
    raise InputError("missing", f"step {name} is a {type(step).__name__}, which has no kernel")


def by_byte(table: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    """Return a table for values from -128 on in the order of bytes without sign."""
    return np.roll(table, -128)


def pairs_of(first: Shape, second: Shape, target: Shape) -> tuple[Shape, Shape, Shape]:
    """Return lengths and the distances in both tensors, in as few dimensions as will do, ones before them.

    Examples
    --------
    >>> pairs_of((4, 5, 3), (4, 5, 3), (4, 5, 3))
    ((1, 1, 60), (0, 0, 1), (0, 0, 1))
    >>> pairs_of((4, 5, 3), (5, 1), (4, 5, 3))
    ((4, 5, 3), (15, 3, 1), (0, 1, 0))
    """
    rows: list[tuple[int, int, int]] = []
    for length, by_first, by_second in zip(
        _lifted(target), _distances(_lifted(first)), _distances(_lifted(second)), strict=True
    ):
        if length == 1:
            continue
        if rows and rows[-1][1:] == (length * by_first, length * by_second):
            length *= rows.pop()[0]
        rows.append((length, by_first, by_second))
    rows = [(1, 0, 0)] * (3 - len(rows)) + rows
    lengths, by_first_all, by_second_all = zip(*rows, strict=True)
    return lengths, by_first_all, by_second_all


def _lifted(shape: Shape) -> Shape:
    return (1,) * (3 - len(shape)) + shape


def _distances(shape: Shape) -> Shape:
    return tuple(0 if shape[at] == 1 else math.prod(shape[at + 1 :]) for at in range(len(shape)))


def _list(values: Sequence[int | None]) -> str:
    return ", ".join(map(str, values))


def _braced(values: Sequence[int]) -> str:
    return f"{{{_list(values)}}}"


def _both(graph: Graph, step: TableAdd | Mul, constants: Constants, pointers: list[str]) -> str:
    name = step.target
    target, names = graph.tensors[name], [step.first, step.second]
    zero = target.zero
    if isinstance(step, Mul):
        zeros = [graph.tensors[each].zero for each in names]
        lines = [_list([*zeros, step.multiplier, step.shift, zero])]
        record, kernel = constants.record("tcuq_nn_product", f"{name}_product", lines), "mul"
    else:
        left, right = (2 * each.astype(np.int64) for each in (step.left, step.right))
        if _slope(left) is None and _slope(right) is not None:
            left, right = right, left
            names, pointers = names[::-1], [pointers[1], pointers[0], pointers[2]]
        slope = _slope(left)
        if slope is None:
            first = constants.array("int32_t", f"{name}_left", by_byte(left.astype(np.int32)))
        else:
            first, right = "0", right + left[128]
        second = constants.array("int32_t", f"{name}_right", by_byte(right.astype(np.int32)))
        lines = [f"{first}, {second}", _list([slope or 0, step.multiplier, step.shift, zero])]
        record, kernel = constants.record("tcuq_nn_tables", f"{name}_tables", lines), "table_add"
    a, b = (graph.tensors[each].shape for each in names)
    shapes = pairs_of(a, b, target.shape)
    pairs = constants.record("tcuq_nn_pairs", f"{name}_pairs", [_braced(each) for each in shapes])
    return f"tcuq_nn_{kernel}(&{record}, &{pairs}, {', '.join(pointers)});"


def _slope(table: npt.NDArray[np.int64]) -> int | None:
    """Return the steps of a table whose steps are all alike: it need not be stored."""
    steps = np.diff(table)
    found = int(steps[0])
    return found if (steps == found).all() and abs(found) < 2 * STEEPEST else None


def _joined(graph: Graph, step: Concat, pointers: list[str]) -> str:
    shape = graph.tensors[step.target].shape
    rows, apart = math.prod(shape[: step.axis]), math.prod(shape[step.axis :])
    calls, at = [], 0
    for name, pointer in zip(step.sources, pointers, strict=False):
        size = graph.tensors[name].size // rows
        begin = f"{pointers[-1]} + {at}" if at else pointers[-1]
        calls.append(f"tcuq_nn_rows({pointer}, {begin}, {rows}, {size}, {apart});")
        at += size
    return "\n    ".join(calls)
