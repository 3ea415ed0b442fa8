"""TFLite models as our own graphs: near the reference where the graph can express them, else refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from make_tflite_models import FOLDER, MODELS, random_inputs

from tcuq.device.graph import oracle
from tcuq.device.graph.storage import load_graph, save_graph
from tcuq.device.tflite.convert import graph_of
from tcuq.device.tflite.read import load_model
from tcuq.device.tflite.reference import evaluate


def test_a_converted_network_is_near_the_reference(tmp_path: Path) -> None:
    model = load_model(FOLDER / "net.tflite")
    save_graph(tmp_path / "net.npz", graph_of(model, "net"))
    graph = load_graph(tmp_path / "net.npz")
    assert list(graph.outputs) == ["probs", "features"]
    assert graph.tensors[graph.outputs["features"]].shape == (8,)
    runs = [evaluate(model, [x]) for x in random_inputs(MODELS["net"][1], 100)]
    values = {
        name: np.stack([run[int(name[1:])].reshape(tensor.shape) for run in runs])
        for name, tensor in graph.tensors.items()
    }
    # Each step by itself, on what the reference gives it: one rounding differs from two by one at most. How
    # often depends on the shift (a mean that is shifted by two bits: one in ten), so no share is asked for.
    for step in graph.steps:
        found = oracle._step(graph, step, values, iter(()))
        away = np.abs(found.astype(int) - values[step.target])
        assert away.max() <= 1, step


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("dense", r"operator 0 \(RESHAPE\) to tensor .*: shape .* becomes \(1, 16, 3\), expected a vector"),
        ("sums", r"operator 1 \(ADD\) to tensor .*: input 1 is a constant"),
        ("pools", r"operator 0 \(AVERAGE_POOL_2D\) to tensor .*: the mean is not one over the whole picture"),
        ("shapes", r"operator 0 \(PAD\) to tensor .*: the graph has no such step, expected one of ADD, "),
        ("curves", r"operator \d+ \(\w+\) to tensor "),
    ],
)
def test_what_the_graph_cannot_express_is_named(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        graph_of(load_model(FOLDER / f"{name}.tflite"))
