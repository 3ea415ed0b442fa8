"""Small cases of the operators in TFLite's arithmetic, for `checked`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..generate.pack import kernel_of
from ..graph.model import Graph, Tensor
from ..graph.oracle import Random
from ..graph.steps import (
    Concat,
    Constant,
    Conv,
    Dense,
    Depthwise,
    FixedSoftmax,
    Int8,
    Int32,
    Keep,
    MeanPool,
    Mul,
    Pad,
    Pair,
    Pool,
    Step,
    Strided,
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
ORDERS: tuple[tuple[str, Shape, int, Shape, Shape], ...] = (
    ("transposed", (5, 3, 4), 0, (5, 3, 4), (1, 20, 5)),
    ("six dimensions, backwards and repeated", (3, 64), 59, (3, 2, 2, 2, 2, 4), (-20, 0, -10, 0, -5, -1)),
    ("rows", (2, 10), 20, (2, 10), (20, 1)),
)
"""Shape of the target, offset, lengths, strides."""
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
        return self.random.int8(*shape)

    def constant(self, shape: Shape) -> str:
        name = self.tensor(shape)
        self.steps.append(Constant(name, self.int8(*shape)))
        return name

    def made(self, name: str, states: dict[str, int] | None = None) -> tuple[str, Graph, Int8]:
        outputs = {"y": self.steps[-1].target}
        graph = Graph("kernel_case", self.tensors, self.steps, "x", outputs, states=states or {})
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
    for about, small, offset, lengths, strides in ORDERS:
        now = case((3, 4, 5))
        now.steps.append(Strided("x", now.tensor(small), offset, lengths, strides))
        yield now.made(f"Strided, {about}")
    now = case((4,))
    state = now.tensor((4,))
    now.steps += [Table("x", now.tensor((4,)), now.int8(256)), Keep(f"step{number}_2", state)]
    now.steps.append(Concat((state, "x"), now.tensor((8,)), 0))
    yield now.made("Keep", {state: 7})


def _line(case: _Case, slope: int) -> Int32:
    return ((np.arange(-128, 128) - int(case.int8(1)[0])) * slope).astype(np.int32)


def _curve(case: _Case) -> Int32:
    bend = case.random.bytes(256).astype(np.int64) << 10
    return ((np.arange(-128, 128) << 18) + bend).astype(np.int32)


Padding = tuple[int, int, int, int]
NONE = (0, 0, 0, 0)
# Input, outputs, kernel, stride, padding, dilation, range: the ways of the kernels, not of models.
CONVOLUTIONS: tuple[tuple[str, Shape, int, Pair, Pair, Padding, Pair, Pair], ...] = (
    ("3 x 3, padded", (5, 7, 4), 6, (3, 3), (1, 1), (1, 1, 1, 1), (1, 1), (-128, 127)),
    ("3 channels, odd outputs", (5, 6, 3), 5, (3, 2), (2, 1), (0, 0, 1, 1), (1, 1), (-100, 127)),
    ("1 x 1", (3, 3, 8), 6, (1, 1), (1, 1), NONE, (1, 1), (-128, 90)),
    ("dilated", (7, 8, 4), 4, (3, 2), (1, 2), (2, 1, 1, 0), (2, 3), (-128, 127)),
)
DEPTHWISE: tuple[tuple[str, Shape, int, Pair, Pair, Padding, Pair, Pair], ...] = (
    ("3 x 3, padded", (5, 5, 8), 1, (3, 3), (1, 1), (1, 1, 1, 1), (1, 1), (-128, 127)),
    ("5 channels, unequal strides", (6, 7, 5), 1, (3, 2), (1, 2), (1, 0, 1, 1), (1, 1), (-128, 100)),
    ("2 outputs a channel", (4, 5, 3), 2, (2, 3), (1, 1), (1, 1, 0, 1), (1, 1), (-128, 127)),
    ("dilated", (6, 6, 4), 1, (3, 3), (1, 1), (2, 1, 2, 1), (2, 1), (-50, 50)),
)
DENSE = (("", 1, 30, 9), ("rows", 3, 7, 4))


def window_cases() -> Iterator[tuple[str, Graph, Int8]]:
    """Give names, graphs with one output "y", and inputs (1, ...)."""
    draw = Random(2)
    number = 0

    def target() -> str:
        nonlocal number
        number += 1
        return f"window{number}"

    def case(kind: str, about: str, step: Step, shape: Shape, made: Shape) -> tuple[str, Graph, Int8]:
        tensors = {"x": Tensor("x", shape, 1.0, 3), step.target: Tensor(step.target, made, 1.0, -4)}
        name = f"{kind}, by TFLite" + (f", {about}" if about else "")
        return name, Graph("window_case", tensors, [step], "x", {"y": step.target}), draw.int8(1, *shape)

    for about, shape, outputs, kernel, stride, padding, dilation, ends in CONVOLUTIONS:
        fields = _window(stride, padding, dilation, ends, draw.int8(shape[2]))
        weights = draw.int8(outputs, *kernel, shape[2])
        conv = Conv("x", target(), weights, **_affine(draw, outputs, weights[0].size), **fields)
        yield case("Conv", about, conv, shape, (*places_of(conv, shape), outputs))
    for about, shape, each, kernel, stride, padding, dilation, ends in DEPTHWISE:
        fields = _window(stride, padding, dilation, ends, draw.int8(shape[2]))
        weights = draw.int8(*kernel, each * shape[2])
        affine = _affine(draw, each * shape[2], kernel[0] * kernel[1])
        depthwise = Depthwise("x", target(), weights, **affine, **fields)
        yield case("Depthwise", about, depthwise, shape, (*places_of(depthwise, shape), each * shape[2]))
    for about, rows, inputs, outputs in DENSE:
        dense = Dense("x", target(), draw.int8(outputs, inputs), **_affine(draw, outputs, inputs))
        yield case("Dense", about, dense, (rows, inputs), (rows, outputs))
    # Twice a byte, times a half, by 2 to 16: many are half way between two numbers.
    halves = _halves(4)
    fields = _window((1, 1), NONE, (1, 1), (-128, 127), draw.int8(1))
    conv = Conv("x", target(), np.full((4, 1, 1, 1), 2, np.int8), **halves, **fields)
    yield case("Conv", "halves", conv, (1, 21, 1), (1, 21, 4))
    dense = Dense("x", target(), np.full((4, 1), 2, np.int8), **halves)
    yield case("Dense", "halves", dense, (9, 1), (9, 4))


def _window(stride: Pair, padding: Padding, dilation: Pair, ends: Pair, pad: Int8) -> dict[str, Any]:
    rest = {"stride": stride, "padding": padding, "dilation": dilation}
    return {**rest, "low": ends[0], "high": ends[1], "pad": pad}


def _affine(draw: Random, outputs: int, products: int) -> dict[str, Any]:
    """Return numbers that let most sums lie inside 8 bits; every fifth output takes the general way."""
    raw = draw.bytes(8 * outputs).astype(np.int64).reshape(8, outputs)
    bias = (raw[0] - 128) * 100 + raw[1]
    multiplier = 2**30 + (raw[2] << 22) + (raw[3] << 12)
    # A sum of n products is about 5400 * sqrt(n), a multiplier about 0.75 of the whole.
    shift = -((5400 * 3 * max(1, int(products**0.5)) // 320).bit_length() + raw[4] // 128)
    # A small multiplier with a small shift, and halves that the two roundings treat differently.
    general = (np.arange(outputs) + raw[5] // 64) % 5 == 0
    multiplier = np.where(general, multiplier >> (-1 - shift), np.where(raw[6] < 60, 2**30, multiplier))
    shift = np.where(general, -1, shift)
    made = {"bias": bias, "multiplier": multiplier, "shift": shift}
    return {name: value.astype(np.int32) for name, value in made.items()}


def _halves(outputs: int) -> dict[str, Any]:
    made = {
        "bias": np.zeros(outputs),
        "multiplier": np.full(outputs, 2**30),
        "shift": -1 - np.arange(outputs),
    }
    return {name: value.astype(np.int32) for name, value in made.items()}


def places_of(step: Conv | Depthwise, shape: Shape) -> tuple[int, int]:
    """Return rows and columns of what a step makes of a picture."""
    down, across = (
        (shape[at] + step.padding[at] + step.padding[2 + at] - (side - 1) * step.dilation[at] - 1)
        // step.stride[at]
        + 1
        for at, side in enumerate(kernel_of(step))
    )
    return down, across
