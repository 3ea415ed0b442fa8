"""What a graph takes, counted from its steps."""

from __future__ import annotations

import math

from .model import Graph
from .steps import Constant, Conv, Dense, Depthwise


def products(graph: Graph) -> int:
    """Return the multiply-adds of one run: those of convolutions and dense layers, borders included.

    Examples
    --------
    >>> import numpy as np
    >>> from tcuq_device.graph.model import Tensor
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
