"""`tcuq device import`: what it prints and writes, and what it refuses in one line."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from make_tflite_models import FOLDER, MODELS, random_inputs

from tcuq.cli import main
from tcuq_device.graph import oracle
from tcuq_device.graph.storage import load_graph
from tcuq_device.tflite.importing import name_of
from tcuq_device.tflite.read import load_model
from tcuq_device.tflite.reference import evaluate

NET = FOLDER / "net.tflite"


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    status = main(["device", "import", *map(str, arguments)])
    said = capsys.readouterr()
    return status, said.out, said.err


def test_what_was_found_is_printed_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, NET, "-o", tmp_path / "net.npz")
    assert (status, err) == (0, "")
    assert out.splitlines()[0] == f"{NET} is now {tmp_path / 'net.npz'}, network net:"
    labels = [line.split()[0] for line in out.splitlines()[1:]]
    assert labels == ["operators", "MACs", "weights", "arena", "input", "probs", "features"]
    assert "1 ADD, 2 CONV_2D, 1 DEPTHWISE_CONV_2D, 1 FULLY_CONNECTED, 1 MEAN" in out
    graph = load_graph(tmp_path / "net.npz")
    assert graph.about["sha256"] == hashlib.sha256(NET.read_bytes()).hexdigest()
    assert graph.about["file"] == "net.tflite" and "2 CONV_2D" in str(graph.about["operators"])
    x = random_inputs(MODELS["net"][1], 3)
    model = load_model(NET)
    wanted = [evaluate(model, [each])[model.outputs[0]][0] for each in x]
    assert np.array_equal(oracle.run(graph, np.concatenate(x))["probs"], wanted)


def test_json_and_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "net.npz"
    status, out, _ = run(capsys, NET, "-o", target, "--json", "--features", load_model(NET).tensors[15].name)
    found = json.loads(out)
    assert status == 0
    assert found["outputs"]["features"]["size"] == load_model(NET).tensors[15].size
    assert found["notes"] == []
    assert found["arena"] > 0 and found["weights"] > 100
    status, out, _ = run(capsys, NET, "-o", target, "--json", "--features", "none")
    assert list(json.loads(out)["outputs"]) == ["probs"]


def test_notes_name_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys, FOLDER / "curves.tflite", "-o", tmp_path / "g.npz")
    assert status == 0
    assert "name that of the posteriors with --posteriors" in err and "name a tensor with --features" in err


def test_refusals_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cut = tmp_path / "cut.tflite"
    cut.write_bytes(NET.read_bytes()[:2000])
    text = tmp_path / "text.tflite"
    text.write_text("no model")
    good = tmp_path / "g.npz"
    cases = [
        ((tmp_path / "none.tflite", "-o", good), "none.tflite"),
        ((text, "-o", good), "not a TFLite file"),
        ((cut, "-o", good), "cut.tflite: "),
        ((NET, "-o", tmp_path / "g.txt"), "expected a name that ends in .npz"),
        ((NET, "-o", NET), "expected a name that ends in .npz"),
        ((NET, "-o", good, "--softmax"), "ends in a softmax already; leave out --softmax"),
        ((NET, "-o", good, "--features", "nothing"), "computes no tensor 'nothing'"),
        ((NET, "-o", good, "--posteriors", "nothing"), "has no output 'nothing'"),
    ]
    for arguments, message in cases:
        status, out, err = run(capsys, *arguments)
        assert (status, out) == (2, ""), arguments
        assert message in err and err.startswith("tcuq: ") and err.count("\n") == 1, err
    assert not good.exists()


@pytest.mark.parametrize("file", ["Résumé.tflite", "tcuq.tflite", "while.tflite", "__.tflite", "x" * 90])
def test_a_name_is_always_an_identifier(file: str) -> None:
    from tcuq_device.graph.check import _identifier

    _identifier("name", name_of(file))


def test_an_autoencoder_is_not_advised_a_softmax(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    advice = "For a monitor, add one (--softmax)"
    assert advice in run(capsys, dense(tmp_path / "m.tflite", 32, 10), "-o", tmp_path / "g.npz")[2]
    status, _, err = run(capsys, dense(tmp_path / "m.tflite", 32, 32), "-o", tmp_path / "g.npz")
    assert status == 0 and advice not in err
    assert "as many outputs as inputs, 32. A monitor needs a classifier: it cannot watch an autoenc" in err


def dense(path: Path, inputs: int, outputs: int) -> Path:
    """Write an int8 model of one fully connected layer."""
    schema = pytest.importorskip("ai_edge_litert.schema_py_generated", reason="writes its model with LiteRT")
    flatbuffers = pytest.importorskip("flatbuffers")
    weights = schema.BufferT()
    weights.data = np.ones(inputs * outputs, np.uint8)
    graph, code, step, model = schema.SubGraphT(), schema.OperatorCodeT(), schema.OperatorT(), schema.ModelT()
    graph.tensors = []
    for number, shape in enumerate(([1, inputs], [outputs, inputs], [1, outputs])):
        tensor, format = schema.TensorT(), schema.QuantizationParametersT()
        format.scale, format.zeroPoint = np.array([0.1], np.float32), np.array([0], np.int64)
        tensor.name, tensor.shape, tensor.type = (
            f"t{number}",
            np.array(shape, np.int32),
            schema.TensorType.INT8,
        )
        tensor.quantization, tensor.buffer = format, int(number == 1)
        graph.tensors.append(tensor)
    code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.FULLY_CONNECTED
    step.inputs, step.outputs = np.array([0, 1, -1], np.int32), np.array([2], np.int32)
    step.builtinOptions = schema.FullyConnectedOptionsT()
    step.builtinOptionsType = schema.BuiltinOptions.FullyConnectedOptions
    graph.operators, graph.inputs, graph.outputs = [step], np.array([0]), np.array([2])
    model.version, model.subgraphs, model.operatorCodes = 3, [graph], [code]
    model.buffers = [schema.BufferT(), weights]
    builder = flatbuffers.Builder(4096)
    builder.Finish(model.Pack(builder), b"TFL3")
    path.write_bytes(builder.Output())
    return path


def test_a_model_is_not_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "m.npz").write_bytes(b"x")
    place = str(tmp_path / "m.npz")
    assert main(["device", "import", place, "-o", place]) == 2
    assert f"GRAPH and MODEL are both {place!r}; one would be lost" in capsys.readouterr().err
