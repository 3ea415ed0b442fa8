"""`tcuq record`: what it prints, how it ends, and that a bad input leaves nothing behind."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from tiny_models import MODELS, NAMES, bars, write_onnx, write_pictures

import tcuq
from tcuq.cli import main
from tcuq.io import read_log
from tcuq.recording.model import RecordOptions

NET = "import numpy as np\ndef net(x):\n    return np.full((len(x), 3), 1 / 3), x.reshape(len(x), -1)\n"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a folder with data and a model of one's own as the working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "own_net", raising=False)
    x, y = bars(60, noise=0.9)
    np.savez("data.npz", x=x, y=y)
    Path("own_net.py").write_text(NET)
    return tmp_path


def refused(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    """Return the one line that a command says before it ends with status 2."""
    assert main(["record", *args]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and err.startswith("tcuq: ")
    return err


def test_a_tflite_model(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("ai_edge_litert", reason="TFLite: pip install ai-edge-litert")
    assert main(["record", str(MODELS / "int8.tflite"), "data.npz", "-o", "dev.npz"]) == 0
    out, err = capsys.readouterr()
    assert err == "" and out.startswith("dev.npz: 60 inferences, 3 classes, ")
    assert "posteriors: int8 (scale 1/256, zero point -128)\nfeatures: 8, int8 (scale 0.02" in out
    assert "% of the predictions are right" in out
    log = read_log("dev.npz")
    assert log.feature_zero_point == -128 and log.probs.dtype == np.int8


def test_options_reach_the_recording(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("onnxruntime", reason="ONNX: pip install onnxruntime")
    write_onnx(place / "m.onnx", softmax=False)
    Path("names.txt").write_text("\n".join(NAMES) + "\n")
    args = "m.onnx data.npz -o dev.npz --logits --names names.txt --input-range 0 0.5 --features sums --json"
    assert main(["record", *args.split()]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["inferences"], found["features"], found["names"]) == (60, 8, list(NAMES))
    x, y = bars(60, noise=0.9)
    wanted = tcuq.record("m.onnx", x / 2, y, logits=True, features="sums")
    log = read_log("dev.npz")
    np.testing.assert_allclose(log.probs, wanted.probs, atol=1e-6)
    np.testing.assert_allclose(log.features, wanted.features, atol=1e-6)


def test_a_folder_and_a_function_of_ones_own(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_pictures(place / "pictures")
    assert main(["record", "own_net:net", "pictures", "-o", "dev.npz", "--input-shape", "8,8,1"]) == 0
    assert capsys.readouterr().err.startswith(
        "tcuq: files are mixed, as a folder is not a stream; pass a stream "
    )
    assert read_log("dev.npz").names == NAMES
    more = ["--input-shape", "4,4", "--features", "none", "--quiet"]
    assert main(["record", "own_net:net", "pictures", "-o", "dev.npz", *more]) == 0
    assert capsys.readouterr() == ("", "") and read_log("dev.npz").features is None


def test_a_process_finds_modules_of_the_working_folder(place: Path) -> None:
    command = [sys.executable, "-m", "tcuq", "record", "own_net:net", "data.npz", "-o", "dev.npz"]
    environment = {**os.environ, "PYTHONSAFEPATH": "1", "PYTHONWARNINGS": "error"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert "features: 64, float32" in done.stdout


def test_errors_are_one_line_and_nothing_is_written(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("bare").mkdir()
    Path("raw.py").write_text("def net(x):\n    return x.reshape(len(x), -1)[:, :3] * 9 - 4\n")
    np.savez("far.npz", x=np.zeros((4, 2)), y=[0, 1, 2, 3])
    for args in (
        "m.tflite data.npz",
        "no_such:net data.npz",
        "own_net:net gone.npz",
        "own_net:net bare",
        "own_net:net far.npz",
        "raw:net data.npz",
        "own_net:net data.npz --labels y.csv",
        "own_net:net data.npz --input-range 1 0",
        "own_net:net data.npz --names a,b",
        "own_net:net data.npz --features h",
        "own_net:net data.npz --stream slow",
        "own_net:net data.npz --shifts fog",
        "own_net:net data.npz --shifts math:sqrt",
        "own_net:net data.npz --seed 3",
        "- data.npz",
    ):
        refused(capsys, *args.split(), "-o", "dev.npz")
        assert not Path("dev.npz").exists()
    refused(capsys, "own_net:net", "data.npz", "-o", "dev.csv")
    refused(capsys, "own_net:net", "data.npz", "-o", "data.npz")
    refused(capsys, "own_net:net", "data.npz", "-o", "gone/dev.npz")


def test_the_command_offers_what_python_offers() -> None:
    from tcuq.cli import build_parser

    actions = build_parser().commands["record"]._actions
    offered = {action.dest for action in actions} - {"help", "json", "quiet", "output", "data"}
    python = set(inspect.signature(tcuq.record).parameters) - {"x", "y", "progress", "options"}
    python |= {field.name for field in fields(RecordOptions)} - {"batch"}
    assert offered - {"labels"} == python


def test_errors_are_told_by_kind_of_shift(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("own_net.py").write_text("from tiny_models import bar_net as net\n")
    x, y = bars(600, noise=0.5)
    np.savez("data.npz", x=x, y=y)
    assert main(["record", "own_net:net", "data.npz", "-o", "dev.npz", "--shifts", "--json"]) == 0
    rates, log = json.loads(capsys.readouterr().out)["wrong_by_kind"], read_log("dev.npz")
    assert log.shift_names is not None and log.kinds is not None
    shown = sorted(set(log.kinds.tolist()) - {0})
    assert list(rates) == ["clean", *(log.shift_names[kind - 1] for kind in shown)] and len(shown) > 3
    assert rates["clean"] == log.errors()[log.kinds == 0].mean() < 0.1
    assert main(["record", "own_net:net", "data.npz", "-o", "dev.npz", "--shifts"]) == 0
    assert f"\nwrong: clean {100 * rates['clean']:.1f} %, " in capsys.readouterr().out
