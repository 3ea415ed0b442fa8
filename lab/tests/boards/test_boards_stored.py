"""Stored graphs are what is measured; commands change nothing stored unless told to."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="pip install 'tcuq-lab[zoo]'")

import device_graphs
from places import LAB

from tcuq_device.graph.model import Graph
from tcuq_device.graph.storage import load_graph, save_graph
from tcuq_device.kernels.host import Network
from tcuq_lab.boards import accuracy, stored_graphs
from tcuq_lab.boards.quantize import input_of
from tcuq_lab.boards.stored_graphs import (
    TaskGraphs,
    difference,
    stored_or,
    stored_path,
)
from tcuq_lab.cli import main
from tcuq_lab.data.parts import load_part

WEIGHTS = LAB / "weights"
TASKS = ("mnist", "speech_commands", "cifar10")


def refuse(*_: Any, **__: Any) -> Graph:
    raise AssertionError("nothing is to be quantized")


@pytest.mark.parametrize("task", TASKS)
def test_every_network_on_boards_has_a_stored_graph(task: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_graphs, "quantize_file", refuse)
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


def test_a_graph_that_is_not_stored_is_made_and_that_is_said(tmp_path: Path) -> None:
    graph, said = device_graphs.graph_of(), list[str]()
    assert stored_or(tmp_path / "g.npz", lambda: graph, said.append) is graph
    assert len(said) == 1 and "g.npz is not stored: quantized here" in said[0]
    save_graph(tmp_path / "g.npz", graph)
    assert difference(stored_or(tmp_path / "g.npz", refuse, said.append), graph) == (0, values(graph))
    assert len(said) == 1


def values(graph: Graph) -> int:
    fields = sum(np.size(value) for step in graph.steps for value in vars(step).values())
    return 2 * len(graph.tensors) + fields


def test_values_that_differ_are_counted() -> None:
    graph = device_graphs.graph_of()
    first, *others = graph.steps
    weights = first.weights.copy()  # type: ignore[union-attr]
    weights.flat[:3] ^= 1
    other = replace(graph, steps=[replace(first, weights=weights), *others])  # type: ignore[arg-type]
    assert difference(graph, other) == (3, values(graph))
    name = next(iter(graph.tensors))
    moved = {**graph.tensors, name: replace(graph.tensors[name], scale=0.7)}
    assert difference(graph, replace(graph, tensors=moved)) == (1, values(graph))
    assert difference(graph, device_graphs.graph_of(heads=2)) is None


def test_quantizing_a_task_says_what_differs_and_writes_only_when_told_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "int8").mkdir()
    for name in ("choices.json", *(f"{path.name}" for path in WEIGHTS.glob("cnn4*.npz"))):
        (tmp_path / name).symlink_to(WEIGHTS / name)
    for path in (WEIGHTS / "int8").glob("cnn4*.npz"):
        (tmp_path / "int8" / path.name).write_bytes(path.read_bytes())
    stored = load_graph(tmp_path / "int8" / "cnn4-0.npz")
    first, *others = stored.steps
    moved = replace(stored, steps=[replace(first, bias=first.bias + 1), *others])  # type: ignore[arg-type,union-attr]
    monkeypatch.setattr(stored_graphs, "calibration", lambda task: None)
    monkeypatch.setattr(stored_graphs, "narrowed", lambda path: None)
    monkeypatch.setattr(stored_graphs, "quantize_file", lambda *_, **__: moved)
    files = {path: path.read_bytes() for path in (tmp_path / "int8").iterdir()}
    command = ["boards", "quantize", "--task", "mnist", "--weights", str(tmp_path)]
    assert main(command) == 0
    said = capsys.readouterr()
    assert "cnn4-0: 16 of 17," in said.err and "0 of 8 graphs are the stored ones" in said.out
    assert {path: path.read_bytes() for path in (tmp_path / "int8").iterdir()} == files
    assert main([*command, "--write"]) == 0
    assert difference(load_graph(tmp_path / "int8" / "cnn4-0.npz"), moved) == (0, values(moved))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["table", "--task", "mnist", "--write"],
            "--write stores all of table.json; leave out what",
        ),
        (["replay", "--task", "mnist", "--write"], "--write stores all of replay.json"),
        (["accuracy", "cnn4-0", "--write"], "--write stores all of accuracy.json"),
        (["table", "--write", "--results", "none"], "none is no folder; --write needs one that exists"),
        (["quantize"], "one of WEIGHTS and --task is needed"),
        (["quantize", "w.npz", "--write"], "--write stores the graphs of a task"),
        (["quantize", "--task", "mnist", "-o", "g.npz"], "--out is for one file of WEIGHTS"),
    ],
)
def test_what_is_refused_before_any_work(
    arguments: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["boards", *arguments]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"tcuq-lab: {said}") and err.count("\n") == 1
    assert list(tmp_path.iterdir()) == [], "no folder is made"


def test_measured_accuracies_go_nowhere_without_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """False figures once went into a tracked file; now they are shown beside the stored ones."""
    text = (LAB / "results" / "device" / "accuracy.json").read_text()
    (tmp_path / "accuracy.json").write_text(text)
    stored = json.loads(text)
    row = stored["networks"][0] | {"int8_accuracy": 9.9, "met": False}
    monkeypatch.setattr(accuracy, "report", lambda *_, **__: stored | {"networks": [row]})
    monkeypatch.setattr(accuracy, "line", lambda row: "a line")
    assert main(["boards", "accuracy", "cnn4-0", "--results", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert '- "int8_accuracy": 99.17,' in said and '+ "int8_accuracy": 9.9,' in said
    assert main(["boards", "accuracy", "cnn4-0", "--headroom", "2", "--results", str(tmp_path)]) == 1
    assert "not compared: " in capsys.readouterr().err
    assert (tmp_path / "accuracy.json").read_text() == text


@pytest.mark.slow
@pytest.mark.skipif("TCUQ_DATA" not in os.environ, reason="needs a data folder")
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
