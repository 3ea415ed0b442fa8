"""TFLite models as our own graphs: every tensor equals the reference arithmetic, bit for bit."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from device_programs import prepare, run_on_core
from make_tflite_models import FOLDER, MODELS, digest, random_inputs
from refusals import refused
from test_device_tflite_reference import rescaled
from tflite_graphs import assert_equal, evaluated, every_tensor, stacked
from tflite_reference import evaluate

from tcuq.log.logits import softmax
from tcuq.log.quantize import two_classes
from tcuq_device.graph import oracle
from tcuq_device.graph.model import products, weight_bytes
from tcuq_device.graph.steps import Conv
from tcuq_device.graph.storage import load_graph, save_graph
from tcuq_device.kernels.host import Network
from tcuq_device.tflite.convert import graph_of
from tcuq_device.tflite.edges import without_edges, without_shapes
from tcuq_device.tflite.model import Model, Operator, Options, Tensor
from tcuq_device.tflite.outputs import OutputChoice
from tcuq_device.tflite.read import load_model, read_model

STORED = json.loads((FOLDER / "answers.json").read_text())


@pytest.mark.parametrize("name", MODELS)
def test_every_tensor_is_what_litert_answered(name: str, tmp_path: Path) -> None:
    """From a graph that was saved and read, and from the reference arithmetic."""
    model = load_model(FOLDER / f"{name}.tflite")
    save_graph(tmp_path / "model.npz", graph_of(model, name))
    graph, inputs = load_graph(tmp_path / "model.npz"), random_inputs(MODELS[name][1], 1)
    wanted = evaluated(model, inputs)
    assert {str(number): digest(wanted[0][number]) for number in map(int, STORED[name])} == STORED[name]
    found = oracle.run(graph, stacked(graph, inputs), every=True)
    assert assert_equal(model, graph, found, wanted) == len(STORED[name]) >= 5


@pytest.mark.parametrize("name", MODELS)
def test_every_tensor_in_c_equals_the_reference(name: str) -> None:
    model = load_model(FOLDER / f"{name}.tflite")
    graph = graph_of(model, name)
    inputs = random_inputs(MODELS[name][1], 100)
    wanted = evaluated(model, inputs)
    x = stacked(graph, inputs)
    found = Network(every_tensor(graph)).run(x)
    assert_equal(model, graph, {key[5:]: values for key, values in found.items()}, wanted)
    # With memory that is used again, the outputs are the same.
    for use, values in Network(graph).run(x).items():
        assert np.array_equal(values, found[f"made_{graph.outputs[use]}"]), use


@pytest.mark.parametrize("name", MODELS)
def test_other_scales_equal_the_reference(name: str) -> None:
    """Factors above one and tiny ones, zero points at both ends, ranges of activations in the middle."""
    draw, shape = random.Random(name), MODELS[name][1]
    for number in range(12):
        model = read_model(rescaled((FOLDER / f"{name}.tflite").read_bytes(), draw))
        graph, inputs = graph_of(model, name), random_inputs(shape, 4)
        wanted, x = evaluated(model, inputs), stacked(graph, inputs)
        assert_equal(model, graph, oracle.run(graph, x, every=True), wanted)
        if number < 2:
            found = Network(every_tensor(graph)).run(x)
            assert_equal(model, graph, {key[5:]: values for key, values in found.items()}, wanted)


@pytest.mark.parametrize(
    ("core", "count"),
    [("m4", 3), *(pytest.param(core, 25, marks=pytest.mark.slow) for core in ("m4", "m7", "m0"))],
)
def test_every_tensor_on_a_core_equals_the_reference(core: str, count: int, tmp_path: Path) -> None:
    cases, wanted = [], []
    for name, (_, shape) in MODELS.items():
        model = load_model(FOLDER / f"{name}.tflite")
        # Names of their own: all models go into one file.
        graph = renamed(graph_of(model, name), f"{name}_")
        inputs = random_inputs(shape, count)
        runs = evaluated(model, inputs)
        lasting = every_tensor(graph).outputs
        made = [number for each in model.operators for number in each.outputs]
        numbers = {tensor: at for at in made if f"made_{(tensor := f'{name}_t{at}')}" in lasting}
        outputs = {f"made_{tensor}": tensor for tensor in numbers}
        cases.append((replace(graph, outputs=outputs), stacked(graph, inputs)))
        wanted += [run[number].tobytes().hex() for run in runs for number in numbers.values()]
        # And the outputs of the model alone.
        cases.append((renamed(graph_of(model, name), f"{name}_only_"), stacked(graph, inputs[:1])))
        only = cases[-1][0]
        last = oracle.run(only, cases[-1][1])
        wanted += [last[use].tobytes().hex() for use in only.outputs]
    prepare(cases, tmp_path)
    assert run_on_core(core, tmp_path, tmp_path).splitlines() == wanted


def renamed(graph: Any, prefix: str) -> Any:
    """Return a graph whose tensors have other names, all but the input."""

    def new(name: Any) -> Any:
        return f"{prefix}{name}" if name in graph.tensors and name != graph.input else name

    steps = []
    for step in graph.steps:
        fields = {
            key: tuple(map(new, value)) if key == "sources" else new(value)
            for key, value in vars(step).items()
            if isinstance(value, str) or key == "sources"
        }
        steps.append(replace(step, **fields))
    tensors = {new(name): replace(tensor, name=new(name)) for name, tensor in graph.tensors.items()}
    outputs = {use: new(name) for use, name in graph.outputs.items()}
    states = {new(name): value for name, value in graph.states.items()}
    return replace(graph, tensors=tensors, steps=steps, outputs=outputs, states=states)


# Outputs.


def tensor(shape: tuple[int, ...], scale: float = 0.5, zero: int = 0, data: Any = None) -> Tensor:
    return Tensor(f"t{shape}", shape, "int8", np.array([scale], np.float32), np.array([zero]), data=data)


def ended(code: str, classes: int) -> Model:
    """Return a fully connected layer of four inputs, and perhaps a curve behind it."""
    weights = np.random.default_rng(classes).integers(-90, 90, (classes, 4)).astype(np.int8)
    tensors = [tensor((1, 4)), tensor((classes, 4), 0.001, data=weights), tensor((1, classes), 0.1, 5)]
    operators = [Operator("FULLY_CONNECTED", (0, 1), (2,))]
    if code:
        tensors.append(tensor((1, classes), 1 / 256, -128))
        operators.append(Operator(code, (2,), (3,), number=1))
    return Model(tensors, operators, (0,), (len(tensors) - 1,))


X = np.random.default_rng(5).integers(-128, 128, (50, 4)).astype(np.int8)


def test_a_softmax_gives_posteriors_and_features() -> None:
    graph = graph_of(ended("SOFTMAX", 3))
    assert graph.outputs == {"probs": "t3", "features": "t0"}
    assert (products(graph), weight_bytes(graph)) == (12, 12)


def test_one_sigmoid_gives_posteriors_of_two_classes_as_a_log_has_them() -> None:
    graph = graph_of(ended("LOGISTIC", 1))
    found = oracle.run(graph, X, every=True)
    assert np.array_equal(found[graph.outputs["probs"]], two_classes(found["t3"]))
    assert np.array_equal(Network(graph).run(X)["probs"], found[graph.outputs["probs"]])
    assert len(np.unique(found["t3"])) > 10


def test_several_sigmoids_are_no_posteriors() -> None:
    asked = OutputChoice()
    assert list(graph_of(ended("LOGISTIC", 3), asked=asked).outputs) == ["output_1", "features"]
    assert asked.notes == ["outputs are 3 sigmoids, not posteriors: a monitor cannot read them"]


def test_a_softmax_can_be_added_to_logits() -> None:
    asked = OutputChoice()
    assert list(graph_of(ended("", 6), asked=asked).outputs) == ["logits", "features"]
    assert "no softmax" in asked.notes[0]
    graph = graph_of(ended("", 6), asked=OutputChoice(softmax=True))
    found = oracle.run(graph, X, every=True)
    assert np.array_equal(found[graph.outputs["probs"]], softmax(found["t2"], float(np.float32(0.1))))
    for model, code in ((ended("SOFTMAX", 6), "conflict"), (ended("", 1), "value")):
        with refused(code, "softmax"):
            graph_of(model, asked=OutputChoice(softmax=True))


def test_an_autoencoder_is_not_advised_a_softmax() -> None:
    same = alone("RELU", tensor((1, 32)), tensor((1, 32)))
    asked = OutputChoice()
    graph_of(same, asked=asked)
    assert "autoencoder" in asked.notes[0] and "add one" not in asked.notes[0]


def test_features_can_be_named_left_out_or_missing() -> None:
    model = ended("SOFTMAX", 6)
    assert graph_of(model, asked=OutputChoice(features="2")).outputs["features"] == "t2"
    assert graph_of(model, asked=OutputChoice(features="t(1, 4)")).outputs["features"] == "t0"
    assert "features" not in graph_of(model, asked=OutputChoice(features=False)).outputs
    for name in ("7", "1", "nothing"):  # 1 is a constant
        with refused("unknown", "features"):
            graph_of(model, asked=OutputChoice(features=name))
    wide = Model([tensor((1, 300)), tensor((1, 300))], [Operator("RELU", (0,), (1,))], (0,), (1,))
    asked = OutputChoice()
    assert list(graph_of(wide, asked=asked).outputs) == ["logits"]
    assert "no fully connected layer" in asked.notes[1]
    with refused("limit", "features"):
        graph_of(wide, asked=OutputChoice(features="0"))


def test_of_several_outputs_one_is_chosen() -> None:
    model = replace(ended("SOFTMAX", 6), outputs=(2, 3))
    assert graph_of(model).outputs == {"output_1": "t2", "probs": "t3", "features": "t0"}
    asked = OutputChoice(posteriors="t(1, 6)", softmax=True)
    assert list(graph_of(model, asked=asked).outputs) == ["probs", "output_2", "features"]
    with refused("unknown", "posteriors"):
        graph_of(model, asked=OutputChoice(posteriors="x"))
    none = OutputChoice()
    assert list(graph_of(replace(model, outputs=(2, 0)), asked=none).outputs) == [
        "output_1",
        "output_2",
        "features",
    ]
    assert "has 2 outputs; name that of the posteriors" in none.notes[0]


@pytest.mark.parametrize("name", ["net", "dense"])
def test_the_choice_is_that_of_a_recording(name: str) -> None:
    pytest.importorskip("ai_edge_litert")
    from tcuq.recording.tflite import TFLite

    path = FOLDER / f"{name}.tflite"
    recording = TFLite(path, None, None, False)
    graph = graph_of(load_model(path), name)
    inputs = random_inputs(MODELS[name][1], 10)
    rows = [recording(each) for each in inputs]
    found = Network(graph).run(stacked(graph, inputs))
    assert np.array_equal(found["probs"], np.concatenate([row.probs for row in rows]))
    assert np.array_equal(found["features"], np.concatenate([row.features for row in rows]))
    made = graph.tensors[graph.outputs["features"]]
    kept = recording.features_format
    assert kept is not None and (made.scale, made.zero) == (kept.scale, kept.zero_point)


# Shapes that converters seldom write, and refusals.


def alone(code: str, source: Any, target: Any, *more: Any, **options: Any) -> Model:
    numbers = tuple(range(1, 1 + len(more)))
    step = Operator(code, (0, *numbers), (1 + len(more),), Options(**options))
    return Model([source, *more, target], [step], (0,), (1 + len(more),))


def whole(values: Any) -> Tensor:
    data = np.array(values, np.int32)
    return Tensor("n", data.shape, "int32", np.empty(0, np.float32), np.empty(0, np.int64), data=data)


@pytest.mark.parametrize(
    "model",
    [
        alone("MEAN", tensor((1, 4, 5, 3)), tensor((1,), 0.3), whole([1, 2, 3])),
        alone("MEAN", tensor((1, 4, 5, 3)), tensor((1, 5, 1), 0.01, 7), whole([1, 3]), keep=False),
        alone("MEAN", tensor((1, 4, 5, 3)), tensor((1, 4, 5, 3), 0.7), whole([0]), keep=True),
        alone("RESHAPE", tensor((1, 4, 6)), tensor((4, 6))),
        alone("RESHAPE", tensor((1, 4, 6)), tensor((24,))),
        alone("ADD", tensor((1, 4, 6)), tensor((1, 4, 6), 0.9), tensor((), data=np.array(3, np.int8))),
        alone("MUL", tensor((1, 6)), tensor((1, 6), 0.9), tensor((6,), data=np.arange(6, dtype=np.int8))),
        alone("ADD", tensor((1, 6)), tensor((1, 4, 6), 1.5), tensor((4, 1), data=np.ones((4, 1), np.int8))),
        alone("PAD", tensor((1, 2, 6)), tensor((1, 2, 6)), whole([[0, 0], [0, 0], [0, 0]])),
        alone("CONCATENATION", tensor((1, 2, 6)), tensor((1, 2, 6)), axis=-1),
        alone(
            "CONCATENATION",
            tensor((1, 2, 3)),
            tensor((1, 4, 3)),
            tensor((1, 2, 3), data=np.ones((1, 2, 3), np.int8)),
            axis=1,
        ),
        alone("EXPAND_DIMS", tensor((1, 4)), tensor((1, 1, 4)), whole(1)),
        alone(
            "PADV2",
            tensor((1, 4)),
            tensor((1, 6)),
            whole([[0, 0], [1, 1]]),
            tensor((1,), data=np.array([-9], np.int8)),
        ),
        alone("SOFTMAX", tensor((1, 4, 3), 0.2), tensor((1, 4, 3), 1 / 256, -128)),
        alone("RESHAPE", tensor((1, 24)), tensor((1, 2, 2, 2, 3))),
        alone(
            "CONCATENATION",
            tensor((1, 3)),
            tensor((2, 3)),
            tensor((1, 3), data=np.ones((1, 3), np.int8)),
            axis=0,
        ),
        alone("TRANSPOSE", tensor((1, 7)), tensor((7, 1)), whole([1, 0])),
        alone("GATHER", tensor((1, 9)), tensor((1, 2, 2)), whole([[1, 3], [5, 7]]), flags=(-1, 0)),
        alone("REVERSE_V2", tensor((1, 9)), tensor((1, 9)), whole([1])),
    ],
)
def test_odd_shapes_equal_the_reference(model: Model) -> None:
    graph = graph_of(model)
    inputs = random_inputs(model.tensors[0].shape, 20)
    wanted = [evaluate(model, [each]) for each in inputs]
    x = stacked(graph, inputs)
    assert_equal(model, graph, oracle.run(graph, x, every=True), wanted)
    found = Network(every_tensor(graph)).run(x)
    assert_equal(model, graph, {key[5:]: values for key, values in found.items()}, wanted)


def channels(shape: tuple[int, ...], scales: Any, weights: np.ndarray) -> Tensor:
    """Return weights with a scale for each output channel."""
    zeros, axis = np.zeros(len(scales), np.int64), 3 if shape[0] == 1 else 0
    return Tensor("w", shape, "int8", np.array(scales, np.float32), zeros, axis, weights)


def convolved(code: str, source: Tensor, weights: Tensor, target: Tensor, **options: Any) -> Conv:
    """Return the one step of a convolution that gives what the reference gives."""
    model = alone(code, source, target, weights, **options)
    graph, inputs = graph_of(model), random_inputs(source.shape, 8)
    wanted = [evaluate(model, [each]) for each in inputs]
    assert_equal(model, graph, oracle.run(graph, stacked(graph, inputs), every=True), wanted)
    (step,) = graph.steps
    assert isinstance(step, Conv)
    return step


def test_groups_and_outputs_of_one_channel_are_convolutions() -> None:
    draw = np.random.default_rng(4)
    same = {"padding": "SAME", "activation": "RELU6", "multiplier": 8}
    for code, inputs, shape in (("CONV_2D", 4, (6, 3, 3, 2)), ("DEPTHWISE_CONV_2D", 1, (1, 3, 3, 8))):
        outputs = shape[0] if shape[0] > 1 else shape[3]
        data = draw.integers(-127, 128, shape).astype(np.int8)
        weights = channels(shape, 0.01 * (1 + draw.random(outputs)), data)
        source, target = tensor((1, 5, 5, inputs), 0.5, 7), tensor((1, 5, 5, outputs), 0.03, -100)
        step = convolved(code, source, weights, target, **same)
        assert (step.low, step.high) == (-100, 100)


def test_floats_at_the_edges_and_known_shapes_are_left_out() -> None:
    kinds = ("float32", "int8", "int8", "float32", "int32")
    tensors = [replace(tensor((1, 2)), dtype=kind) for kind in kinds]
    steps = [
        Operator("QUANTIZE", (0,), (1,)),
        Operator("RELU", (1,), (2,)),
        Operator("DEQUANTIZE", (2,), (3,)),
    ]
    inside = without_edges(Model(tensors, steps, (0,), (3,)))
    assert (inside.inputs, inside.outputs, [each.code for each in inside.operators]) == ((1,), (2,), ["RELU"])
    shaped = [Operator("SHAPE", (1,), (4,)), Operator("RESHAPE", (1, 4), (2,))]
    (only,) = without_shapes(Model(tensors, shaped, (1,), (2,))).operators
    assert (only.code, only.inputs) == ("RESHAPE", (1,))
    assert len(without_shapes(Model(tensors, shaped, (1,), (2, 4))).operators) == 2


JOINED = tensor((1, 3), data=np.ones((1, 3), np.int8))


@pytest.mark.parametrize(
    "model",
    [
        alone("RELU", tensor((2, 4)), tensor((2, 4))),
        alone("RELU", tensor((4,)), tensor((4,))),
        replace(alone("RELU", tensor((1, 4)), tensor((1, 4))), inputs=(0, 1)),
        alone("PAD", tensor((1, 3)), tensor((2, 3)), whole([[1, 0], [0, 0]])),
        alone("DIV", tensor((1, 3)), tensor((1, 3)), JOINED),
        alone("GATHER", tensor((1, 9)), tensor((1, 3)), whole([0, 1, 3]), flags=(1, 0)),
    ],
)
def test_what_a_graph_cannot_express_is_refused(model: Model) -> None:
    with refused("unsupported"):
        graph_of(model)
