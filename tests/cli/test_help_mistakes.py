"""Mistakes of a newcomer: each is answered with one line that says what to do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tcuq import Monitor, Params
from tcuq.cli import main
from tcuq.io import Decisions, write_decisions


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one file of each kind that a newcomer has."""
    monkeypatch.chdir(tmp_path)
    Params(classes=2).save("monitor.json")
    np.savez("dev.npz", probs=np.full((4, 2), 0.5))
    np.savez("data.npz", x=np.zeros((4, 2)), y=np.zeros(4, int))
    for name in ("model.tflite", "model.onnx", "model.pt", "model.h5"):
        Path(name).write_bytes(b"model")
    Path("pictures/cat").mkdir(parents=True)
    Path("empty").mkdir()
    Path("nohead.csv").write_text("0.9,0.1\n0.2,0.8\n")
    Path("semicolons.csv").write_text("p0;p1\n0,9;0,1\n")
    Path("logits.csv").write_text("p0,p1\n2.5,-1.0\n")
    for name in ("void.csv", "void.json", "net.py"):
        Path(name).write_text("")
    return tmp_path


RECORD = "make one with: tcuq record"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "required: COMMAND; for example: tcuq demo --out demo (see tcuq --help)"),
        ("fit", "required: LOG, -o/--output; for example: tcuq fit dev.csv -o monitor.json"),
        ("fleet", "required: ACTION; for example: tcuq fleet run monitor.json"),
        ("export monitor.json", "required: FOLDER; for example: tcuq export monitor.json firmware/"),
        ("fit model.tflite -o m.json", f"is a model, expected a log; {RECORD} model.tflite DATA -o dev.npz"),
        (
            "fit pictures -o m.json",
            f"is a folder, expected a log; name a file in it, or {RECORD} MODEL pictures",
        ),
        ("fit monitor.json -o m.json", "is a JSON file, expected a log; JSON lines end in .jsonl"),
        ("fit dev.npz -o m.json --clean model.onnx", "model.onnx: is a model, expected a log"),
        ("fit nohead.csv -o m.json", "line 1: the first line must name the columns: p0,p1,..."),
        ("fit semicolons.csv -o m.json", "separated by semicolons, expected commas"),
        ("fit logits.csv -o m.json", "are these logits? pass --logits"),
        ("fit void.csv -o m.json", "is empty, expected a header"),
        ("fit dev.npz -o m.json --budget 15%", "--budget: '15%', expected a number"),
        ("fit dev.npz -o m.json --own-looks 1.5", "--own-looks: '1.5', expected a whole number"),
        ("run monitor.json model.tflite", f"is a model, expected a log; {RECORD}"),
        ("run monitor.json pictures", "pictures: is a folder, expected a log"),
        ("run dev.npz monitor.json", "(did you swap PARAMS and INPUT?)"),
        (
            "report monitor.json -o r.html",
            "expected decisions, as tcuq run writes them; parameters are given",
        ),
        (
            "report dev.npz -o r.html --params dev.npz",
            "dev.npz: is no parameter file; make one with: tcuq fit",
        ),
        (
            "report pictures -o r.html",
            "is a folder, expected decisions, as tcuq run writes them; name a file in it",
        ),
        ("fit dev.npz -o dev.npz", "PARAMS and LOG are both 'dev.npz'; one would be lost"),
        ("fit nohead.csv -o ./dev.npz --clean dev.npz", "PARAMS and --clean are both './dev.npz'; one would"),
        ("report void.csv -o void.csv", "OUT.html and DECISIONS are both 'void.csv'; one would be lost"),
        ("report void.csv -o r.html", "void.csv: is empty, expected decisions, as `tcuq run` writes them"),
        ("run monitor.json dev.npz -o no/d.csv", "no/d.csv: folder no does not exist; make it first"),
        ("run empty dev.npz", "empty: is a folder, expected a parameter file; name a file in it"),
        ("run void.json dev.npz", "void.json: is empty, expected a parameter file, from tcuq fit"),
        ("export empty fw", "empty: is a folder, expected a parameter file; name a file in it"),
        ("inspect empty", "empty: is a folder, expected a parameter file or a saved state"),
        ("inspect dev.npz", "is neither a parameter file (JSON, from tcuq fit) nor a saved state (from tcuq"),
        ("fleet run dev.npz e.jsonl --folder f", "dev.npz: is no parameter file; make one with: tcuq fit"),
        ("record net.py data.npz -o dev2.npz", "net.py: is a Python file; pass net:NAME of a model in it"),
        ("run dev.npz dev.npz", "dev.npz: is no parameter file; make one with: tcuq fit dev.npz -o"),
        ("report dev.npz -o r.html", "This is a log; `tcuq run` makes decisions of it"),
        ("audit monitor.json dev.npz", "(did you swap DECISIONS and PARAMS?)"),
        ("audit dev.npz data.npz", "make one with: tcuq fit data.npz -o monitor.json"),
        (
            "export dev.npz fw",
            "dev.npz: is no parameter file; make one with: tcuq fit dev.npz -o monitor.json",
        ),
        ("export model.onnx fw", "make one with: tcuq start model.onnx DATA -o monitor/"),
        ("live dev.npz -", "dev.npz: is no parameter file"),
        (
            "record data.npz model.tflite -o dev2.npz",
            "MODEL is data.npz and DATA is model.tflite; did you swap",
        ),
        ("start pictures model.onnx -o out", "MODEL is pictures and DATA is model.onnx; did you swap them?"),
        (
            "record model.pt data.npz -o dev2.npz",
            "is a PyTorch file, expected module:name; load the model in",
        ),
        ("start model.h5 data.npz -o out", "is an old Keras file, expected .keras; save it with"),
        ("device cost model.tflite", "make one with: tcuq device import model.tflite -o model.npz"),
        ("device build monitor.json", "is a JSON file, expected a graph (.npz), from tcuq device import"),
        ("device emit monitor.json dev.npz -o fw", "(did you swap GRAPH and PARAMS?)"),
        ("fleet status empty", "empty holds no fleet, expected the folder of a Fleet (tcuq fleet run)"),
    ],
)
def test_a_mistake_is_answered_with_what_to_do(
    place: Path, line: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(place.rglob("*"))
    assert main(line.split()) == 2
    out, err = capsys.readouterr()
    assert not out and err.count("\n") == 1 and err.startswith("tcuq: ")
    assert said in err
    assert sorted(place.rglob("*")) == before


def test_parameters_under_an_odd_name_are_read(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("monitor.json").rename("monitor.npz")
    assert main(["export", "monitor.npz", "fw"]) == 0
    assert "fw/monitor.c" in capsys.readouterr().out


@pytest.mark.parametrize("kind", ["csv", "jsonl", "npz", "parquet"])
@pytest.mark.usefixtures("place")
def test_decisions_in_place_of_a_log(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    if kind == "parquet":
        pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    steps = Monitor(Params(classes=3)).run(np.full((4, 3), 1 / 3))
    write_decisions(f"decisions.{kind}", Decisions(steps))
    capsys.readouterr()
    for line in (f"run monitor.json decisions.{kind}", f"fit decisions.{kind} -o new.json"):
        assert main(line.split()) == 2
        err = capsys.readouterr().err
        assert err.count("\n") == 1 and "Is '" not in err
        assert (
            ". These are decisions, as `tcuq run` writes them; pass the log that they were made from" in err
        )
