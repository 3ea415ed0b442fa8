"""What a graph gives, in numpy's whole numbers: written from the text of `graph` alone, to hold C to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import integer
from tcuq.base.errors import InputError

from .model import Graph
from .oracle_steps import WITHOUT_WEIGHTS, moved
from .steps import Add, Conv, Dense, Depthwise, Drop, Int8, MeanPool, Softmax, Step, UInt16, sources_of

Int64 = npt.NDArray[np.int64]
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


def run(graph: Graph, x: Int8, *, random: Random | None = None, every: bool = False) -> dict[str, Int8]:
    """Run a checked graph over examples, int8 (n, ...).

    `random` serves graphs that drop values, example after example, from state 1 by default. With `every`,
    return every tensor by its own name, in place of the outputs by theirs.
    """
    shape = graph.tensors[graph.input].shape
    if x.dtype != np.int8 or x.shape[1:] != shape:
        raise InputError(
            "value", f"input is {x.dtype} {x.shape}, expected int8 (n, {', '.join(map(str, shape))})"
        )
    source = random or Random(1)
    kept = list(graph.tensors) if every else list(dict.fromkeys(graph.outputs.values()))
    found: dict[str, list[Int8]] = {name: [] for name in kept}
    for part in (x[at : at + BATCH] for at in range(0, max(len(x), 1), BATCH)):
        values = _forward(graph, part, source)
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


def _forward(graph: Graph, x: Int8, random: Random) -> dict[str, Int8]:
    values = {graph.input: x}
    drawn = _drawn(graph, len(x), random)
    for step in graph.steps:
        if isinstance(step, WITHOUT_WEIGHTS) or (isinstance(step, MeanPool) and step.shift is not None):
            values[step.target] = moved(graph, step, values, len(x))
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
    product = (acc * up * np.asarray(multiplier, dtype=np.int64) + 2**30) >> 31
    # Half away from zero: half upwards, of the absolute value.
    return np.asarray(np.sign(product) * ((2 * np.abs(product) + down) // (2 * down)))


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
