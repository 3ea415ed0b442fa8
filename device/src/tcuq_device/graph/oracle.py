"""Run a graph in numpy integers: written from the docstrings of `steps` alone, to check the C against."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import integer
from tcuq.base.errors import InputError

from .model import Graph
from .steps import (
    Add,
    Concat,
    Constant,
    Conv,
    Dense,
    Depthwise,
    Drop,
    FixedSoftmax,
    Int8,
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
    UInt16,
    View,
    sources_of,
)

Int64 = npt.NDArray[np.int64]
WITHOUT_WEIGHTS = (TableAdd, Mul, Pool, Table, Pad, Concat, Strided, View, Constant, FixedSoftmax)
"""Kinds of steps that `moved` takes, beside a MeanPool with a shift."""

BATCH = 32
"""Examples that are computed together: columns of a convolution take a few megabytes each."""


class Random:
    """The generator of `Drop`; its state has 32 bits and is not 0.

    Examples
    --------
    >>> draw = Random(1)
    >>> draw.bytes(6).tolist(), hex(draw.state)
    ([33, 32, 4, 0, 1, 6], '0x4080601')
    """

    def __init__(self, state: int) -> None:
        self.state = integer("state", state, 1, 2**32 - 1)

    def bytes(self, count: int) -> npt.NDArray[np.uint8]:
        """Return bytes, four a step and the lowest first; what is left of the last step is lost."""
        words = np.empty(-(-count // 4), dtype="<u4")
        x = self.state
        for at in range(len(words)):
            x ^= x << 13 & 0xFFFFFFFF
            x ^= x >> 17
            x ^= x << 5 & 0xFFFFFFFF
            words[at] = x
        self.state = x
        return words.view(np.uint8)[:count]

    def int8(self, *shape: int) -> Int8:
        """Return bytes with sign, the same with every version of numpy."""
        return self.bytes(int(np.prod(shape))).view(np.int8).reshape(shape).copy()


def run(graph: Graph, x: Int8, *, random: Random | None = None, every: bool = False) -> dict[str, Int8]:
    """Run a checked graph over examples, int8 (n, ...); with states they are a stream, from its beginning.

    `random` serves graphs that drop values, example after example, from state 1 by default. With `every`,
    return every tensor by its own name, in place of the outputs by theirs.
    """
    shape = graph.tensors[graph.input].shape
    if x.dtype != np.int8 or x.shape[1:] != shape:
        wanted = ", ".join(map(str, shape))
        raise InputError("value", f"input is {x.dtype} {x.shape}, expected int8 (n, {wanted})", "input")
    source = random or Random(1)
    kept = list(graph.tensors) if every else list(dict.fromkeys(graph.outputs.values()))
    found: dict[str, list[Int8]] = {name: [] for name in kept}
    tensors, batch = graph.tensors, 1 if graph.states else BATCH
    states = {name: np.full((1, *tensors[name].shape), byte, np.int8) for name, byte in graph.states.items()}
    for part in (x[at : at + batch] for at in range(0, max(len(x), 1), batch)):
        values = _forward(graph, {graph.input: part, **states}, source)
        states = {name: values[name] for name in states}
        for name in kept:
            found[name].append(values[name])
    joined = {name: np.concatenate(parts) for name, parts in found.items()}
    return joined if every else {name: joined[tensor] for name, tensor in graph.outputs.items()}


def softmax(logits: Int8, table: UInt16) -> Int8:
    """Return int8 posteriors of rows of logits."""
    q = logits.astype(np.int64)
    e = table.astype(np.int64)[q.max(axis=-1, keepdims=True) - q]
    s = e.sum(axis=-1, keepdims=True)
    p = (e * 512 + s) // (2 * s)
    return np.asarray(np.minimum(p, 255) - 128, dtype=np.int8)


def _forward(graph: Graph, values: dict[str, Int8], random: Random) -> dict[str, Int8]:
    x = values[graph.input]
    drawn = _drawn(graph, len(x), random)
    for step in graph.steps:
        if isinstance(step, Keep):
            values[step.target] = values[step.source]
        elif isinstance(step, WITHOUT_WEIGHTS) or (isinstance(step, MeanPool) and step.shift is not None):
            values[step.target] = _moved(graph, step, values, len(x))
        else:
            values[step.target] = _step(graph, step, values, drawn)
    return values


def _drawn(graph: Graph, count: int, random: Random) -> Iterator[npt.NDArray[np.uint8]]:
    """Give the bytes of every Drop for all examples; the generator goes through them one by one."""
    sizes = [graph.tensors[step.source].size for step in graph.steps if isinstance(step, Drop)]
    rows = [[random.bytes(size) for size in sizes] for _ in range(count)]
    for number, size in enumerate(sizes):
        yield np.array([row[number] for row in rows], dtype=np.uint8).reshape(count, size)


def _step(graph: Graph, step: Step, values: dict[str, Int8], drawn: Iterator[npt.NDArray[np.uint8]]) -> Int8:
    zero = graph.tensors[step.target].zero
    if isinstance(step, Add):
        a, b = values[step.first].astype(np.int64), values[step.second].astype(np.int64)
        return _sat8((a * step.left + b * step.right + step.offset) >> step.shift)
    x = values[sources_of(step)[0]]
    if isinstance(step, Conv):
        return _finished(step, _convolved(step, x), zero)
    if isinstance(step, Depthwise):
        return _finished(step, _filtered(step, x), zero)
    if isinstance(step, Dense):
        found = _finished(step, _product(x.reshape(-1, step.weights.shape[1]), step.weights), zero)
        return found.reshape(len(x), *graph.tensors[step.target].shape)
    if isinstance(step, MeanPool):
        mean = _scaled(x.sum(axis=(1, 2), dtype=np.int64) + step.bias, step.multiplier) + zero
        return np.asarray(np.clip(mean, step.low, step.high), dtype=np.int8)
    if isinstance(step, Drop):
        center = graph.tensors[step.source].zero
        scaled = (((x.astype(np.int64) - center) * step.multiplier + 2**14) >> 15) + center
        dropped = next(drawn).reshape(x.shape) < step.threshold
        return np.where(dropped, np.int8(center), _sat8(scaled))
    assert isinstance(step, Softmax)
    return softmax(x, step.table)


def _scaled(acc: Int64, multiplier: npt.NDArray[Any] | int) -> Int64:
    return np.asarray((acc * np.asarray(multiplier, dtype=np.int64) + 2**31) >> 32)


def _finished(step: Conv | Depthwise | Dense, acc: Int64, zero: int) -> Int8:
    """Return sums at the scale of their target, within its range."""
    whole = acc + step.bias
    if step.shift is None:
        made = _scaled(whole, step.multiplier)
    elif isinstance(step, Dense):
        made = _once(whole, step.multiplier, step.shift)
    else:
        made = _twice(whole, step.multiplier, step.shift)
    return np.asarray(np.clip(made + zero, step.low, step.high), dtype=np.int8)


def _twice(acc: Int64, multiplier: npt.NDArray[Any] | int, shift: npt.NDArray[Any] | int) -> Int64:
    places = np.asarray(shift, dtype=np.int64)
    up, down = 2 ** np.maximum(places, 0), 2 ** np.maximum(-places, 0)
    return _divided((acc * up * np.asarray(multiplier, dtype=np.int64) + 2**30) >> 31, down)


def _once(acc: Int64, multiplier: npt.NDArray[Any] | int, shift: npt.NDArray[Any] | int) -> Int64:
    bits = 31 - np.asarray(shift, dtype=np.int64)
    return np.asarray((acc * np.asarray(multiplier, dtype=np.int64) + 2 ** (bits - 1)) >> bits)


def _sat8(values: Int64) -> Int8:
    return np.asarray(np.clip(values, -128, 127), dtype=np.int8)


def _framed(x: Int8, padding: tuple[int, int, int, int], pad: Int8) -> Int8:
    top, left, bottom, right = padding
    n, height, width, channels = x.shape
    framed = np.empty((n, top + height + bottom, left + width + right, channels), dtype=np.int8)
    framed[...] = pad
    framed[:, top : top + height, left : left + width] = x
    return framed


def _convolved(step: Conv, x: Int8) -> Int64:
    outputs, height, width, inputs = step.weights.shape
    framed = _framed(x, step.padding, step.pad)
    tall, wide = step.dilation
    reach = (height - 1) * tall + 1, (width - 1) * wide + 1
    windows = np.lib.stride_tricks.sliding_window_view(framed, reach, axis=(1, 2))
    windows = windows[:, :: step.stride[0], :: step.stride[1], :, ::tall, ::wide].transpose(0, 1, 2, 4, 5, 3)
    columns = windows.reshape(-1, height * width * inputs)
    return _product(columns, step.weights.reshape(outputs, -1)).reshape(*windows.shape[:3], outputs)


def _filtered(step: Depthwise, x: Int8) -> Int64:
    height, width, outputs = step.weights.shape
    tall, wide = step.dilation
    framed = _framed(x, step.padding, step.pad).astype(np.int64).repeat(outputs // len(step.pad), axis=3)
    rows = (framed.shape[1] - (height - 1) * tall - 1) // step.stride[0] + 1
    columns = (framed.shape[2] - (width - 1) * wide - 1) // step.stride[1] + 1
    acc = np.zeros((len(x), rows, columns, outputs), dtype=np.int64)
    for i in range(height):
        for j in range(width):
            corner = framed[:, i * tall :, j * wide :]
            seen = corner[:, :: step.stride[0], :: step.stride[1]][:, :rows, :columns]
            acc += seen * step.weights[i, j].astype(np.int64)
    return acc


def _product(rows: Int8, weights: Int8) -> Int64:
    """Return rows times weights, exactly.

    Floating point holds every whole number up to 2**24 (or 2**53), so a product whose partial sums cannot
    exceed that is exact in any order; numpy's own integer product would take a hundred times as long.
    """
    largest = 128 * int(np.abs(weights.astype(np.int64)).sum(axis=1).max(initial=0))
    kind = np.float32 if largest <= 2**24 else np.float64
    return np.asarray(rows.astype(kind) @ weights.T.astype(kind), dtype=np.int64)


def _divided(values: Int64, by: Int64 | int) -> Int64:
    """Return whole quotients, half away from zero."""
    return np.asarray(np.sign(values) * ((2 * np.abs(values) + by) // (2 * np.asarray(by))))


def _moved(graph: Graph, step: Step, values: Mapping[str, Int8], count: int) -> Int8:
    """Return what a step of `WITHOUT_WEIGHTS`, or a MeanPool, gives for `count` examples."""
    target = graph.tensors[step.target]
    if isinstance(step, Constant):
        return np.broadcast_to(step.values, (count, *target.shape))
    sources = [values[name] for name in sources_of(step)]
    x = sources[0].astype(np.int64)
    if isinstance(step, (TableAdd, Mul)):
        a, b = (_lifted(each.astype(np.int64), len(target.shape)) for each in sources)
        if isinstance(step, TableAdd):
            acc = step.left.astype(np.int64)[a + 128] + step.right.astype(np.int64)[b + 128]
        else:
            acc = (a - graph.tensors[step.first].zero) * (b - graph.tensors[step.second].zero)
        made = _twice(acc, step.multiplier, step.shift) + target.zero
    elif isinstance(step, MeanPool):
        assert step.shift is not None
        inner = target.size // step.outer
        parts = x.reshape(count, step.outer, -1, inner, step.tail)
        made = _twice(parts.sum(axis=(2, 4)) + step.bias, step.multiplier, step.shift) + target.zero
    elif isinstance(step, Pool):
        made = _pooled(step, x)
    elif isinstance(step, FixedSoftmax):
        return _posteriors(x, step.table.astype(np.int64))
    else:
        return _placed(step, sources, target.shape)
    return np.asarray(np.clip(made, step.low, step.high), dtype=np.int8).reshape(count, *target.shape)


def _lifted(x: Int64, rank: int) -> Int64:
    """Return values with ones before their dimensions, behind that of the examples."""
    return x.reshape(len(x), *(1,) * (rank + 1 - x.ndim), *x.shape[1:])


def _placed(step: Step, sources: list[Int8], shape: tuple[int, ...]) -> Int8:
    x = sources[0]
    if isinstance(step, Table):
        return np.asarray(step.values[x.astype(np.int64) + 128])
    if isinstance(step, Pad):
        borders = [(0, 0), *zip(step.before, step.after, strict=True)]
        return np.pad(x, borders, constant_values=step.value)
    if isinstance(step, Concat):
        return np.concatenate(sources, axis=step.axis + 1)
    if isinstance(step, Strided):
        places = np.tensordot(step.strides, np.indices(step.lengths), 1) + step.offset
        return np.asarray(x.reshape(len(x), -1)[:, places.ravel()].reshape(len(x), *shape))
    assert isinstance(step, View)
    return x.reshape(len(x), *shape)


def _pooled(step: Pool, x: Int64) -> Int64:
    top, left, bottom, right = step.padding
    borders = ((0, 0), (top, bottom), (left, right), (0, 0))
    mean = step.kind == "mean"
    framed = np.pad(x, borders, constant_values=0 if mean else -128)
    windows = _windows(step, framed)
    if not mean:
        return np.asarray(windows.max(axis=(4, 5)))
    inside = _windows(step, np.pad(np.ones_like(x), borders))
    return _divided(windows.sum(axis=(4, 5)), inside.sum(axis=(4, 5)))


def _windows(step: Pool, framed: Int64) -> Int64:
    found = np.lib.stride_tricks.sliding_window_view(framed, step.window, axis=(1, 2))
    return np.asarray(found[:, :: step.stride[0], :: step.stride[1]])


def _posteriors(x: Int64, table: Int64) -> Int8:
    e = table[x.max(axis=-1, keepdims=True) - x]
    s = _divided(e, 2**12).sum(axis=-1, keepdims=True)
    room = np.zeros_like(s)
    for _ in range(31):
        room += s << room < 2**31
    r = _reciprocal(s << room)
    p = _divided((e * r + 2**30) >> 31, np.int64(2) ** (35 - room))
    return np.asarray(np.where(e == 0, 0, np.minimum(p, 255)) - 128, dtype=np.int8)


def _reciprocal(s: Int64) -> Int64:
    """Return 2**62 / s for s in [2**31, 2**32), by Newton's method."""

    def upper(a: Int64, b: Int64 | int) -> Int64:
        return np.asarray((a * b + 2**30) >> 31)

    def shifted(a: Int64, by: int) -> Int64:
        return np.asarray(np.clip(a << by, -(2**31), 2**31 - 1))

    half = s // 2
    guess = 1515870810 + upper(half, -1010580540)
    for _ in range(3):
        guess = guess + shifted(upper(guess, 2**29 - upper(half, guess)), 2)
    return shifted(guess, 1)
