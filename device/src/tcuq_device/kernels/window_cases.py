"""Small cases of convolutions and dense layers in TFLite's arithmetic, for `checked`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..graph.model import Graph, Tensor
from ..graph.oracle import Random
from ..graph.steps import Conv, Dense, Depthwise, Int8, Pair, Step

Shape = tuple[int, ...]
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

    def bytes_of(*shape: int) -> Int8:
        return draw.bytes(int(np.prod(shape))).view(np.int8).reshape(shape).copy()

    def target() -> str:
        nonlocal number
        number += 1
        return f"window{number}"

    def case(kind: str, about: str, step: Step, shape: Shape, made: Shape) -> tuple[str, Graph, Int8]:
        tensors = {"x": Tensor("x", shape, 1.0, 3), step.target: Tensor(step.target, made, 1.0, -4)}
        name = f"{kind}, by TFLite" + (f", {about}" if about else "")
        return name, Graph("window_case", tensors, [step], "x", {"y": step.target}), bytes_of(1, *shape)

    for about, shape, outputs, kernel, stride, padding, dilation, ends in CONVOLUTIONS:
        fields = _window(stride, padding, dilation, ends, bytes_of(shape[2]))
        weights = bytes_of(outputs, *kernel, shape[2])
        conv = Conv("x", target(), weights, **_affine(draw, outputs, weights[0].size), **fields)
        yield case("Conv", about, conv, shape, (*_places(conv, shape, kernel), outputs))
    for about, shape, each, kernel, stride, padding, dilation, ends in DEPTHWISE:
        fields = _window(stride, padding, dilation, ends, bytes_of(shape[2]))
        weights = bytes_of(*kernel, each * shape[2])
        affine = _affine(draw, each * shape[2], kernel[0] * kernel[1])
        depthwise = Depthwise("x", target(), weights, **affine, **fields)
        yield case(
            "Depthwise", about, depthwise, shape, (*_places(depthwise, shape, kernel), each * shape[2])
        )
    for about, rows, inputs, outputs in DENSE:
        dense = Dense("x", target(), bytes_of(outputs, inputs), **_affine(draw, outputs, inputs))
        yield case("Dense", about, dense, (rows, inputs), (rows, outputs))
    # Twice a byte, times a half, by 2 to 16: many are half way between two numbers.
    halves = _halves(4)
    fields = _window((1, 1), NONE, (1, 1), (-128, 127), bytes_of(1))
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


def _places(step: Conv | Depthwise, shape: Shape, kernel: Pair) -> tuple[int, int]:
    down, across = (
        (shape[at] + step.padding[at] + step.padding[2 + at] - (kernel[at] - 1) * step.dilation[at] - 1)
        // step.stride[at]
        + 1
        for at in (0, 1)
    )
    return down, across
