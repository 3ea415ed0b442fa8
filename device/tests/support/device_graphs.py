"""Int8 graphs for tests, their numbers drawn at random."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tcuq_device.graph.model import Graph, Tensor
from tcuq_device.graph.steps import Add, Conv, Dense, Depthwise, Drop, MeanPool, Softmax, Step

CLASSES, FEATURES = 10, 32


class Maker:
    """Adds steps with random constants to a graph; `extreme` ones are at both ends and let all saturate."""

    def __init__(
        self, shape: tuple[int, ...], seed: int = 0, extreme: bool = False, prefix: str = "t"
    ) -> None:
        self.prefix = prefix
        self.draw = np.random.default_rng(seed)
        self.extreme = extreme
        self.tensors = {"input": Tensor("input", shape, 1 / 256, -128)}
        self.steps: list[Step] = []
        self.states: dict[str, int] = {}
        self.features, self.probs = "", [""]

    def int8(self, *shape: int) -> np.ndarray:
        if self.extreme:
            return self.draw.choice(np.array([-128, 127], np.int8), shape)
        return self.draw.integers(-128, 128, shape).astype(np.int8)

    def _tensor(self, shape: Sequence[int], zero: int | None = None, scale: float = 0.1) -> str:
        name = f"{self.prefix}{len(self.tensors)}"
        chosen = int(self.draw.integers(-128, 128)) if zero is None else zero
        self.tensors[name] = Tensor(name, tuple(int(side) for side in shape), scale, chosen)
        return name

    def _affine(self, outputs: int, products: int) -> tuple[np.ndarray, np.ndarray]:
        bias = self.draw.integers(-20000, 20000, outputs).astype(np.int32)
        if self.extreme:
            return bias, np.where(self.draw.random(outputs) < 0.5, 2**31 - 1, 0).astype(np.int32)
        # Sums of products are about 5400 * sqrt(products); most outputs then lie inside.
        typical = 60 / (5400 * np.sqrt(products)) * 2**32
        return bias, (typical * self.draw.uniform(0.3, 2, outputs)).astype(np.int32)

    def _add(self, step: Step) -> str:
        self.steps.append(step)
        return step.target

    def _places(self, source: str, kernel: Sequence[int], stride: int, padding: Sequence[int]) -> list[int]:
        height, width = self.tensors[source].shape[:2]
        top, left, bottom, right = padding
        return [
            (height + top + bottom - kernel[0]) // stride + 1,
            (width + left + right - kernel[1]) // stride + 1,
        ]

    def conv(
        self,
        source: str,
        outputs: int,
        kernel: tuple[int, int],
        stride: int = 1,
        padding: tuple[int, int, int, int] = (0, 0, 0, 0),
    ) -> str:
        inputs = self.tensors[source].shape[2]
        bias, multiplier = self._affine(outputs, inputs * kernel[0] * kernel[1])
        target = self._tensor([*self._places(source, kernel, stride, padding), outputs])
        weights = self.int8(outputs, *kernel, inputs)
        return self._add(
            Conv(source, target, weights, bias, multiplier, (stride, stride), padding, self.int8(inputs))
        )

    def depthwise(
        self,
        source: str,
        kernel: tuple[int, int] = (3, 3),
        stride: int = 1,
        padding: tuple[int, int, int, int] = (1, 1, 1, 1),
    ) -> str:
        channels = self.tensors[source].shape[2]
        bias, multiplier = self._affine(channels, kernel[0] * kernel[1])
        target = self._tensor([*self._places(source, kernel, stride, padding), channels])
        weights = self.int8(*kernel, channels)
        return self._add(
            Depthwise(
                source, target, weights, bias, multiplier, (stride, stride), padding, self.int8(channels)
            )
        )

    def dense(self, source: str, outputs: int) -> str:
        inputs = self.tensors[source].size
        bias, multiplier = self._affine(outputs, inputs)
        return self._add(Dense(source, self._tensor([outputs]), self.int8(outputs, inputs), bias, multiplier))

    def add(self, first: str, second: str) -> str:
        left, right = (int(value) for value in self.draw.integers(-(2**15), 2**15, 2))
        target = self._tensor(self.tensors[first].shape)
        shift = 6 if self.extreme else 15
        return self._add(
            Add(first, second, target, left, right, int(self.draw.integers(-(2**21), 2**21)), shift)
        )

    def mean(self, source: str) -> str:
        height, width, channels = self.tensors[source].shape
        multiplier = 2**31 - 1 if self.extreme else int(2**32 / (height * width + 3))
        return self._add(
            MeanPool(source, self._tensor([channels]), int(self.draw.integers(-999, 999)), multiplier)
        )

    def drop(self, source: str, threshold: int = 100) -> str:
        tensor = self.tensors[source]
        multiplier = 2**15 * 256 // (256 - min(threshold, 255))
        return self._add(Drop(source, self._tensor(tensor.shape, tensor.zero), threshold, multiplier))

    def softmax(self, source: str, scale: float = 0.05) -> str:
        table = np.rint(65535 * np.exp(-scale * np.arange(256))).astype(np.uint16)
        return self._add(Softmax(source, self._tensor(self.tensors[source].shape, -128, 1 / 256), table))

    def graph(self, **outputs: str) -> Graph:
        about = {"made": "for a test"}
        return Graph("random", self.tensors, self.steps, "input", outputs, about, self.states)

    def input(self, count: int) -> np.ndarray:
        return self.int8(count, *self.tensors["input"].shape)


def resnet8(seed: int = 0, classes: int = 10) -> Maker:
    """ResNet-8 for pictures of 32 x 32 x 3; the last tensors are features, logits, posteriors."""
    make = Maker((32, 32, 3), seed)
    same = (1, 1, 1, 1)
    x = make.conv("input", 16, (3, 3), 1, same)
    y = make.conv(make.conv(x, 16, (3, 3), 1, same), 16, (3, 3), 1, same)
    x = make.add(y, x)
    for width in (32, 64):
        y = make.conv(make.conv(x, width, (3, 3), 2, (0, 0, 1, 1)), width, (3, 3), 1, same)
        x = make.add(y, make.conv(x, width, (1, 1), 2))
    make.softmax(make.dense(make.mean(x), classes))
    return make


def dscnn(seed: int = 0, classes: int = 12) -> Maker:
    """DS-CNN for 49 x 10 coefficients; the last tensors are features, logits, posteriors."""
    make = Maker((49, 10, 1), seed)
    x = make.conv("input", 64, (10, 4), 2, (4, 1, 5, 1))
    for _ in range(4):
        x = make.conv(make.depthwise(x), 64, (1, 1))
    make.softmax(make.dense(make.mean(x), classes))
    return make


def whole(make: Maker) -> Graph:
    """A backbone's graph, with the names that the monitor asks for."""
    features, _, probs = list(make.tensors)[-3:]
    return make.graph(probs=probs, features=features)


def backbone(seed: int = 0, drop: bool = False, heads: int = 1) -> Maker:
    """A small picture network: two convolutions, a pool, one or more heads with a posterior each."""
    make = Maker((12, 12, 3), seed)
    x = make.conv(make.conv("input", 16, (3, 3), 2, (1, 1, 1, 1)), FEATURES, (3, 3), 2, (1, 1, 1, 1))
    features = make.mean(make.drop(x) if drop else x)
    make.features = features
    make.probs = [make.softmax(make.dense(features, CLASSES)) for _ in range(heads)]
    return make


def graph_of(seed: int = 0, drop: bool = False, heads: int = 1) -> Graph:
    make = backbone(seed, drop, heads)
    names = ["probs", *(f"probs_{number}" for number in range(1, heads))]
    return make.graph(features=make.features, **dict(zip(names, make.probs, strict=True)))


def pictures(count: int) -> np.ndarray:
    return backbone().input(count)
