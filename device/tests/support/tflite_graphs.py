"""TFLite models as graphs, and every tensor of a graph against the reference arithmetic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tcuq_device.graph.model import Graph
from tcuq_device.tflite.model import Model


def every_tensor(graph: Graph) -> Graph:
    """Return a graph that gives out all its tensors, so that none is overwritten."""
    return replace(graph, outputs={f"made_{name}": name for name in graph.tensors})


def stacked(graph: Graph, inputs: Sequence[np.ndarray]) -> np.ndarray:
    """Return inputs of a model as those of its graph."""
    return np.stack([each.reshape(graph.tensors[graph.input].shape) for each in inputs])


def assert_equal(
    model: Model, graph: Graph, found: Mapping[str, Any], wanted: Sequence[Mapping[int, Any]]
) -> int:
    """Compare tensors by their names in the graph with those of the model; return how many there were."""
    for operator in model.operators:
        number = operator.outputs[0]
        name = f"t{number}"
        right = np.stack([each[number].reshape(graph.tensors[name].shape) for each in wanted])
        where = f"operator {operator.number} ({operator.code})"
        np.testing.assert_array_equal(found[name], right, err_msg=where, strict=True)
    return len(model.operators)
