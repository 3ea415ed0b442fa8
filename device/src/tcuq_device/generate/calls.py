"""Calls of the kernels, and the constants that they take."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.base.errors import InputError

from ..graph.model import Graph, Tensor
from ..graph.steps import (
    Add,
    Concat,
    Conv,
    Dense,
    Depthwise,
    Drop,
    FixedSoftmax,
    Keep,
    MeanPool,
    Mul,
    Pad,
    Pool,
    Softmax,
    Step,
    Strided,
    Table,
    TableAdd,
    sources_of,
)
from .pack import as_called, factors, is_spread, kernel_of, pack_affine, pack_fours, pack_pairs

Shape = tuple[int, ...]
STEEPEST = 2**22
"""Of a table that is a straight line: a byte times twice that stays within 32 bits."""


class Constants:
    """Definitions of constants; equal arrays are defined once."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self._known: dict[tuple[str, bytes], str] = {}

    def array(self, kind: str, name: str, values: npt.NDArray[Any], form: str = "d") -> str:
        """Define an array of one dimension, and return its name; form "x" writes hexadecimal words."""
        key = (kind, values.tobytes())
        if key not in self._known:
            self._known[key] = name
            self.text.append(f"static const {kind} {name}[{len(values)}] = {{\n{_rows(values, form)}}};\n")
        return self._known[key]

    def record(self, kind: str, name: str, lines: Iterable[str]) -> str:
        """Define a struct from the lines of its members, and return its name."""
        body = "".join(f"    {line},\n" for line in lines)
        self.text.append(f"static const {kind} {name} = {{\n{body}}};\n\n")
        return name


def _rows(values: npt.NDArray[Any], form: str) -> str:
    if form == "x":
        texts = [f"0x{value:08X}u" for value in values.tolist()]
    else:
        # The lowest number of 32 bits cannot be written as one literal of its type.
        texts = ["-2147483647 - 1" if value == -(2**31) else str(value) for value in values.tolist()]
    return textwrap.fill(", ".join(texts), 106, initial_indent="    ", subsequent_indent="    ") + ",\n"


def call_of(graph: Graph, step: Step, constants: Constants, pointers: list[str], scratch: str) -> str:
    """Define what a step needs, and return the statements that run it.

    `pointers` say where the sources lie, then the target; `scratch` where its scratch lies.
    """
    name = step.target
    target = graph.tensors[name]
    if isinstance(step, (TableAdd, Mul)):
        return _both(graph, step, constants, pointers)
    if isinstance(step, Concat):
        return _joined(graph, step, pointers)
    among = ", ".join(pointers)
    source = graph.tensors[sources_of(step)[0]]
    if isinstance(step, (Conv, Depthwise, Dense)):
        return _weighted(graph, step, constants, among, scratch)
    if isinstance(step, Add):
        members = [f"{step.left}, {step.right}, {step.offset}, {step.shift}"]
        record = constants.record("tcuq_nn_sum", f"{name}_sum", members)
        return f"tcuq_nn_add(&{record}, {among}, {target.size});"
    if isinstance(step, Drop):
        rule = f"{target.size}, {step.threshold}, {step.multiplier}, {target.zero}"
        return f"tcuq_nn_drop({among}, {rule}, random);"
    if isinstance(step, Softmax):
        table = constants.array("uint16_t", f"{name}_table", step.table)
        return f"tcuq_nn_softmax({among}, {target.size}, {table});"
    if isinstance(step, MeanPool) and step.shift is None:
        size = f"{source.shape[0] * source.shape[1]}, {source.shape[2]}"
        return f"tcuq_nn_mean({among}, {size}, {step.bias}, {step.multiplier}, {target.zero});"
    if isinstance(step, MeanPool):
        inner = target.size // step.outer
        parts = [step.outer, source.size // (step.outer * inner * step.tail), inner, step.tail]
        affine = [step.bias, step.multiplier, step.shift, target.zero]
        record = constants.record("tcuq_nn_means", f"{name}_means", [_list(parts), _list(affine)])
        return f"tcuq_nn_mean_twice(&{record}, {among});"
    if isinstance(step, Pool):
        lines = [
            _list(source.shape),
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
        lengths = _lifted(source.shape)
        borders = ((0,) * missing + each for each in (step.before, step.after))
        lines = [_braced(lengths), *(_braced(each) for each in borders), str(step.value)]
        return f"tcuq_nn_pad(&{constants.record('tcuq_nn_frame', f'{name}_frame', lines)}, {among});"
    if isinstance(step, Keep):
        return f"tcuq_nn_rows({among}, 1, {target.size}, {target.size});"
    if isinstance(step, Strided):
        missing = 6 - len(step.lengths)
        lengths, strides = (1,) * missing + step.lengths, (0,) * missing + step.strides
        lines = [_braced(lengths), _braced(strides), str(step.offset)]
        return f"tcuq_nn_strided(&{constants.record('tcuq_nn_strides', f'{name}_strides', lines)}, {among});"
    if isinstance(step, FixedSoftmax):
        table = constants.array("int32_t", f"{name}_table", step.table)
        rows, columns = target.size // target.shape[-1], target.shape[-1]
        return f"tcuq_nn_fixed_softmax({among}, {rows}, {columns}, {table});"
    raise InputError("unsupported", f"step {name} is a {type(step).__name__}, which has no kernel")


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


def _weighted(
    graph: Graph, step: Conv | Depthwise | Dense, constants: Constants, among: str, scratch: str
) -> str:
    name = step.target
    source, target = graph.tensors[step.source], graph.tensors[name]
    if isinstance(step, (Conv, Depthwise)):
        window = _window(*as_called(step, source, target), constants)
        twice = "" if step.shift is None else "_twice"
        if isinstance(step, Depthwise) and is_spread(step):
            return f"tcuq_nn_spread{twice}(&{window}, {among});"
        kernel = "conv" if isinstance(step, Conv) else "depthwise"
        kernel += "_dilated" if step.dilation != (1, 1) else ""
        return f"tcuq_nn_{kernel}{twice}(&{window}, {among}, {scratch});"
    outputs, inputs = step.weights.shape
    weights = constants.array("uint32_t", f"{name}_weights", pack_pairs(step.weights), "x")
    affine = constants.array("int32_t", f"{name}_affine", pack_affine(step, 2))
    lines = [weights, affine, f"{source.size // inputs}, {inputs}, {outputs}", f"{target.zero}"]
    matrix = constants.record("tcuq_nn_matrix", f"{name}_matrix", lines)
    once = "" if step.shift is None else "_once"
    return f"tcuq_nn_dense{once}(&{matrix}, {among}, {scratch});"


def _window(step: Conv | Depthwise, source: Tensor, target: Tensor, constants: Constants) -> str:
    name = step.target
    rows, columns = kernel_of(step)
    if isinstance(step, Conv):
        packed, group = pack_pairs(step.weights.reshape(len(step.weights), -1)), 2
    else:
        packed, group = pack_fours(step.weights), 4
    affine = pack_affine(step, group)
    general = step.shift is not None and bool((factors(step)[1] <= 0).any())
    lines = [
        constants.array("uint32_t", f"{name}_weights", packed, "x"),
        constants.array("int32_t", f"{name}_affine", affine),
        constants.array("int8_t", f"{name}_pad", np.asarray(step.pad)),
        f"/* input */ {_list(source.shape)}",
        f"/* output */ {_list(target.shape)}",
        f"/* kernel */ {rows}, {columns}",
        f"/* strides, dilation */ {_list((*step.stride, *step.dilation))}",
        f"/* outside: above, left */ {step.padding[0]}, {step.padding[1]}",
        f"{target.zero}",
        f"{int(general)}",
    ]
    return constants.record("tcuq_nn_window", f"{name}_window", lines)
