# SPDX-License-Identifier: MIT
"""Streaming models: variables as states, from the file to C."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from make_tflite_models import FOLDER, MODELS, random_inputs
from refusals import refused
from tflite_graphs import evaluated, stacked

from tcuq_device.firmware.firmware import Firmware
from tcuq_device.generate.arena import lay_out
from tcuq_device.graph import oracle
from tcuq_device.graph.check import check
from tcuq_device.graph.model import Graph, Tensor
from tcuq_device.graph.steps import Keep, Strided, Table, View
from tcuq_device.graph.storage import load_graph, save_graph
from tcuq_device.kernels.host import Network
from tcuq_device.tflite import model as tflite
from tcuq_device.tflite.convert import graph_of
from tcuq_device.tflite.model import Model, Operator, Options
from tcuq_device.tflite.read import load_model
from tcuq_device.tflite.states import with_states

LINE = np.arange(-128, 128).astype(np.int8)


def streaming() -> tuple[Graph, np.ndarray]:
    graph = graph_of(load_model(FOLDER / "stream.tflite"), "stream")
    return graph, stacked(graph, random_inputs(MODELS["stream"][1], 12))


def test_a_stream_goes_on_from_call_to_call_and_can_begin_anew(tmp_path: Path) -> None:
    graph, x = streaming()
    save_graph(tmp_path / "stream.npz", graph)
    assert load_graph(tmp_path / "stream.npz").states == graph.states
    wanted = oracle.run(graph, x)["probs"]
    network = Network(graph)
    parts = [network.run(x[:5])["probs"], network.run(x[5:])["probs"]]
    assert np.array_equal(np.concatenate(parts), wanted)
    assert not np.array_equal(network.run(x)["probs"], wanted), "the stream went on"
    network.reset()
    assert np.array_equal(network.run(x)["probs"], wanted)
    with refused("unsupported"):
        Firmware("two", [graph] * 2)


def test_nothing_lies_where_a_state_does() -> None:
    graph, _ = streaming()
    places = lay_out(graph).offsets
    for state in graph.states:
        mine = range(places[state], places[state] + graph.tensors[state].size)
        views = {step.target for step in graph.steps if isinstance(step, View) and step.source == state}
        for name in graph.tensors.keys() & places.keys() - views - {state}:
            other = range(places[name], places[name] + graph.tensors[name].size)
            assert mine.stop <= other.start or other.stop <= mine.start, name


def byte(shape: tuple[int, ...], dtype: str = "int8", data: Any = None) -> tflite.Tensor:
    return tflite.Tensor("t", shape, dtype, np.array([0.5], np.float32), np.array([0]), data=data)


def delayed(late: bool, value: Any = 9) -> Model:
    """Return a model that gives the input before: read before it is stored, used before or after."""
    handle = Operator("VAR_HANDLE", (), (1,), Options(state="/v"))
    use = Operator("RELU", (2,), (3,), number=4)
    store = Operator("ASSIGN_VARIABLE", (1, 0), (), number=3)
    steps = [
        Operator("CALL_ONCE", (), (), Options(flags=(1,))),
        handle,
        Operator("READ_VARIABLE", (1,), (2,)),
    ]
    order = (store, use) if late else (use, store)
    model = Model([byte((1, 3))] * 4, [*steps, *order], (0,), (3,))
    constant = byte((1, 3), data=np.full((1, 3), value, np.int8))
    fill = Model([byte(()), constant], [replace(handle, outputs=(0,)), replace(store, inputs=(0, 1))], (), ())
    return with_states(model, lambda number: fill if number == 1 else model)


@pytest.mark.parametrize("late", [False, True])
def test_a_state_is_copied_where_it_changes_before_it_is_used(late: bool) -> None:
    model, inputs = delayed(late), random_inputs((1, 3), 6)
    graph = graph_of(model)
    assert any(isinstance(step, Strided) for step in graph.steps) == late
    wanted = [each[3] for each in evaluated(model, inputs)]
    assert [each.tolist() for each in wanted[1:]] == [np.maximum(each, 0).tolist() for each in inputs[:-1]]
    assert wanted[0].tolist() == [[9, 9, 9]]
    x = stacked(graph, inputs)
    for found in (oracle.run(graph, x), Network(graph).run(x)):
        assert np.array_equal(found["logits"], np.concatenate(wanted))


def test_a_state_that_is_not_filled_with_one_byte_is_refused() -> None:
    with refused("unsupported", "states"):
        delayed(False, [1, 2, 3])


def test_graphs_with_wrong_states_are_refused() -> None:
    tensors = {name: Tensor(name, (2,), 0.5, 0) for name in "abcs"}
    steps = [View("s", "b"), Keep("a", "s"), Table("a", "c", LINE)]
    graph = Graph("g", tensors, steps, "a", {"y": "c"}, states={"s": 0})
    assert check(graph) is graph
    for changes, code in (
        ({"steps": [*steps[:2], replace(steps[2], source="b")]}, "missing"),
        ({"steps": [steps[0], Keep("s", "s"), steps[2]]}, "unknown"),
        ({"states": {"s": 200}}, "value"),
        ({"states": {"z": 0}}, "value"),
        ({"outputs": {"y": "b"}}, "value"),
    ):
        with refused(code):
            check(replace(graph, **changes))
