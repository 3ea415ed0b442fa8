"""`tcuq device import`: what it prints and writes, and what it refuses in one line."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from make_tflite_models import FOLDER, MODELS, random_inputs
from tflite_reference import evaluate

from tcuq.cli import main
from tcuq_device.graph import oracle
from tcuq_device.graph.storage import load_graph
from tcuq_device.tflite.read import load_model

NET = FOLDER / "net.tflite"


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    status = main(["device", "import", *map(str, arguments)])
    said = capsys.readouterr()
    return status, said.out, said.err


def test_what_was_found_is_printed_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, NET, "-o", tmp_path / "net.npz")
    assert (status, err) == (0, "")
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


def test_refusals_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cut = tmp_path / "cut.tflite"
    cut.write_bytes(NET.read_bytes()[:2000])
    text = tmp_path / "text.tflite"
    text.write_text("no model")
    good = tmp_path / "g.npz"
    cases: list[tuple[object, ...]] = [
        (tmp_path / "none.tflite", "-o", good),
        (text, "-o", good),
        (cut, "-o", good),
        (NET, "-o", tmp_path / "g.txt"),
        (NET, "-o", NET),
        (NET, "-o", good, "--softmax"),
        (NET, "-o", good, "--features", "nothing"),
        (NET, "-o", good, "--posteriors", "nothing"),
    ]
    for arguments in cases:
        status, out, err = run(capsys, *arguments)
        assert (status, out) == (2, ""), arguments
        assert err.startswith("tcuq: ") and err.count("\n") == 1, err
    assert not good.exists()


def test_a_model_is_not_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "m.npz").write_bytes(b"x")
    place = str(tmp_path / "m.npz")
    assert run(capsys, place, "-o", place)[0] == 2
    assert (tmp_path / "m.npz").read_bytes() == b"x"
