"""An int8 network as a list of steps over typed tensors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from .steps import Constant, Conv, Dense, Depthwise, Step


@dataclass(frozen=True)
class Tensor:
    """A value: (height, width, channels), (rows, channels) or (channels,); `zero` stands for 0."""

    name: str
    shape: tuple[int, ...]
    scale: float
    zero: int

    @property
    def size(self) -> int:
        """Values, which are bytes."""
        return int(np.prod(self.shape))


@dataclass(frozen=True, eq=False)
class Graph:
    """A network: steps in the order in which they run.

    Names are C identifiers. `outputs` say what a tensor is for: "probs" and "features" for the monitor,
    "probs_1" and so on where a network gives several posteriors. `about` says where it comes from. `states`
    are tensors that live from one run to the next, and the byte that fills them before the first.
    """

    name: str
    tensors: Mapping[str, Tensor]
    steps: Sequence[Step]
    input: str
    outputs: Mapping[str, str]
    about: Mapping[str, object] = field(default_factory=dict)
    states: Mapping[str, int] = field(default_factory=dict)


def products(graph: Graph) -> int:
    """Return the multiply-adds of one run: those of convolutions and dense layers, borders included.

    Examples
    --------
    >>> tensors = {"a": Tensor("a", (3,), 1.0, 0), "b": Tensor("b", (2,), 1.0, 0)}
    >>> n = np.zeros(2, np.int32)
    >>> graph = Graph("g", tensors, [Dense("a", "b", np.ones((2, 3), np.int8), n, n)], "a", {"y": "b"})
    >>> products(graph), weight_bytes(graph)
    (6, 6)
    """
    total = 0
    for step in graph.steps:
        if isinstance(step, (Conv, Dense)):
            total += graph.tensors[step.target].size * math.prod(step.weights.shape[1:])
        elif isinstance(step, Depthwise):
            total += graph.tensors[step.target].size * math.prod(step.weights.shape[:2])
    return total


def weight_bytes(graph: Graph) -> int:
    """Return the bytes of weights and of constant tensors; biases and factors come on top."""
    arrays = (
        step.values if isinstance(step, Constant) else step.weights
        for step in graph.steps
        if isinstance(step, (Conv, Dense, Depthwise, Constant))
    )
    return sum(each.size for each in arrays)
