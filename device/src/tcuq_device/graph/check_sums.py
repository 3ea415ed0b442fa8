"""What must hold for steps that calculate without weights: sums, products, means, pools, posteriors."""

from __future__ import annotations

from typing import Any

import numpy as np

from tcuq.base.checks import integer
from tcuq.base.errors import InputError, wrong_value

from .check_values import alike, array, confined, pair, picture, rescaled, same, sides, within
from .model import Graph
from .steps import HIGHEST, FixedSoftmax, MeanPool, Mul, Pool, TableAdd

MOST_FIXED_CLASSES = 4095
"""The sum of exponentials has twelve bits before its point."""


def _both(graph: Graph, step: TableAdd | Mul) -> None:
    shapes = [graph.tensors[name].shape for name in (step.first, step.second)]
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        raise InputError(
            "value", f"shapes {shapes[0]} and {shapes[1]} do not fit, expected equal ones or 1"
        ) from None
    same("target's shape", graph.tensors[step.target].shape, tuple(int(each) for each in shape))
    confined(step.low, step.high)


def _table_add(graph: Graph, step: TableAdd) -> None:
    _both(graph, step)
    largest = 0
    for what in ("left", "right"):
        array(what, getattr(step, what), np.int32, (256,))
        largest += int(np.abs(getattr(step, what).astype(np.int64)).max())
    if largest >= 2**30:
        raise InputError("value", f"a sum can reach {largest}, expected below {2**30}")
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
        raise InputError(
            "limit",
            f"source {source.name} has shape {source.shape}, expected at most {MOST_FIXED_CLASSES} classes",
        )
    same("target's shape", target.shape, source.shape)
    if (target.scale, target.zero) != (1 / 256, -128):
        raise InputError(
            "value", f"target has scale {target.scale:g} and zero {target.zero}, expected 1/256 and -128"
        )
    array("table", step.table, np.int32, (256,))
    if step.table[0] != HIGHEST or step.table.min() < 0:
        raise InputError(
            "value",
            f"table begins with {step.table[0]} and falls to {step.table.min()}, expected {HIGHEST} and 0",
        )


SUMS: dict[type, Any] = {
    TableAdd: _table_add,
    Mul: _mul,
    MeanPool: _mean,
    Pool: _pool,
    FixedSoftmax: _fixed_softmax,
}
"""By kind of step."""
