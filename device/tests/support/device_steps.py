"""Steps without weights in TFLite's arithmetic, evaluated once more in plain Python, for tests."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from tcuq_device.graph.model import Graph
from tcuq_device.graph.steps import (
    Concat,
    Constant,
    FixedSoftmax,
    MeanPool,
    Mul,
    Pad,
    Pool,
    Step,
    Strided,
    Table,
    TableAdd,
    View,
    sources_of,
)


def rounded(value: int, by: int) -> int:
    """Return value / by, half away from zero."""
    whole = (abs(value) + by // 2) // by
    return whole if value >= 0 else -whole


def twice(acc: int, multiplier: int, shift: int) -> int:
    assert abs(acc) << max(shift, 0) < 2**31
    return rounded((acc * 2 ** max(shift, 0) * multiplier + 2**30) // 2**31, 2 ** max(-shift, 0))


def clamped(values: Any, step: Any) -> np.ndarray:
    return np.array([min(max(int(each), step.low), step.high) for each in values])


def evaluate_step(step: Step, values: dict[str, np.ndarray], graph: Graph) -> np.ndarray:
    """Return what a step gives for one input, by loops over single numbers."""
    target = graph.tensors[step.target]
    if isinstance(step, Constant):
        return step.values
    if isinstance(step, (TableAdd, Mul)):
        a, b = (np.broadcast_to(values[name], target.shape).ravel().tolist() for name in sources_of(step))
        if isinstance(step, TableAdd):
            left, right = step.left.tolist(), step.right.tolist()
            sums = [left[x + 128] + right[y + 128] for x, y in zip(a, b, strict=True)]
        else:
            zeros = [graph.tensors[name].zero for name in sources_of(step)]
            sums = [(x - zeros[0]) * (y - zeros[1]) for x, y in zip(a, b, strict=True)]
        return clamped([twice(each, step.multiplier, step.shift) + target.zero for each in sums], step)
    x = values[sources_of(step)[0]]
    if isinstance(step, MeanPool):
        assert step.shift is not None
        parts = x.reshape(step.outer, -1, target.size // step.outer, step.tail).astype(int)
        sums = [int(parts[o, :, i].sum()) for o, i in np.ndindex(parts.shape[0], parts.shape[2])]
        return clamped(
            [twice(each + step.bias, step.multiplier, step.shift) + target.zero for each in sums], step
        )
    if isinstance(step, Pool):
        return clamped(pooled(step, x, target.shape), step)
    if isinstance(step, Table):
        return np.array([step.values[int(each) + 128] for each in x.ravel()])
    if isinstance(step, Pad):
        framed = np.full(target.shape, step.value)
        framed[tuple(slice(b, b + n) for b, n in zip(step.before, x.shape, strict=True))] = x
        return framed
    if isinstance(step, Concat):
        return np.concatenate([values[name] for name in step.sources], step.axis)
    if isinstance(step, Strided):
        places = product(*(range(length) for length in step.lengths))
        steps = [sum(i * by for i, by in zip(index, step.strides, strict=True)) for index in places]
        return np.array([x.ravel()[step.offset + each] for each in steps])
    if isinstance(step, View):
        return x
    assert isinstance(step, FixedSoftmax)
    return np.array([posteriors(row.tolist(), step.table.tolist()) for row in x.reshape(-1, x.shape[-1])])


def pooled(step: Pool, x: np.ndarray, shape: tuple[int, ...]) -> list[int]:
    found = []
    for row, column, channel in np.ndindex(*shape):
        top, left = row * step.stride[0] - step.padding[0], column * step.stride[1] - step.padding[1]
        places = product(range(top, top + step.window[0]), range(left, left + step.window[1]))
        inside = [int(x[i, j, channel]) for i, j in places if 0 <= i < x.shape[0] and 0 <= j < x.shape[1]]
        found.append(max(inside) if step.kind == "max" else rounded(sum(inside), len(inside)))
    return found


def posteriors(row: list[int], table: list[int]) -> list[int]:
    def upper(a: int, b: int) -> int:
        return (a * b + 2**30) // 2**31

    def up(a: int, bits: int) -> int:
        return max(-(2**31), min(2**31 - 1, a * 2**bits))

    e = [table[max(row) - q] for q in row]
    s = sum(rounded(each, 2**12) for each in e)
    room = 32 - s.bit_length()
    half = s * 2**room // 2
    r = 1515870810 + upper(half, -1010580540)
    for _ in range(3):
        r += up(upper(r, 2**29 - upper(half, r)), 2)
    r = up(r, 1)
    found = [rounded(upper(each, r), 2 ** (35 - room)) - 128 for each in e]
    return [min(127, each) if power else -128 for each, power in zip(found, e, strict=True)]
