"""Recordings of TFLite models: the bits of the reference kernels, scales and zero points."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chain_tflite import write_chain
from refusals import refuses
from stateful_tflite import write_stateful
from tiny_models import MODELS, bars

import tcuq
from tcuq.io import read_log, write_log

litert = pytest.importorskip(
    "ai_edge_litert.interpreter", reason="TFLite models need ai-edge-litert: pip install ai-edge-litert"
)
X, Y = bars(300, seed=3, noise=0.9)


def by_hand(name: str, x: Any, tensor: int) -> tuple[Any, Any]:
    """Return outputs and a tensor as the reference kernels give them."""
    runner = litert.Interpreter(
        str(MODELS / name),
        experimental_op_resolver_type=litert.OpResolverType.BUILTIN_REF,
        experimental_preserve_all_tensors=True,
    )
    runner.allocate_tensors()
    source, target = runner.get_input_details()[0], runner.get_output_details()[0]
    scale, zero = source["quantization"]
    found = []
    for each in x:
        if scale:
            each = np.clip(np.floor(each / np.float32(scale) + 0.5) + zero, -128, 127).astype(np.int8)
        runner.set_tensor(source["index"], each[None])
        runner.invoke()
        found.append((runner.get_tensor(target["index"])[0], runner.get_tensor(tensor)[0]))
    return np.stack([a for a, _ in found]), np.stack([b for _, b in found])


def test_int8_is_kept_bit_for_bit() -> None:
    log = tcuq.record(MODELS / "int8.tflite", X, Y)
    probs, hidden = by_hand("int8.tflite", X, 10)
    assert log.probs.dtype == log.features.dtype == np.int8  # type: ignore[union-attr]
    np.testing.assert_array_equal(log.probs, probs)
    np.testing.assert_array_equal(log.features, hidden)
    assert log.feature_zero_point == -128 and log.feature_scale == pytest.approx(0.02081, rel=1e-3)
    assert 0.5 < 1 - log.errors().mean() < 1 and log.notes == ()


def test_gauges_are_those_of_the_int8_input() -> None:
    source = litert.Interpreter(str(MODELS / "int8.tflite")).get_input_details()[0]
    scale, zero_point = source["quantization"]
    log, names = tcuq.record(MODELS / "int8.tflite", X, Y), tcuq.gauge_names(X.shape[1:])
    assert log.gauge_names == names and log.gauges is not None
    taken = tcuq.input_gauges(X, scale=scale, zero_point=zero_point)
    np.testing.assert_array_equal(log.gauges, taken)
    log = tcuq.record(MODELS / "float.tflite", X, Y, input_range=(0, 1))
    assert log.gauge_names == names and log.gauges is not None
    np.testing.assert_array_equal(log.gauges, tcuq.input_gauges(X, scale=1 / 255, zero_point=-128))
    odd = np.concatenate([X, X]) * np.float32(3.7) - np.float32(2.2)
    assert tcuq.record(MODELS / "float.tflite", odd).gauges is None  # nobody knows the range


def test_the_log_keeps_scale_and_zero_point_and_the_fit_reads_them(tmp_path: Path) -> None:
    x, y = bars(900, seed=4, noise=0.9)
    log = tcuq.record(MODELS / "int8.tflite", x, y)
    write_log(tmp_path / "dev.npz", log)
    again = read_log(tmp_path / "dev.npz")
    assert (again.feature_scale, again.feature_zero_point) == (log.feature_scale, -128)
    params = tcuq.fit(
        again, run_length=100, options=tcuq.FitOptions(explain=False, drop_unused=False), profile="standard"
    )
    assert params.features == 8 and params.feature_zero_point == -128
    assert params.feature_scale == log.feature_scale


def test_int8_input_goes_in_as_it_is() -> None:
    pixels = np.round(X * 255).astype(np.int16)
    log = tcuq.record(MODELS / "int8.tflite", (pixels - 128).astype(np.int8))
    for ends in (None, (0, 1)):
        scaled = tcuq.record(MODELS / "int8.tflite", pixels.astype(np.uint8), input_range=ends)
        np.testing.assert_array_equal(log.probs, scaled.probs)


def test_fast_kernels_say_that_bits_may_differ() -> None:
    fast = tcuq.record(MODELS / "int8.tflite", X, fast=True)
    slow = tcuq.record(MODELS / "int8.tflite", X)
    assert "may differ" in fast.notes[0]
    assert np.abs(fast.probs.astype(int) - slow.probs).max() <= 16


def test_logits_are_refused_and_int8_ones_become_the_softmax_of_the_exported_c() -> None:
    refuses("value", tcuq.record, MODELS / "logits.tflite", X)
    log = tcuq.record(MODELS / "logits.tflite", X, logits=True)
    raw, _ = by_hand("logits.tflite", X, 10)
    scale = litert.Interpreter(str(MODELS / "logits.tflite")).get_output_details()[0]["quantization"][0]
    np.testing.assert_array_equal(log.probs, tcuq.softmax(raw, scale=scale))


def test_a_sigmoid_becomes_two_classes() -> None:
    log = tcuq.record(MODELS / "sigmoid.tflite", X, (Y == 2).astype(int), names=["other", "right"])
    raw, _ = by_hand("sigmoid.tflite", X, 10)
    np.testing.assert_array_equal(log.probs[:, 1], raw[:, 0])
    assert log.classes == 2 and log.names == ("other", "right")


@pytest.mark.parametrize("by", ["number", "text", "name"])
def test_features_by_name_or_number(by: str) -> None:
    tensors = litert.Interpreter(str(MODELS / "int8.tflite")).get_tensor_details()
    name = next(each["name"] for each in tensors if each["index"] == 9)
    wanted: Any = {"number": 9, "text": "9", "name": name}[by]
    log = tcuq.record(MODELS / "int8.tflite", X[:5], features=wanted)
    np.testing.assert_array_equal(log.features, by_hand("int8.tflite", X[:5], 9)[1])


def test_features_can_be_left_out_and_unknown_ones_are_refused() -> None:
    assert tcuq.record(MODELS / "int8.tflite", X[:5], features=False).features is None
    refuses("unknown", tcuq.record, MODELS / "int8.tflite", X[:5], features="nothing")


def test_a_model_that_is_cut_short_is_one_line(tmp_path: Path) -> None:
    content = (MODELS / "int8.tflite").read_bytes()
    for size in (0, 10, 1000, len(content) - 600):
        (tmp_path / "cut.tflite").write_bytes(content[:size])
        message = r"^cut.tflite: is (no TFLite model .*truncated|empty, expected a TFLite model)"
        with pytest.raises(ValueError, match=message) as caught:
            tcuq.record(tmp_path / "cut.tflite", X[:5])
        assert "\n" not in str(caught.value)


def test_an_output_that_is_not_there() -> None:
    refuses("unknown", tcuq.record, MODELS / "int8.tflite", X, posteriors="p")


def test_data_of_another_scale_are_refused() -> None:
    with pytest.raises(ValueError, match=r"lie outside 0 to 0.9999.*; set `input_range` to the range that"):
        tcuq.record(MODELS / "int8.tflite", 255 * X)
    assert tcuq.record(MODELS / "int8.tflite", 255 * X, input_range=(0, 1)).notes == ()
    with pytest.raises(ValueError, match="choose another `input_range` than 0 to 255"):
        tcuq.record(MODELS / "int8.tflite", X, input_range=(0, 255))
    note = tcuq.record(MODELS / "int8.tflite", 1.3 * X).notes[0]
    assert "; convert them as the inputs of its training were: units, offset and scale if that is not" in note
    dark = np.concatenate([np.full((40, 8, 8, 1), 1.2, np.float32), X])  # a batch of its own, and few of all
    assert "12 % of the values lie outside" in tcuq.record(MODELS / "int8.tflite", dark).notes[0]


def test_data_in_a_tiny_part_of_the_range_are_refused() -> None:
    message = r"x: all values lie between .* and 0.0039\d*, and int8.tflite takes 0 to 0.9999: .*; convert"
    with pytest.raises(ValueError, match=message):
        tcuq.record(MODELS / "int8.tflite", X / 255)
    dim = tcuq.record(MODELS / "int8.tflite", X / 50)  # little light, and no other scale
    assert dim.notes == ()
    same = tcuq.record(MODELS / "int8.tflite", np.full_like(X, 0.001))  # no scale makes these vary
    assert same.notes == ()


def with_float_input(path: Path, source: Path = MODELS / "int8.tflite") -> Path:
    """Write an int8 model with a float input that the model quantizes itself."""
    import flatbuffers
    from ai_edge_litert import schema_py_generated as schema

    model = schema.ModelT.InitFromPackedBuf(source.read_bytes(), 0)
    graph = model.subgraphs[0]
    code, given, step = schema.OperatorCodeT(), schema.TensorT(), schema.OperatorT()
    code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.QUANTIZE
    given.name, given.shape, given.type = "floats", graph.tensors[graph.inputs[0]].shape, 0
    step.opcodeIndex, step.outputs = len(model.operatorCodes), np.array(graph.inputs, np.int32)
    step.inputs = np.array([len(graph.tensors)], np.int32)
    model.operatorCodes.append(code)
    graph.tensors.append(given)
    graph.operators.insert(0, step)
    graph.inputs = step.inputs
    for each in model.signatureDefs or []:
        each.inputs[0].tensorIndex = int(step.inputs[0])
    builder = flatbuffers.Builder(4096)
    builder.Finish(model.Pack(builder), b"TFL3")
    path.write_bytes(builder.Output())
    return path


def test_an_int8_model_with_a_float_input_has_a_range_as_well(tmp_path: Path) -> None:
    path, plain = with_float_input(tmp_path / "edge.tflite"), tcuq.record(MODELS / "int8.tflite", X)
    log = tcuq.record(path, X)
    np.testing.assert_array_equal(log.probs, plain.probs)
    assert log.notes == ()
    pixels = np.round(255 * X).astype(np.uint8)
    refuses("value", tcuq.record, path, pixels)
    assert tcuq.record(path, pixels, input_range=(0, 1)).notes == ()
    refuses("value", tcuq.record, path, X / 255)


def test_shifts_of_ours_are_cut_to_what_the_model_takes(tmp_path: Path) -> None:
    plain = write_chain(tmp_path / "row.tflite", 8, [("SOFTMAX", "int8")])  # it takes -12.8 to 12.7
    edge = with_float_input(tmp_path / "edge.tflite", plain)
    rng = np.random.default_rng(0)
    x = rng.uniform(-9, 12, (600, 8)).astype(np.float32)
    y = x.argmax(axis=1)
    for path in (plain, edge):
        log = tcuq.record(path, x, y, shifts=True)
        assert log.kinds is not None and log.shift_names is not None
        assert "saturated" in {log.shift_names[kind - 1] for kind in log.kinds if kind}
        assert not any("outside" in each for each in log.notes)
        with pytest.raises(ValueError, match=r"of the values lie outside -12\.8 to 12\.7"):
            tcuq.record(path, 9 * x, y, shifts=True)
        some = tcuq.record(path, 1.2 * x, y, shifts=True)
        share = 100 * np.mean(1.2 * x > 12.8)
        note = next(each for each in some.notes if "outside" in each)
        assert abs(float(note.split(" %")[0]) - share) < 2, "of the data, not of the shifts"


@pytest.mark.parametrize("resource", [False, True], ids=["variable tensor", "resource variable"])
@pytest.mark.parametrize("batch", [1, 3, 32])
def test_a_model_with_a_state_forgets_it_at_a_new_segment(tmp_path: Path, resource: bool, batch: int) -> None:
    path = write_stateful(tmp_path / "state.tflite", resource)
    x = np.tile(np.array([0.5, 0, 0], np.float32), (8, 1))
    np.savez(tmp_path / "data.npz", x=x, segments=[4, 4, 4, 7, 7, 7, 7, 9])
    found = tcuq.record(path, tmp_path / "data.npz", batch=batch).probs[:, 0]
    whole = tcuq.record(path, x, batch=batch).probs[:, 0]
    assert whole[0] < whole[1] and (resource or whole[1] == whole[2]), "the model does keep a state"
    np.testing.assert_array_equal(found, whole[[0, 1, 2, 0, 1, 2, 3, 0]])


def test_a_softmax_that_the_reference_kernels_abort_on_runs(tmp_path: Path) -> None:
    path = write_chain(tmp_path / "wide.tflite", 600, [("SOFTMAX", "int8")])
    log = tcuq.record(path, np.zeros((3, 600), np.int8))  # flat: the sum of exponentials is above 511
    assert log.classes == 600 and "a softmax of more than 511 classes" in log.notes[0]
