"""Random convolutions and dense layers in TFLite's arithmetic: any strides, dilation, shifts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tcuq_device.graph.model import Graph, Tensor
from tcuq_device.graph.steps import Conv, Dense, Depthwise, Drop, Step

GraphCase = tuple[Graph, np.ndarray]
Draw = np.random.Generator
KINDS = ("conv", "depthwise", "spread", "dense", "conv line", "depthwise line")


def factors(draw: Draw, outputs: int, largest: np.ndarray, typical: float) -> tuple[np.ndarray, np.ndarray]:
    """Return multipliers and shifts: most let sums of a typical size lie inside 8 bits, some are odd ones."""
    multiplier, shift = np.empty(outputs, np.int32), np.empty(outputs, np.int32)
    for at in range(outputs):
        part, power = math.frexp(40 / typical * math.exp(draw.normal(0, 0.7)))
        multiplier[at], shift[at] = min(2**31 - 1, round(part * 2**31)), power
        kind = draw.integers(12)
        if kind == 0:
            # As far to the left as sums allow: the general way.
            most = min(30, 30 - int(largest[at]).bit_length())
            multiplier[at], shift[at] = draw.integers(2**30, 2**31), draw.integers(-2, max(most, -2) + 1)
        elif kind == 1:
            multiplier[at] = draw.integers(0, 2**30)
        elif kind == 2:
            # Halves, where the two roundings differ from one.
            multiplier[at] = draw.choice([2**30, 3 << 29, 2**31 - 1])
        elif kind == 3:
            shift[at] = draw.choice([-31, -30, -3, -2])
    return multiplier, shift


def weighted(draw: Draw, weights: np.ndarray, shifted: bool) -> dict[str, Any]:
    """Return bias, multiplier, shift and range for weights (outputs, k)."""
    outputs, k = weights.shape
    bias = draw.integers(-20000, 20000, outputs).astype(np.int32)
    largest = np.abs(bias.astype(np.int64)) + 128 * np.abs(weights.astype(np.int64)).sum(axis=1)
    multiplier, shift = factors(draw, outputs, largest, 5400 * math.sqrt(k))
    low, high = -128, 127
    if draw.random() < 0.5:
        low, high = sorted(int(each) for each in draw.integers(-128, 128, 2))
    fields = {"bias": bias, "multiplier": multiplier, "low": low, "high": high}
    return {**fields, "shift": shift} if shifted else fields


def random_step(kind: str, seed: int, prefix: str = "t", shifted: bool = True) -> GraphCase:
    """Return a graph of one step behind one that changes nothing, so that its source lies in the arena.

    "spread" is a depthwise step with dilation or several outputs a channel; "line" goes over one column. With
    `shifted` it rounds as TFLite does.
    """
    draw = np.random.default_rng(seed)
    copy, target = f"{prefix}copy", f"{prefix}made"
    step: Step
    if kind == "dense":
        rows, inputs, outputs = (int(draw.integers(1, most)) for most in (5, 40, 20))
        shape: tuple[int, ...] = (rows, inputs)
        made: tuple[int, ...] = (rows, outputs)
        weights = draw.integers(-128, 128, (outputs, inputs)).astype(np.int8)
        step = Dense(copy, target, weights, **weighted(draw, weights, shifted))
    else:
        shape = (int(draw.integers(1, 11)), int(draw.integers(1, 11)), int(draw.integers(1, 10)))
        kernel = (3, 3) if draw.random() < 0.5 else tuple(int(side) for side in draw.integers(1, 6, 2))
        line = kind.endswith("line")
        if line:
            shape, kernel = (int(draw.integers(3, 40)), 1, int(draw.integers(1, 20))), (kernel[0], 1)
        dilation = (1, 1)
        if kind == "spread" or (kind.startswith("conv") and draw.random() < 0.3):
            dilation = tuple(int(by) for by in draw.integers(1, 4, 2))
        stride = (1, 1) if draw.random() < 0.4 else tuple(int(by) for by in draw.integers(1, 4, 2))
        reach = [(side - 1) * by + 1 for side, by in zip(kernel, dilation, strict=True)]
        before = [int(draw.integers(0, side + 1)) for side in reach]
        behind = [
            max(int(draw.integers(0, side + 1)), side - length - first)
            for side, length, first in zip(reach, shape, before, strict=False)
        ]
        if line:
            before[1] = behind[1] = 0
        made = tuple((shape[at] + before[at] + behind[at] - reach[at]) // stride[at] + 1 for at in (0, 1))
        window = {
            "stride": stride,
            "padding": (*before, *behind),
            "pad": draw.integers(-128, 128, shape[2]).astype(np.int8),
            "dilation": dilation,
        }
        if kind.startswith("conv"):
            outputs = int(draw.integers(1, 14))
            weights = draw.integers(-128, 128, (outputs, *kernel, shape[2])).astype(np.int8)
            flat = weights.reshape(outputs, -1)
            step = Conv(copy, target, weights, **weighted(draw, flat, shifted), **window)
        else:
            outputs = shape[2] * (int(draw.integers(1, 4)) if kind == "spread" else 1)
            weights = draw.integers(-128, 128, (*kernel, outputs)).astype(np.int8)
            flat = weights.reshape(-1, outputs).T
            step = Depthwise(copy, target, weights, **weighted(draw, flat, shifted), **window)
        made = (*made, outputs)
    zeros = draw.integers(-128, 128, 2)
    tensors = {
        "input": Tensor("input", shape, 1.0, int(zeros[0])),
        copy: Tensor(copy, shape, 1.0, int(zeros[0])),
        target: Tensor(target, made, 1.0, int(zeros[1])),
    }
    graph = Graph(
        f"{kind.replace(' ', '_')}_{seed}",
        tensors,
        [Drop("input", copy, 0, 2**15), step],
        "input",
        {"y": target},
    )
    return graph, draw.integers(-128, 128, (1, *shape)).astype(np.int8)


def roundings(kind: str, count: int, seed: int, prefix: str = "t") -> GraphCase:
    """Return sums of all sizes, each with a multiplier and a shift of its own, as biases of a step."""
    draw = np.random.default_rng(seed)
    shift = draw.integers(-31, 31, count)
    shift = np.where(draw.random(count) < 0.6, draw.integers(-31, -1, count), shift).astype(np.int32)
    bits = 31 - np.maximum(shift, 0)
    size = np.minimum(bits, draw.integers(0, 32, count))
    bias = draw.integers(-(2**62), 2**62, count) >> (62 - size)
    # Half ways: a multiplier of one bit, and sums that are whole multiples of a half.
    half = np.minimum(np.maximum(-shift, 0), bits - 6)
    ties = draw.integers(-31, 32, count) * (np.int64(1) << np.maximum(half, 0)) + draw.integers(-1, 2, count)
    tied = (draw.random(count) < 0.5) & (half > 2)
    most = (np.int64(1) << bits) - 1
    bias = np.clip(np.where(tied, ties, bias), -most, most).astype(np.int32)
    multiplier = draw.integers(2**30, 2**31, count)
    multiplier = np.where(draw.random(count) < 0.1, draw.integers(0, 2**31, count), multiplier)
    multiplier = np.where(tied, 2**30, multiplier)
    multiplier[draw.random(count) < 0.05] = 2**31 - 1
    affine = {"bias": bias, "multiplier": multiplier.astype(np.int32), "shift": shift}
    target = f"{prefix}made"
    window = {"stride": (1, 1), "padding": (0, 0, 0, 0)}
    zero = int(draw.integers(-128, 128))
    step: Step
    if kind == "conv":
        # Five pixels: four together and one by itself.
        shape, made = (1, 5, 1), (1, 5, count)
        weights = np.zeros((count, 1, 1, 1), np.int8)
        step = Conv("input", target, weights, **affine, **window, pad=np.zeros(1, np.int8))
    elif kind == "depthwise":
        shape, made = (3, 3, count), (1, 1, count)
        pad = np.zeros(count, np.int8)
        step = Depthwise("input", target, np.zeros((3, 3, count), np.int8), **affine, **window, pad=pad)
    else:
        shape, made = (1,), (count,)
        step = Dense("input", target, np.zeros((count, 1), np.int8), **affine)
    tensors = {"input": Tensor("input", shape, 1.0, 0), target: Tensor(target, made, 1.0, zero)}
    x = np.full((1, *shape), -128, np.int8)
    return Graph(f"rounded_{kind}", tensors, [step], "input", {"y": target}), x


EACH = 12
"""Random steps of a kind."""


def cases() -> list[GraphCase]:
    """Return what compilers and boards run."""
    found = [roundings(kind, 1500, 5, f"h{kind}_") for kind in ("conv", "depthwise", "dense")]
    for kind in KINDS:
        found += [random_step(kind, seed, f"{kind.replace(' ', '_')}{seed}_") for seed in range(EACH)]
    return found + [random_step(kind, 500, f"p{kind.replace(' ', '_')}_", shifted=False) for kind in KINDS]
