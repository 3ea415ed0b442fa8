"""What steps without weights give in TFLite's arithmetic, in numpy: from the text of `steps` alone."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from .model import Graph
from .steps import (
    Concat,
    Constant,
    FixedSoftmax,
    Int8,
    MeanPool,
    Mul,
    Pad,
    Pool,
    Step,
    Table,
    TableAdd,
    View,
    sources_of,
)

Int64 = npt.NDArray[np.int64]
WITHOUT_WEIGHTS = (TableAdd, Mul, Pool, Table, Pad, Concat, View, Constant, FixedSoftmax)
"""Kinds of steps that `moved` takes, beside a MeanPool with a shift."""


def twice(acc: Int64, multiplier: int, shift: int) -> Int64:
    """Return a sum, rescaled with two roundings."""
    product = (acc * 2 ** max(shift, 0) * multiplier + 2**30) >> 31
    return divided(product, 2 ** max(-shift, 0))


def divided(values: Int64, by: Int64 | int) -> Int64:
    """Return whole quotients, half away from zero."""
    return np.asarray(np.sign(values) * ((2 * np.abs(values) + by) // (2 * np.asarray(by))))


def moved(graph: Graph, step: Step, values: Mapping[str, Int8], count: int) -> Int8:
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
        made = twice(acc, step.multiplier, step.shift) + target.zero
    elif isinstance(step, MeanPool):
        assert step.shift is not None
        inner = target.size // step.outer
        parts = x.reshape(count, step.outer, -1, inner, step.tail)
        made = twice(parts.sum(axis=(2, 4)) + step.bias, step.multiplier, step.shift) + target.zero
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
    return divided(windows.sum(axis=(4, 5)), inside.sum(axis=(4, 5)))


def _windows(step: Pool, framed: Int64) -> Int64:
    found = np.lib.stride_tricks.sliding_window_view(framed, step.window, axis=(1, 2))
    return np.asarray(found[:, :: step.stride[0], :: step.stride[1]])


def _posteriors(x: Int64, table: Int64) -> Int8:
    e = table[x.max(axis=-1, keepdims=True) - x]
    s = divided(e, 2**12).sum(axis=-1, keepdims=True)
    room = np.zeros_like(s)
    for _ in range(31):
        room += s << room < 2**31
    r = _reciprocal(s << room)
    p = divided((e * r + 2**30) >> 31, np.int64(2) ** (35 - room))
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
