"""Validate a graph before it runs: names, shapes, sums within 32 bits."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from tcuq.base.checks import integer
from tcuq.base.errors import InputError, located, wrong_value
from tcuq.export.contents import TAKEN

from .model import Graph, Tensor
from .steps import (
    HIGHEST,
    Add,
    Concat,
    Constant,
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
    View,
    sources_of,
)

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
RESERVED = frozenset(
    re.findall(
        r"\w+",
        "auto break case char const continue default do double else enum extern float for goto if inline "
        "int long register restrict return short signed sizeof static struct switch typedef union unsigned "
        "void volatile while",
    )
)
"""Words of C that cannot be names."""
OUTPUT = re.compile(r"[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*_?")
"""Outputs are members of a struct: a name that a compiler or a header defines would break it."""
MACRO = re.compile(r"[A-Z0-9_]+|\w+_t")
"""Names in capitals are for macros, and those of types end in _t."""
MOST_VALUES = 2**24
"""Of a tensor: more than any microcontroller holds, and few enough to plan for."""
MOST_CLASSES = 32_000
"""With more, the sum of a softmax would leave 32 bits."""
MOST_FIXED_CLASSES = 4095
"""The sum of exponentials has twelve bits before its point."""


def check(graph: Graph) -> Graph:
    """Return a graph that can be run, or say in one line why it cannot."""
    _identifier("name of the graph", graph.name)
    for name, tensor in graph.tensors.items():
        _tensor(name, tensor)
    if graph.input not in graph.tensors:
        raise wrong_value("input", graph.input, _all(graph.tensors))
    ready = {graph.input} | _states(graph)
    views: dict[str, str] = {}
    for number, step in enumerate(graph.steps):
        if not isinstance(step, Step):
            accepted = ", ".join(kind.__name__ for kind in _CHECKS)
            raise InputError("unsupported", f"step {number} is a {type(step).__name__}, expected {accepted}")
        with located(f"step {number} ({type(step).__name__} to {step.target})"):
            _named(graph, step, ready)
            _CHECKS[type(step)](graph, step)
        ready.add(step.target)
        if isinstance(step, View):
            views[step.target] = views.get(step.source, step.source)
        if isinstance(step, Keep):
            # Views of what the state was are no longer that.
            ready -= {name for name, state in views.items() if state == step.target}
    for name in graph.tensors:
        if name not in ready and name not in views:
            raise InputError("missing", f"tensor {name} is made by no step; every one but the input must be")
    if not graph.outputs:
        raise InputError("missing", "outputs are none; at least one is needed")
    for use, name in graph.outputs.items():
        _output(use)
        if name not in ready:
            raise wrong_value(f"output {use}", name, _all(each for each in graph.tensors if each in ready))
    return graph


def _states(graph: Graph) -> set[str]:
    for name, value in graph.states.items():
        if name not in graph.tensors or name == graph.input:
            raise wrong_value("state", name, _all(graph.tensors))
        integer(f"state {name}: value", value, -128, 127)
    return set(graph.states)


def _all(names: Iterable[str]) -> str:
    return f"one of {', '.join(names)}"


def _identifier(what: str, name: Any) -> None:
    if not isinstance(name, str) or not NAME.fullmatch(name) or name in RESERVED:
        raise wrong_value(what, name, "a C identifier of up to 63 characters")
    # Constants are called after tensors, and those of the kernels begin so.
    if name.lower().startswith("tcuq"):
        raise wrong_value(what, name, "a name that does not begin with tcuq, as those of the kernels do")


def _output(name: Any) -> None:
    """Refuse names that mean something to compilers or headers: `__FILE__`, `while`, `linux`, `NULL`."""
    _identifier("name of an output", name)
    if not OUTPUT.fullmatch(name) or MACRO.fullmatch(name) or name in TAKEN:
        expected = "a word like 'probs' or 'features_2', which neither C nor C++ knows"
        raise wrong_value("name of an output", name, expected)


def _tensor(name: str, tensor: Tensor) -> None:
    _identifier("name of a tensor", name)
    if not isinstance(tensor, Tensor) or tensor.name != name:
        raise InputError("value", f"tensor {name} is filed under another name or is none")
    if not isinstance(tensor.shape, tuple) or not 1 <= len(tensor.shape) <= 3:
        raise wrong_value(f"shape of tensor {name}", tensor.shape, "one to three dimensions")
    for each in tensor.shape:
        integer(f"tensor {name}: dimension", each, 1, 65535)
    if tensor.size > MOST_VALUES:
        raise InputError("limit", f"tensor {name} has {tensor.size:,} values, expected up to {MOST_VALUES:,}")
    if not isinstance(tensor.scale, float) or not math.isfinite(tensor.scale) or tensor.scale <= 0:
        raise wrong_value(f"scale of tensor {name}", tensor.scale, "a positive number")
    integer(f"tensor {name}: zero", tensor.zero, -128, 127)


def _named(graph: Graph, step: Step, ready: set[str]) -> None:
    for name in sources_of(step):
        if name not in graph.tensors:
            raise InputError("unknown", f"source {name!r} is not a tensor of the graph")
        if name not in ready:
            raise InputError("missing", f"source {name} is not there yet; an earlier step must make it")
    if step.target not in graph.tensors:
        raise InputError("unknown", f"target {step.target!r} is not a tensor of the graph")
    if isinstance(step, Keep):
        if step.target not in graph.states or step.source == step.target:
            raise InputError("unknown", f"target {step.target} is not a state, or is the source")
    elif step.target in ready:
        raise InputError("conflict", f"target {step.target} is made twice or is the input")


# Single fields of steps.


def array(what: str, value: Any, kind: Any, shape: tuple[int | None, ...]) -> None:
    """Refuse what is no array of a type and shape; None stands for any length."""
    fits = (
        isinstance(value, np.ndarray)
        and value.dtype == kind
        and value.ndim == len(shape)
        and all(wanted in (None, found) for wanted, found in zip(shape, value.shape, strict=True))
        and value.size > 0
    )
    if not fits:
        found = f"{value.dtype} {value.shape}" if isinstance(value, np.ndarray) else type(value).__name__
        wanted = ", ".join("n" if each is None else str(each) for each in shape)
        raise InputError("value", f"{what} is {found}, expected {np.dtype(kind).name} ({wanted})", what)


def same(what: str, found: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    """Refuse a shape that is not the wanted one."""
    if found != wanted:
        raise wrong_value(what, found, wanted)


def pair(what: str, value: Any, least: int, most: int) -> None:
    """Refuse what is no pair (down, across) of numbers within a range."""
    if not isinstance(value, tuple) or len(value) != 2:
        raise wrong_value(what, value, "(down, across)")
    for each in value:
        integer(what, each, least, most)


def sides(value: Any, most: int) -> tuple[int, int, int, int]:
    """Return the padding of a picture, or refuse it."""
    if not isinstance(value, tuple) or len(value) != 4:
        raise wrong_value("padding", value, "(top, left, bottom, right)")
    top, left, bottom, right = (integer("padding", each, 0, most) for each in value)
    return top, left, bottom, right


def picture(tensor: Tensor) -> tuple[int, int, int]:
    """Return the shape of a picture, or refuse a tensor that is none."""
    if len(tensor.shape) != 3:
        raise wrong_value(f"shape of source {tensor.name}", tensor.shape, "(height, width, channels)")
    height, width, channels = tensor.shape
    return height, width, channels


def within(largest: int) -> None:
    """Refuse a sum that can leave 32 bits."""
    if largest > HIGHEST:
        raise InputError("limit", f"a sum can reach {largest}, expected at most {HIGHEST}")


def rescaled(largest: int, multiplier: Any, shift: Any) -> None:
    """Refuse factors that `twice` does not take, and sums that leave 32 bits before or after a shift."""
    integer("multiplier", multiplier, 0, HIGHEST)
    within(largest << max(integer("shift", shift, -31, 30), 0))


def confined(low: Any, high: Any) -> None:
    """Refuse ends that are not in order."""
    integer("low", low, -128, 127)
    integer("high", high, low, 127)


def posteriors(target: Tensor) -> None:
    """Refuse what has not the scale and zero of the monitor's posteriors."""
    if (target.scale, target.zero) != (1 / 256, -128):
        raise wrong_value("target's scale and zero", (target.scale, target.zero), "1/256 and -128")


def alike(source: Tensor, target: Tensor) -> None:
    """Refuse a target with another scale or zero than its source."""
    if (source.scale, source.zero) != (target.scale, target.zero):
        expected = f"{(source.scale, source.zero)}, as of {source.name}"
        raise wrong_value("target's scale and zero", (target.scale, target.zero), expected)


# Steps.


def _sums(step: Conv | Depthwise | Dense, outputs: int, axes: tuple[int, ...]) -> None:
    """Refuse multipliers that are out of range, and sums that could leave 32 bits in whatever order."""
    for what in ("bias", "multiplier"):
        array(what, getattr(step, what), np.int32, (outputs,))
    if step.multiplier.min() < 0:
        raise wrong_value("multiplier", step.multiplier.min(), f"0 to {HIGHEST}")
    largest = np.abs(step.bias.astype(np.int64)) + 128 * np.abs(step.weights.astype(np.int64)).sum(axis=axes)
    if step.shift is not None:
        array("shift", step.shift, np.int32, (outputs,))
        for each in (int(step.shift.min()), int(step.shift.max())):
            integer("shift", each, -31, 30)
        shifts = np.maximum(step.shift, 0).tolist()
        within(max(each << shift for each, shift in zip(largest.tolist(), shifts, strict=True)))
    within(int(largest.max()))
    confined(step.low, step.high)


def _window(step: Conv | Depthwise, source: Tensor, kernel: tuple[int, int], outputs: int) -> tuple[int, ...]:
    """Return the shape that a convolution gives."""
    height, width, channels = picture(source)
    pair("stride", step.stride, 1, 16)
    pair("dilation", step.dilation, 1, 255)
    top, left, bottom, right = sides(step.padding, 255)
    array("pad", step.pad, np.int8, (channels,))
    reach = tuple((each - 1) * by + 1 for each, by in zip(kernel, step.dilation, strict=True))
    spare = (top + height + bottom - reach[0], left + width + right - reach[1])
    if min(spare) < 0:
        raise wrong_value("kernel", reach, "at most the padded picture")
    return spare[0] // step.stride[0] + 1, spare[1] // step.stride[1] + 1, outputs


def _conv(graph: Graph, step: Conv) -> None:
    source = graph.tensors[step.source]
    array("weights", step.weights, np.int8, (None, None, None, picture(source)[2]))
    outputs, *kernel, _ = step.weights.shape
    shape = _window(step, source, (kernel[0], kernel[1]), outputs)
    same("target's shape", graph.tensors[step.target].shape, shape)
    _sums(step, outputs, (1, 2, 3))


def _depthwise(graph: Graph, step: Depthwise) -> None:
    source = graph.tensors[step.source]
    array("weights", step.weights, np.int8, (None, None, None))
    *kernel, outputs = step.weights.shape
    if outputs % picture(source)[2]:
        raise wrong_value("outputs of the weights", outputs, f"a multiple of {source.shape[2]}")
    shape = _window(step, source, (kernel[0], kernel[1]), outputs)
    same("target's shape", graph.tensors[step.target].shape, shape)
    _sums(step, outputs, (0, 1))


def _dense(graph: Graph, step: Dense) -> None:
    source = graph.tensors[step.source]
    array("weights", step.weights, np.int8, (None, None))
    outputs, inputs = step.weights.shape
    if source.size % inputs:
        raise wrong_value("inputs of the weights", inputs, f"{source.size} or a part of it")
    # The target may have any shape whose last dimension is a row.
    rows, shape = source.size // inputs, graph.tensors[step.target].shape
    if shape[-1] != outputs or graph.tensors[step.target].size != rows * outputs:
        raise wrong_value("target's shape", shape, (rows, outputs) if rows > 1 else (outputs,))
    _sums(step, outputs, (1,))


def _add(graph: Graph, step: Add) -> None:
    shape = graph.tensors[step.first].shape
    same("second's shape", graph.tensors[step.second].shape, shape)
    same("target's shape", graph.tensors[step.target].shape, shape)
    integer("left", step.left, -(2**15), 2**15 - 1)
    integer("right", step.right, -(2**15), 2**15 - 1)
    integer("offset", step.offset, -(2**31), HIGHEST)
    integer("shift", step.shift, 0, 31)
    within(128 * (abs(step.left) + abs(step.right)) + abs(step.offset))


def _drop(graph: Graph, step: Drop) -> None:
    source, target = graph.tensors[step.source], graph.tensors[step.target]
    same("target's shape", target.shape, source.shape)
    if target.zero != source.zero:
        raise wrong_value("target's zero", target.zero, f"{source.zero}, as of its source")
    integer("threshold", step.threshold, 0, 255)
    integer("multiplier", step.multiplier, 0, (HIGHEST - 2**14) // 255)


def _softmax(graph: Graph, step: Softmax) -> None:
    source, target = graph.tensors[step.source], graph.tensors[step.target]
    if len(source.shape) != 1 or not 2 <= source.size <= MOST_CLASSES:
        raise wrong_value("source's shape", source.shape, f"2 to {MOST_CLASSES} classes")
    same("target's shape", target.shape, source.shape)
    posteriors(target)
    array("table", step.table, np.uint16, (256,))
    if step.table[0] != 65535 or (np.diff(step.table.astype(np.int64)) > 0).any():
        raise InputError(
            "value", f"table begins with {step.table[0]} or rises, expected 65535, falling", "table"
        )


def _both(graph: Graph, step: TableAdd | Mul) -> None:
    shapes = [graph.tensors[name].shape for name in (step.first, step.second)]
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        raise wrong_value("shapes", shapes, "equal lengths, or 1") from None
    same("target's shape", graph.tensors[step.target].shape, tuple(int(each) for each in shape))
    confined(step.low, step.high)


def _strided(graph: Graph, step: Strided) -> None:
    source, target = graph.tensors[step.source], graph.tensors[step.target]
    if not 1 <= len(step.lengths) == len(step.strides) <= 6 or math.prod(step.lengths) != target.size:
        expected = f"up to six of each, for {target.size} values"
        raise wrong_value("lengths and strides", (step.lengths, step.strides), expected)
    reach = [integer("offset", step.offset, 0, source.size - 1)] * 2
    for length, stride in zip(step.lengths, step.strides, strict=True):
        integer("length", length, 1, MOST_VALUES)
        reach[stride > 0] += (length - 1) * integer("stride", stride, -source.size, source.size)
    if reach[0] < 0 or reach[1] >= source.size:
        raise wrong_value("places", tuple(reach), f"0 to {source.size - 1}")


def _keep(graph: Graph, step: Keep) -> None:
    same("target's shape", graph.tensors[step.target].shape, graph.tensors[step.source].shape)


def _table_add(graph: Graph, step: TableAdd) -> None:
    _both(graph, step)
    largest = 0
    for what in ("left", "right"):
        array(what, getattr(step, what), np.int32, (256,))
        largest += int(np.abs(getattr(step, what).astype(np.int64)).max())
    if largest >= 2**30:
        raise InputError("limit", f"a sum can reach {largest}, expected below {2**30}")
    rescaled(largest, step.multiplier, integer("shift", step.shift, -31, 0))


def _mul(graph: Graph, step: Mul) -> None:
    _both(graph, step)
    rescaled(255 * 255, step.multiplier, step.shift)


def _mean(graph: Graph, step: MeanPool) -> None:
    source, target = graph.tensors[step.source], graph.tensors[step.target]
    integer("bias", step.bias, -(2**31), HIGHEST)
    integer("multiplier", step.multiplier, 0, HIGHEST)
    confined(step.low, step.high)
    if step.shift is None:
        height, width, channels = picture(source)
        integer("outer", step.outer, 1, 1)
        integer("tail", step.tail, 1, 1)
        same("target's shape", target.shape, (channels,))
        within(128 * height * width + abs(step.bias))
        return
    kept = target.size * integer("tail", step.tail, 1, source.size)
    if target.size % integer("outer", step.outer, 1, source.size) or source.size % kept:
        raise InputError(
            "value",
            f"{source.size} values do not give {target.size} with outer {step.outer} and tail {step.tail}",
        )
    rescaled(128 * (source.size // target.size) + abs(step.bias), step.multiplier, step.shift)


def _pool(graph: Graph, step: Pool) -> None:
    source, target = graph.tensors[step.source], graph.tensors[step.target]
    height, width, channels = picture(source)
    if step.kind not in ("mean", "max"):
        raise wrong_value("kind", step.kind, "'mean' or 'max'")
    pair("window", step.window, 1, 65535)
    pair("stride", step.stride, 1, 65535)
    confined(step.low, step.high)
    top, left, bottom, right = sides(step.padding, 65534)
    if max(top, bottom) >= step.window[0] or max(left, right) >= step.window[1]:
        raise wrong_value("padding", step.padding, f"less than the window, which is {step.window},")
    spare = top + height + bottom - step.window[0], left + width + right - step.window[1]
    if min(spare) < 0:
        raise wrong_value("window", step.window, "at most the padded picture")
    shape = spare[0] // step.stride[0] + 1, spare[1] // step.stride[1] + 1, channels
    same("target's shape", target.shape, shape)
    alike(source, target)
    within(128 * min(step.window[0], height) * min(step.window[1], width))


def _fixed_softmax(graph: Graph, step: FixedSoftmax) -> None:
    source, target = graph.tensors[step.source], graph.tensors[step.target]
    if source.shape[-1] > MOST_FIXED_CLASSES:
        raise InputError("limit", f"{source.shape[-1]} classes, expected at most {MOST_FIXED_CLASSES}")
    same("target's shape", target.shape, source.shape)
    posteriors(target)
    array("table", step.table, np.int32, (256,))
    if step.table[0] != HIGHEST or step.table.min() < 0:
        ends = int(step.table[0]), int(step.table.min())
        raise wrong_value("first and least entry of the table", ends, f"{HIGHEST}, and 0 or more")


def _table(graph: Graph, step: Table) -> None:
    same("target's shape", graph.tensors[step.target].shape, graph.tensors[step.source].shape)
    array("values", step.values, np.int8, (256,))


def _pad(graph: Graph, step: Pad) -> None:
    source, target = graph.tensors[step.source], graph.tensors[step.target]
    for what in ("before", "after"):
        value = getattr(step, what)
        if not isinstance(value, tuple) or len(value) != len(source.shape):
            raise wrong_value(what, value, f"a number for each of {source.shape}")
        for each in value:
            integer(what, each, 0, 65535)
    integer("value", step.value, -128, 127)
    alike(source, target)
    parts = zip(step.before, source.shape, step.after, strict=True)
    same("target's shape", target.shape, tuple(sum(each) for each in parts))


def _concat(graph: Graph, step: Concat) -> None:
    target = graph.tensors[step.target]
    axis = integer("axis", step.axis, 0, len(target.shape) - 1)
    if not isinstance(step.sources, tuple) or not step.sources:
        raise InputError("missing", "sources are none; at least one is needed")
    for name in step.sources:
        source = graph.tensors[name]
        alike(source, target)
        if len(source.shape) != len(target.shape):
            raise wrong_value(f"shape of source {name}", source.shape, f"dimensions as of {target.shape}")
        wanted = (*target.shape[:axis], source.shape[axis], *target.shape[axis + 1 :])
        same(f"shape of source {name}", source.shape, wanted)
    length = sum(graph.tensors[name].shape[axis] for name in step.sources)
    same("target's shape", target.shape, (*target.shape[:axis], length, *target.shape[axis + 1 :]))


def _view(graph: Graph, step: View) -> None:
    source, target = graph.tensors[step.source], graph.tensors[step.target]
    if source.size != target.size:
        raise wrong_value("target's shape", target.shape, f"as many values as {source.shape}")
    alike(source, target)


def _constant(graph: Graph, step: Constant) -> None:
    array("values", step.values, np.int8, graph.tensors[step.target].shape)


_CHECKS: dict[type, Any] = {
    Conv: _conv,
    Depthwise: _depthwise,
    Dense: _dense,
    Add: _add,
    Drop: _drop,
    Softmax: _softmax,
    TableAdd: _table_add,
    Mul: _mul,
    MeanPool: _mean,
    Pool: _pool,
    FixedSoftmax: _fixed_softmax,
    Table: _table,
    Pad: _pad,
    Concat: _concat,
    Strided: _strided,
    Keep: _keep,
    View: _view,
    Constant: _constant,
}
