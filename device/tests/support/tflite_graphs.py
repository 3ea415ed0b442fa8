"""TFLite models as graphs, and every tensor of a graph against the reference arithmetic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from tflite_reference import evaluate, first_states

from tcuq_device.generate.arena import roots
from tcuq_device.graph.model import Graph
from tcuq_device.tflite.model import Model


def every_tensor(graph: Graph) -> Graph:
    """Return a graph that gives out all its tensors but states, so that none is overwritten."""
    lasting = [name for name, root in roots(graph).items() if root not in graph.states]
    return replace(graph, outputs={f"made_{name}": name for name in lasting})


def evaluated(model: Model, inputs: Sequence[np.ndarray]) -> list[dict[int, Any]]:
    """Return what the reference gives for inputs that come after each other."""
    states = first_states(model)
    return [evaluate(model, [each], states) for each in inputs]


def stacked(graph: Graph, inputs: Sequence[np.ndarray]) -> np.ndarray:
    """Return inputs of a model as those of its graph."""
    return np.stack([each.reshape(graph.tensors[graph.input].shape) for each in inputs])


def assert_equal(
    model: Model, graph: Graph, found: Mapping[str, Any], wanted: Sequence[Mapping[int, Any]]
) -> int:
    """Compare tensors by their names in the graph with those of the model; return how many there were."""
    made = {number: operator for operator in model.operators for number in operator.outputs}
    for number, operator in made.items():
        name = f"t{number}"
        right = np.stack([each[number].reshape(graph.tensors[name].shape) for each in wanted])
        where = f"operator {operator.number} ({operator.code})"
        if operator.code != "READ_VARIABLE" or name in found:
            np.testing.assert_array_equal(found[name], right, err_msg=where, strict=True)
    return len(made)
