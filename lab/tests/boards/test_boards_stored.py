"""Stored graphs are what is measured; commands change nothing stored unless told to."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("torch", reason="pip install torch")

import device_graphs
from places import LAB

from tcuq_device.graph.model import Graph
from tcuq_device.graph.storage import load_graph
from tcuq_device.kernels.host import Network
from tcuq_lab.boards import graphs
from tcuq_lab.boards.graphs import TaskGraphs, difference, stored_path
from tcuq_lab.boards.quantize import input_of
from tcuq_lab.data.parts import load_part

pytestmark = pytest.mark.slow

WEIGHTS = LAB / "weights"
TASKS = ("mnist", "speech_commands", "cifar10")


def refuse(*_: Any, **__: Any) -> Graph:
    raise AssertionError("nothing is to be quantized")


@pytest.mark.parametrize("task", TASKS)
def test_every_network_on_boards_has_a_stored_graph(task: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphs, "quantize_file", refuse)
    said: list[str] = []
    networks = TaskGraphs(task, WEIGHTS, said.append)
    assert {kind: len(names) for kind, names in networks.names.items()} == {
        "plain": 5,
        "exits": 1,
        "hydra": 1,
        "dropout": 1,
    }
    entry = networks.base.tensors[networks.base.input]
    for name in (each for names in networks.names.values() for each in names):
        graph = networks.graph(name)
        assert graph.about["weights"] == f"{name}.npz" and graph.about["dataset"] == task
        assert graph.tensors[graph.input] == entry, "members of a firmware see one input"
    assert said == []
    assert stored_path(WEIGHTS / f"{networks.names['plain'][0]}.npz", 4.0).exists()


def test_values_that_differ_are_counted() -> None:
    graph = device_graphs.graph_of()
    first, *others = graph.steps
    weights = first.weights.copy()  # type: ignore[union-attr]
    weights.flat[:3] ^= 1
    found = difference(graph, replace(graph, steps=[replace(first, weights=weights), *others]))  # type: ignore[arg-type]
    assert found is not None and found.values == 3 and found.of > graph.steps[0].weights.size  # type: ignore[union-attr]
    assert difference(graph, device_graphs.graph_of(heads=2)) is None


@pytest.mark.slow
@pytest.mark.data
def test_a_stored_graph_gives_the_stored_accuracy_to_the_example() -> None:
    """On every architecture: graphs are stored, and their arithmetic is in integers."""
    content = json.loads((LAB / "results" / "device" / "accuracy.json").read_text())
    (row,) = (
        each
        for each in content["networks"]
        if (each["network"], each["settings"]["headroom"]) == ("cnn4-0", 4.0)
    )
    test = load_part("mnist", "test")
    graph = load_graph(stored_path(WEIGHTS / "cnn4-0.npz", 4.0))
    said = Network(graph).run(input_of(graph, test.x))["probs"].argmax(axis=1)
    assert (said == test.y).sum() == round(row["int8_accuracy"] * row["test_examples"] / 100)
