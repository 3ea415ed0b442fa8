# SPDX-License-Identifier: MIT
"""Convolutions and fully connected layers of TFLite models: our kernels give every byte of the reference."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from compilers import builds, need_compiler
from device_graphs import expected
from device_programs import WARNINGS, GraphCase, check, compile_with, prepare, run_here, run_on
from make_tflite_models import FOLDER, INPUTS, MODELS, answers, random_inputs
from test_device_kernels import CORES, arm
from test_device_tflite_reference import STORED, rescaled
from tiers import first_quick

from tcuq_device.graph import oracle
from tcuq_device.graph.model import Graph
from tcuq_device.graph.steps import Conv, Dense, Depthwise
from tcuq_device.kernels.host import Network
from tcuq_device.tflite.convert import graph_of
from tcuq_device.tflite.model import Model, Operator, Options, Tensor
from tcuq_device.tflite.read import load_model, read_model
from tcuq_device.tflite.reference import evaluate

CODES = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")
NAMES = ("conv", "depthwise", "dense")
MODES = {"O0": ["-O0"], "O3": ["-O3"], "Ofast": ["-Ofast"], "plain": ["-O2", "-DTCUQ_NN_PLAIN"]}


def operators_of(model: Model) -> list[Operator]:
    return [each for each in model.operators if each.code in CODES]


def alone(model: Model, operator: Operator) -> Graph:
    """Return one operator as a graph of its own."""
    graph = graph_of(Model(model.tensors, [operator], operator.inputs[:1], operator.outputs))
    (step,) = (each for each in graph.steps if each.target == f"t{operator.outputs[0]}")
    assert isinstance(step, (Conv, Depthwise, Dense))
    tensors = {name: graph.tensors[name] for name in (step.source, step.target)}
    return Graph("alone", tensors, [step], step.source, {"y": step.target})


def ends_of(
    runs: list[dict[int, np.ndarray]], graph: Graph, operator: Operator
) -> tuple[np.ndarray, np.ndarray]:
    """Return what an operator reads and what it gives, in all runs."""
    source, target = graph.tensors.values()
    x = np.stack([run[operator.inputs[0]].reshape(source.shape) for run in runs])
    return x, np.stack([run[operator.outputs[0]].reshape(target.shape) for run in runs])


def compared(model: Model, runs: list[dict[int, np.ndarray]], compiled: bool = False) -> list[type]:
    """Return the kinds of steps that gave what the runs say, in the oracle or in C."""
    kinds: list[type] = []
    for operator in operators_of(model):
        graph = alone(model, operator)
        x, wanted = ends_of(runs, graph, operator)
        found = Network(graph).run(x) if compiled else oracle.run(graph, x)
        assert np.array_equal(found["y"], wanted), operator
        kinds.append(type(graph.steps[0]))
    return kinds


@pytest.mark.parametrize("name", NAMES)
def test_every_byte_equals_what_litert_said(name: str) -> None:
    runs: list[dict[int, np.ndarray]] = [{} for _ in range(INPUTS)]
    model = load_model(FOLDER / f"{name}.tflite")
    for at, x in enumerate(random_inputs(MODELS[name][1], INPUTS)):
        runs[at][model.inputs[0]] = x
    with np.load(STORED) as stored:
        for key in stored.files:
            which, at, number = key.split(".")
            if which == name:
                runs[int(at)][int(number)] = stored[key]
    assert len(compared(model, runs)) >= 5


@pytest.mark.parametrize("name", NAMES)
def test_every_byte_equals_the_reference(name: str) -> None:
    model = load_model(FOLDER / f"{name}.tflite")
    runs = [evaluate(model, [x]) for x in random_inputs(MODELS[name][1], 100)]
    kinds = compared(model, runs)
    assert set(kinds) == {{"conv": Conv, "depthwise": Depthwise, "dense": Dense}[name]}
    compared(model, runs[:20], compiled=True)


@pytest.mark.parametrize("name", NAMES)
def test_other_scales_equal_the_reference(name: str) -> None:
    """Factors above one and tiny ones, zero points at both ends, ranges of activations in the middle."""
    draw = random.Random(name)
    clamped = general = 0
    for _ in range(40):
        model = read_model(rescaled((FOLDER / f"{name}.tflite").read_bytes(), draw))
        compared(model, [evaluate(model, [x]) for x in random_inputs(MODELS[name][1], 4)])
        for operator in operators_of(model):
            step = alone(model, operator).steps[0]
            assert isinstance(step, (Conv, Depthwise, Dense)) and step.shift is not None
            clamped += (step.low, step.high) != (-128, 127)
            general += int(step.shift.max()) > -2
    assert clamped > 10 and general > 5


@pytest.mark.parametrize("name", NAMES)
def test_other_scales_equal_litert(name: str) -> None:
    pytest.importorskip("ai_edge_litert")
    draw = random.Random(f"litert {name}")
    shape = MODELS[name][1]
    for _ in range(10):
        content = rescaled((FOLDER / f"{name}.tflite").read_bytes(), draw)
        model, inputs = read_model(content), random_inputs(shape, 8)
        runs = [
            {**found, model.inputs[0]: x} for x, found in zip(inputs, answers(content, inputs), strict=True)
        ]
        compared(model, runs)


# In C, everywhere.


@cache
def cases() -> list[GraphCase]:
    """Each operator by itself, on what those before it give for two inputs; some with other scales."""
    found = []
    for name in NAMES:
        content = (FOLDER / f"{name}.tflite").read_bytes()
        for variant in range(3):
            draw = random.Random(variant)
            model = read_model(content if variant == 0 else rescaled(content, draw))
            runs = [evaluate(model, [x]) for x in random_inputs(MODELS[name][1], 2)]
            for operator in operators_of(model):
                graph = alone(model, operator)
                x, wanted = ends_of(runs, graph, operator)
                assert np.array_equal(expected(graph, x)["y"], wanted)
                found.append((renamed(graph, f"{name}{variant}_"), x))
    return found


def renamed(graph: Graph, prefix: str) -> Graph:
    """Return a graph whose tensors have other names, so that several fit into one C file."""
    names = {name: f"{prefix}{name}" for name in graph.tensors}
    tensors = {
        names[t.name]: type(t)(names[t.name], t.shape, t.scale, t.zero) for t in graph.tensors.values()
    }
    (step,) = graph.steps
    moved = type(step)(**{**vars(step), "source": names[step.source], "target": names[step.target]})
    outputs = {use: names[name] for use, name in graph.outputs.items()}
    return Graph(graph.name, tensors, [moved], names[graph.input], outputs)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("operators")
    prepare(cases(), folder)
    return folder


@pytest.mark.parametrize(("compiler", "mode"), builds(MODES))
def test_every_byte_here(compiler: str, mode: str, written: Path, tmp_path: Path) -> None:
    need_compiler(compiler, mode, tmp_path)
    command = [compiler, "-std=c99", *WARNINGS, *MODES[mode]]
    check(run_here(compile_with(command, written, tmp_path / "program")), cases())


@pytest.mark.parametrize("core", first_quick(["m4", "m0", "m7"]))
def test_every_byte_on_a_board(core: str, written: Path, tmp_path: Path) -> None:
    check(run_on(CORES[core][0], arm(core, written, tmp_path / "program")), cases())


# What no converter here writes.


def tensor(
    shape: tuple[int, ...], scale: list[float], zero: int = 0, data: np.ndarray | None = None
) -> Tensor:
    zeros = np.full(len(scale), zero if data is None else 0)
    axis = 3 if len(shape) == 4 and shape[0] == 1 else 0
    return Tensor("t", shape, "int8", np.array(scale, np.float32), zeros, axis, data)


def test_groups_and_outputs_of_one_channel_are_convolutions() -> None:
    draw = np.random.default_rng(4)
    grouped = draw.integers(-127, 128, (6, 3, 3, 2)).astype(np.int8)
    spread = draw.integers(-127, 128, (1, 3, 3, 8)).astype(np.int8)
    same = Options(padding="SAME", activation="RELU6", multiplier=8)
    models = [
        ((1, 5, 5, 4), grouped, (1, 5, 5, 6), Operator("CONV_2D", (0, 1), (2,), same)),
        ((1, 5, 5, 1), spread, (1, 5, 5, 8), Operator("DEPTHWISE_CONV_2D", (0, 1), (2,), same)),
    ]
    for shape, weights, made, operator in models:
        scales = (0.01 * (1 + draw.random(made[3]))).tolist()
        source, target = tensor(shape, [0.5], 7), tensor(made, [0.03], -100)
        model = Model([source, tensor(weights.shape, scales, data=weights), target], [operator], (0,), (2,))
        runs = [evaluate(model, [x]) for x in random_inputs(shape, 8)]
        assert compared(model, runs) == [Conv]
        low, high = (getattr(alone(model, operator).steps[0], end) for end in ("low", "high"))
        assert (low, high) == (-100, 100)


def test_a_channel_without_a_factor_takes_the_fast_way() -> None:
    weights = np.full((2, 1, 1, 2), 9, np.int8)
    tensors = [tensor((1, 4, 4, 2), [0.5]), tensor(weights.shape, [0.2, 1e-12], data=weights)]
    operator = Operator("CONV_2D", (0, 1), (2,))
    model = Model([*tensors, tensor((1, 4, 4, 2), [0.5], 11)], [operator], (0,), (2,))
    runs = [evaluate(model, [x]) for x in random_inputs((1, 4, 4, 2), 8)]
    compared(model, runs)
    assert (runs[0][2][..., 1] == 11).all()
    step = alone(model, operator).steps[0]
    assert isinstance(step, Conv) and step.shift is not None
    assert step.multiplier.min() >= 2**30 and step.shift.tolist()[1] == -31
