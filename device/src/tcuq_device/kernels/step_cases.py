"""Small cases of the operators without weights in TFLite's arithmetic, for `checked`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from ..graph.model import Graph, Tensor
from ..graph.oracle import Random
from ..graph.steps import (
    Concat,
    Constant,
    FixedSoftmax,
    Int8,
    Int32,
    MeanPool,
    Mul,
    Pad,
    Pool,
    Step,
    Table,
    TableAdd,
    View,
)

Shape = tuple[int, ...]
SUMS: tuple[tuple[str, Shape, Shape, int, bool], ...] = (
    ("", (3, 4, 5), (3, 4, 5), -19, False),
    ("one row is repeated", (3, 4, 5), (4, 1), -18, False),
    ("both are repeated", (3, 1, 5), (1, 4, 1), -19, False),
    ("two tables, no shift", (13,), (13,), 0, True),
    ("a shift by one", (9,), (9,), -1, False),
)
"""Shapes, shift, and whether neither table is a straight line."""
PRODUCTS: tuple[tuple[str, Shape, Shape, int], ...] = (
    ("", (3, 4, 5), (3, 4, 5), -6),
    ("one value is repeated", (2, 3, 5), (1,), -7),
    ("a shift to the left", (7,), (7,), 3),
    ("half away from zero", (9,), (9,), -1),
)
MEANS: tuple[tuple[str, Shape, Shape, int, int, int], ...] = (
    ("of a picture", (4, 5, 6), (6,), 1, 1, -4),
    ("of columns", (3, 7, 5), (3, 5), 3, 1, -2),
    ("of rows and channels", (3, 7, 5), (7,), 1, 5, -3),
    ("of 300 pixels, a shift to the left", (300, 5), (5,), 1, 1, 2),
)
"""Shapes, outer, tail, shift."""
POOLS: tuple[tuple[str, str, Shape, tuple[int, int], tuple[int, int], tuple[int, int, int, int]], ...] = (
    ("mean, padded", "mean", (5, 6, 6), (3, 2), (2, 1), (1, 0, 1, 1)),
    ("mean of all", "mean", (4, 4, 8), (4, 4), (1, 1), (0, 0, 0, 0)),
    ("max, padded", "max", (5, 6, 5), (2, 3), (1, 2), (0, 1, 1, 1)),
    ("max, 8 channels", "max", (4, 6, 8), (2, 2), (2, 2), (0, 0, 0, 0)),
)
SOFTMAXES = (("", (1, 10), 250), ("rows", (3, 7), 230), ("one class is certain", (1, 5), 1))
"""Shapes, and 256 times the ratio of one entry of the table to the one before."""


@dataclass
class _Case:
    """A graph that grows; its random numbers are the same with every version of numpy."""

    number: int
    shape: Shape
    random: Random
    zero: int = 3
    tensors: dict[str, Tensor] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.tensors["x"] = Tensor("x", self.shape, 1.0, self.zero)

    def tensor(self, shape: Shape, scale: float = 1.0, zero: int | None = None) -> str:
        name = f"step{self.number}_{len(self.tensors)}"
        self.tensors[name] = Tensor(name, shape, scale, self.zero if zero is None else zero)
        return name

    def int8(self, *shape: int) -> Int8:
        return self.random.bytes(int(np.prod(shape))).view(np.int8).reshape(shape).copy()

    def constant(self, shape: Shape) -> str:
        name = self.tensor(shape)
        self.steps.append(Constant(name, self.int8(*shape)))
        return name

    def made(self, name: str) -> tuple[str, Graph, Int8]:
        graph = Graph("kernel_case", self.tensors, self.steps, "x", {"y": self.steps[-1].target})
        return name, graph, self.int8(1, *self.shape)


def step_cases() -> Iterator[tuple[str, Graph, Int8]]:
    """Give name, graph with an output "y", and input of every case."""
    random, number = Random(2), 0

    def case(shape: Shape, zero: int = 3) -> _Case:
        nonlocal number
        number += 1
        return _Case(number, shape, random, zero)

    for about, first, second, shift, curved in SUMS:
        now = case(first, -9)
        target = now.tensor(tuple(int(each) for each in np.broadcast_shapes(first, second)))
        left, right = _line(now, 1 << 19), _curve(now)
        left = _curve(now) if curved else left
        now.steps.append(
            TableAdd("x", now.constant(second), target, left, right, 1_700_000_003, shift, -100, 111)
        )
        yield now.made(f"TableAdd, {about}" if about else "TableAdd")
    for about, first, second, shift in PRODUCTS:
        now = case(first, 5)
        target = now.tensor(tuple(int(each) for each in np.broadcast_shapes(first, second)))
        now.steps.append(Mul(now.constant(second), "x", target, 1_500_000_001, shift))
        yield now.made(f"Mul, {about}" if about else "Mul")
    for about, shape, small, outer, tail, shift in MEANS:
        now = case(shape)
        bias = -3 * (now.tensors["x"].size // int(np.prod(small)))
        target = now.tensor(small)
        now.steps.append(MeanPool("x", target, bias, 1_300_000_001, shift, -90, 90, outer, tail))
        yield now.made(f"MeanPool of all kinds, {about}")
    for about, kind, shape, window, stride, padding in POOLS:
        now = case(shape)
        rows = (shape[0] + padding[0] + padding[2] - window[0]) // stride[0] + 1
        columns = (shape[1] + padding[1] + padding[3] - window[1]) // stride[1] + 1
        target = now.tensor((rows, columns, shape[2]))
        now.steps.append(Pool("x", target, kind, window, stride, padding))
        yield now.made(f"Pool, {about}")
    now = case((3, 3, 3))
    now.steps.append(Table("x", now.tensor((3, 3, 3)), now.int8(256)))
    yield now.made("Table")
    now = case((3, 2, 3))
    now.steps.append(Pad("x", now.tensor((4, 5, 5)), (1, 0, 2), (0, 3, 0), -77))
    yield now.made("Pad")
    now = case((3, 2, 3))
    now.steps.append(Concat(("x", now.constant((3, 1, 3)), "x"), now.tensor((3, 5, 3)), 1))
    yield now.made("Concat")
    now = case((3, 2, 3))
    view = now.tensor((6, 3))
    now.steps.append(View("x", view))
    now.steps.append(Concat((now.constant((6, 1)), view), now.tensor((6, 4)), 1))
    yield now.made("View")
    for about, shape, ratio in SOFTMAXES:
        now = case(shape)
        powers = [2**31 - 1]
        while len(powers) < 256:
            powers.append(powers[-1] * ratio >> 8 if len(powers) < 200 else 0)
        table = np.array(powers, np.int32)
        now.steps.append(FixedSoftmax("x", now.tensor(shape, 1 / 256, -128), table))
        yield now.made(f"FixedSoftmax, {about}" if about else "FixedSoftmax")


def _line(case: _Case, slope: int) -> Int32:
    return ((np.arange(-128, 128) - int(case.int8(1)[0])) * slope).astype(np.int32)


def _curve(case: _Case) -> Int32:
    bend = case.random.bytes(256).astype(np.int64) << 10
    return ((np.arange(-128, 128) << 18) + bend).astype(np.int32)
