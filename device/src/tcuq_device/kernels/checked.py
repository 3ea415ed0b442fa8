"""Small cases of every operator, and whether compiled kernels give the stored numbers for them.

A compiler can break a kernel without a word. So the executor on this computer runs these cases once for each
compiler and its options, and refuses to answer where one differs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import resources

import numpy as np

from ..graph.model import Graph, Tensor
from ..graph.oracle import Random
from ..graph.oracle import run as run_oracle
from ..graph.steps import Add, Conv, Dense, Depthwise, Drop, Int8, Int32, MeanPool, Softmax, Step, UInt16
from .tflite_cases import places_of, step_cases, window_cases

VECTORS = "vectors.txt"
SAME = (1, 1, 1, 1)
NONE = (0, 0, 0, 0)
FULL = 2**31 - 1

Shape = tuple[int, ...]
Padding = tuple[int, int, int, int]
Answers = Callable[[Graph, Int8], Int8]


@dataclass(frozen=True)
class KernelCase:
    """One operator on one input: a graph whose one output is "y"."""

    name: str
    graph: Graph
    x: Int8


# Input, outputs, kernel, stride, padding: channels in fours or not, windows inside or not, ends of rows.
CONVOLUTIONS: tuple[tuple[str, Shape, int, tuple[int, int], int, Padding], ...] = (
    ("3 x 3, padded", (6, 7, 4), 6, (3, 3), 1, SAME),
    ("3 x 3, padded, 3 channels, odd outputs", (5, 6, 3), 5, (3, 3), 1, SAME),
    ("3 x 3, stride 2, padded on two sides", (7, 9, 8), 4, (3, 3), 2, (0, 0, 1, 1)),
    ("10 x 4, stride 2, 1 channel", (13, 6, 1), 3, (10, 4), 2, (4, 1, 5, 1)),
    ("1 x 1", (3, 5, 8), 10, (1, 1), 1, NONE),
    ("1 x 1, stride 2, 5 channels", (5, 6, 5), 4, (1, 1), 2, NONE),
    ("1 x 1, padded", (3, 3, 4), 2, (1, 1), 1, (1, 0, 0, 2)),
    ("5 x 5, larger than the picture", (2, 3, 4), 3, (5, 5), 1, (2, 2, 2, 2)),
)
DEPTHWISE: tuple[tuple[str, Shape, tuple[int, int], int, Padding], ...] = (
    ("3 x 3, padded", (6, 5, 8), (3, 3), 1, SAME),
    ("3 x 3, padded, 5 channels, odd rows", (5, 4, 5), (3, 3), 1, SAME),
    ("3 x 3, stride 2", (8, 7, 4), (3, 3), 2, (0, 0, 1, 1)),
    ("3 x 3, stride 2, 3 channels", (7, 7, 3), (3, 3), 2, SAME),
    ("10 x 4, stride 2", (13, 6, 6), (10, 4), 2, (4, 1, 5, 2)),
    ("1 x 1", (4, 5, 4), (1, 1), 1, NONE),
)
DENSE = (("", 32, 10), ("odd inputs and outputs", 7, 3), ("long", 130, 2))
SUMS = (("", 24, 15), ("odd size", 13, 15), ("saturated", 9, 6))
MEANS: tuple[tuple[str, Shape], ...] = (
    ("", (4, 4, 8)),
    ("5 channels", (3, 5, 5)),
    ("300 pixels", (20, 15, 6)),
)
DROPS = (("", 21, 100), ("nothing dropped", 8, 0), ("nearly all dropped", 12, 255))
SOFTMAXES = (("", 10, 244), ("2 classes", 2, 190), ("100 classes", 100, 256), ("one class is certain", 5, 1))
"""Classes, and 256 times the ratio of one entry of the table to the one before."""


class _Drawn(Random):
    """Numbers of the generator of `Drop`."""

    def affine(self, outputs: int, products: int) -> tuple[Int32, Int32]:
        """Return biases, and multipliers that let most sums of so many products lie inside 8 bits."""
        draw = self.bytes(6 * outputs).astype(np.int64).reshape(6, outputs)
        bias = (draw[0] - 128) * 100 + draw[1]
        typical = 60 * 2**32 // (5400 * max(1, int(products**0.5)))
        multiplier = typical * (80 + draw[2] * 2) // 256
        # Some sums saturate, and some products are half way between two numbers.
        multiplier = np.where(draw[3] < 24, FULL, np.where(draw[3] < 40, 2**31 - 2**20, multiplier))
        return bias.astype(np.int32), multiplier.astype(np.int32)


def cases() -> Iterator[KernelCase]:
    """Give every case."""
    draw = _Drawn(1)
    number = 0

    def case(
        operator: str,
        about: str,
        shape: Shape,
        step: Step,
        target: Shape,
        *before: Step,
        zero: int = 3,
        scale: float = 1.0,
    ) -> KernelCase:
        tensors = {"x": Tensor("x", shape, 1.0, zero)}
        tensors |= {each.target: Tensor(each.target, shape, 1.0, zero) for each in before}
        tensors[step.target] = Tensor(step.target, target, scale, zero)
        name = f"{operator}, {about}" if about else operator
        graph = Graph("kernel_case", tensors, [*before, step], "x", {"y": step.target})
        return KernelCase(name, graph, draw.int8(1, *shape))

    def target() -> str:
        nonlocal number
        number += 1
        return f"target{number}"

    for about, shape, outputs, kernel, stride, padding in CONVOLUTIONS:
        weights = draw.int8(outputs, *kernel, shape[2])
        affine = draw.affine(outputs, weights[0].size)
        conv = Conv("x", target(), weights, *affine, (stride, stride), padding, draw.int8(shape[2]))
        yield case("Conv", about, shape, conv, (*places_of(conv, shape), outputs))
    for about, shape, kernel, stride, padding in DEPTHWISE:
        weights = draw.int8(*kernel, shape[2])
        affine = draw.affine(shape[2], kernel[0] * kernel[1])
        depthwise = Depthwise("x", target(), weights, *affine, (stride, stride), padding, draw.int8(shape[2]))
        yield case("Depthwise", about, shape, depthwise, (*places_of(depthwise, shape), shape[2]))
    for about, inputs, outputs in DENSE:
        weights = draw.int8(outputs, inputs)
        yield case(
            "Dense",
            about,
            (inputs,),
            Dense("x", target(), weights, *draw.affine(outputs, inputs)),
            (outputs,),
        )
    for about, shape in MEANS:
        pixels = shape[0] * shape[1]
        yield case(
            "MeanPool", about, shape, MeanPool("x", target(), 40 * pixels, 2**32 // (pixels + 1)), shape[2:]
        )
    for about, size, threshold in DROPS:
        drop = Drop("x", target(), threshold, 2**15 * 256 // (256 - threshold))
        yield case("Drop", about, (size,), drop, (size,), zero=-7)
    for about, size, shift in SUMS:
        # Two tensors that differ, or a kernel could take one for the other; after Drop, which makes one.
        half = Drop("x", target(), 128, 2**15)
        total = Add(half.target, "x", target(), 21011, -3007, 1 << 18, shift)
        yield case("Add", about, (size,), total, (size,), half, zero=-5)
    for about, classes, fall in SOFTMAXES:
        softmax = Softmax("x", target(), _falling(fall))
        yield case("Softmax", about, (classes,), softmax, (classes,), zero=-128, scale=1 / 256)
    yield from (KernelCase(*each) for each in step_cases())
    yield from (KernelCase(*each) for each in window_cases())


def _falling(ratio: int) -> UInt16:
    entries = [65535]
    for _ in range(255):
        entries.append(entries[-1] * ratio >> 8)
    return np.array(entries, np.uint16)


def made() -> str:
    """Return the content of the file of vectors, from the arithmetic in numpy."""
    lines = ["# What every case gives, from the oracle in numpy: tools/make_kernel_vectors.py."]
    for case in cases():
        lines.append(f"{case.name}: {run_oracle(case.graph, case.x)['y'].tobytes().hex()}")
    return "\n".join(lines) + "\n"


def stored() -> Mapping[str, bytes]:
    """Return what the kernels must give, by name of the case."""
    text = (resources.files(__package__) / VECTORS).read_text(encoding="ascii")
    pairs = (line.rsplit(": ", 1) for line in text.splitlines() if not line.startswith("#"))
    return {name: bytes.fromhex(values) for name, values in pairs}


def first_broken(answers: Answers) -> str | None:
    """Return the first case for which something else than the stored numbers comes, or None.

    Examples
    --------
    >>> first_broken(lambda graph, x: run_oracle(graph, x)["y"]) is None
    True
    """
    known = stored()
    for case in cases():
        if answers(case.graph, case.x).tobytes() != known[case.name]:
            return case.name
    return None
