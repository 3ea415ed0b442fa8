"""Convert operators that move or compare bytes, and states, to steps of a graph."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.base.errors import InputError

from ..graph import steps
from .builder import GraphBuilder
from .check import axes_of
from .curves import BYTES
from .model import Operator
from .moves import moved
from .states import overwritten

MOST_DIMENSIONS = 6


def fitted(places: npt.NDArray[np.int64]) -> tuple[int, tuple[int, ...], tuple[int, ...]] | None:
    """Return places as an offset with lengths and strides of as few dimensions as will do, or None.

    Examples
    --------
    >>> fitted(np.arange(12).reshape(3, 4).T.ravel()), fitted(np.array([5, 4, 3]))
    ((0, (4, 3), (1, 4)), (5, (3,), (-1,)))
    >>> fitted(np.array([0, 1, 3]))
    """
    lengths: list[int] = []
    strides: list[int] = []
    rest = places
    while rest.size > 1 and len(lengths) < MOST_DIMENSIONS:
        stride = int(rest[1] - rest[0])
        breaks = np.flatnonzero(np.diff(rest) != stride)
        run = int(breaks[0]) + 1 if breaks.size else rest.size
        # The longest blocks into which all can be cut, each with this stride.
        blocks = (
            rest.reshape(-1, length)
            for length in range(run, 1, -1)
            if rest.size % length == 0 and rest[length - 1] == rest[0] + (length - 1) * stride
        )
        block = next((each for each in blocks if (np.diff(each, axis=1) == stride).all()), None)
        if block is None:
            return None
        lengths.insert(0, block.shape[1])
        strides.insert(0, stride)
        rest = block[:, 0]
    if rest.size > 1:
        return None
    return int(places[0]), tuple(lengths) or (1,), tuple(strides) or (0,)


def move(builder: GraphBuilder, operator: Operator) -> None:
    """Convert an operator of `moves`: it is asked where every value comes from."""
    name, source = builder.source(operator)
    constants = [builder.constant(operator, at) for at in range(1, len(operator.inputs))]
    numbers = np.arange(source.size).reshape(source.shape)
    found = fitted(moved(operator, constants, builder.target(operator), numbers).ravel())
    if found is None:
        problem = f"moves values in an order that {MOST_DIMENSIONS} strides do not describe"
        advice = "; resize by whole factors" if operator.code.startswith("RESIZE") else ""
        raise InputError("unsupported", problem + advice, operator.code)
    target = builder.add(operator.outputs[0])
    if found == (0, (source.size,), (1,)) and operator.code != "REVERSE_V2":
        builder.steps.append(steps.View(name, target))
    else:
        builder.steps.append(steps.Strided(name, target, *found))


def stack(builder: GraphBuilder, operator: Operator) -> None:
    """Convert a PACK, or a CONCATENATION along the batch: rows of all sources after each other."""
    sources = [builder.source(operator, at) for at in range(len(operator.inputs))]
    packs = operator.code == "PACK"
    axis = operator.options.flags[1] if packs else operator.options.axis
    rows = math.prod(sources[0][1].shape[: axis % (len(sources[0][1].shape) + packs)])
    parts = [builder.reshaped(name, (rows, tensor.size // rows)) for name, tensor in sources]
    width = sum(tensor.size for _, tensor in sources) // rows
    whole = builder.like(sources[0][0], (rows, width))
    builder.steps.append(steps.Concat(tuple(parts), whole, 1))
    builder.steps.append(steps.View(whole, builder.add(operator.outputs[0])))


def parts_of(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, int, int, int]:
    """Return a shape as (outer, count, inner, tail), where values are reduced over count and tail.

    Examples
    --------
    >>> parts_of((1, 6, 7, 4), (1, 2)), parts_of((1, 6, 7, 4), (2,)), parts_of((1, 6, 7, 4), (1, 3))
    ((1, 42, 4, 1), (6, 7, 4, 1), (1, 6, 7, 4))
    """
    found = [1]
    for at, length in enumerate(shape):
        if length == 1:
            continue
        # Kept dimensions are at even places of the list, the others at odd ones.
        if len(found) % 2 == int(at in axes):
            found.append(1)
        found[-1] *= length
    if len(found) > 4:
        raise InputError("unsupported", f"axes {axes} of shape {shape}, expected two groups of them at most")
    outer, count, inner, tail = found + [1] * (4 - len(found))
    return outer, count, inner, tail


def largest(builder: GraphBuilder, operator: Operator) -> None:
    """Convert a REDUCE_MAX or REDUCE_MIN to pools over whole dimensions."""
    name, source = builder.source(operator)
    axes = axes_of(builder.constant(operator, 1), len(source.shape))
    outer, count, inner, tail = parts_of(source.shape, axes)
    first = (outer * count, 1, inner * tail), (count, 1), (outer, 1, inner * tail)
    _pools(builder, operator, name, first, ((outer * inner, tail, 1), (1, tail), (outer * inner, 1, 1)))


def extreme(builder: GraphBuilder, operator: Operator) -> None:
    """Convert a MAXIMUM or MINIMUM: a pool over both, after each other."""
    target = builder.target(operator)
    rows, columns = target.size // (target.shape or (1,))[-1], (target.shape or (1,))[-1]
    parts = []
    for at in (0, 1):
        name, source = builder.source(operator, at)
        numbers = np.arange(source.size).reshape(source.shape)
        found = fitted(np.broadcast_to(numbers, target.shape).ravel())
        assert found is not None
        if source.size < target.size:
            wide = builder.like(name, (rows, columns))
            builder.steps.append(steps.Strided(name, wide, *found))
            name = wide
        parts.append(builder.reshaped(name, (rows, columns)))
    both = builder.like(parts[0], (2 * rows, columns))
    builder.steps.append(steps.Concat(tuple(parts), both, 0))
    _pools(builder, operator, both, ((2, rows, columns), (2, 1), (1, rows, columns)))


def _pools(builder: GraphBuilder, operator: Operator, name: str, *pools: Any) -> None:
    """Add pools (shape before, window, shape after); for the smallest, bytes are turned around."""

    def turned(source: str) -> str:
        if operator.code not in ("MINIMUM", "REDUCE_MIN"):
            return source
        target = builder.like(source, builder.tensors[source].shape)
        builder.steps.append(steps.Table(source, target, (-1 - BYTES).astype(np.int8)))
        return target

    name = turned(name)
    for before, window, after in pools:
        if window != (1, 1):
            source, name = builder.reshaped(name, before), builder.like(name, after)
            builder.steps.append(steps.Pool(source, name, "max", window, window, (0, 0, 0, 0)))
    builder.steps.append(steps.View(turned(name), builder.add(operator.outputs[0])))


def read(builder: GraphBuilder, operator: Operator) -> None:
    """Convert a READ_VARIABLE: a view of the state, or a copy where that changes too soon."""
    name, state = builder.source(operator)
    target = builder.add(operator.outputs[0])
    if overwritten(builder.model, builder.model.operators.index(operator)):
        builder.steps.append(steps.Strided(name, target, 0, (state.size,), (1,)))
    else:
        builder.steps.append(steps.View(name, target))


def assign(builder: GraphBuilder, operator: Operator) -> None:
    """Convert an ASSIGN_VARIABLE."""
    (state, _), (source, _) = builder.source(operator), builder.source(operator, 1)
    builder.steps.append(steps.Keep(source, state))
