"""What messages say, word for word: the one place where wording is checked. Elsewhere codes are."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tcuq import FitOptions, Log, Monitor, Params, fit, record
from tcuq.cli import main

COMMANDS = """
$ tcuq fit
the following arguments are required: LOG, -o/--output; for example: tcuq fit dev.csv -o monitor.json \
--budget 0.1 (see tcuq fit --help)
$ tcuq fit dev.npz -o m.json --buget 0.1
unrecognized arguments: --buget 0.1; did you mean --budget? (see tcuq fit --help)
$ tcuq fit dev.npz -o m.json --budget 1.5
--budget is 1.5, expected 0 to 1
$ tcuq fit model.tflite -o m.json
model.tflite: is a model, expected a log; make one with: tcuq record model.tflite DATA -o dev.npz
$ tcuq fit pictures -o m.json
pictures: is a folder, expected a log; name a file in it, or make one with: tcuq record MODEL pictures -o \
dev.npz
$ tcuq fit nohead.csv -o m.json
nohead.csv, line 1: the first line must name the columns: p0,p1,...
$ tcuq fit logits.csv -o m.json
logits.csv, line 2: p0 is 2.5, expected 0 to 1 (are these logits? pass --logits)
$ tcuq fit void.csv -o m.json
void.csv: is empty, expected a header with p0, p1, ..., f0, f1, ..., label, segment, shifted, step
$ tcuq fit dev.npz -o dev.npz
PARAMS and LOG are both 'dev.npz'; one would be lost
$ tcuq run monitor.json dev.npz -o no/d.csv
no/d.csv: folder no does not exist; make it first
$ tcuq run dev.npz monitor.json
dev.npz: not a parameter file (not text) (did you swap PARAMS and INPUT?)
$ tcuq run dev.npz dev.npz
dev.npz: is not a parameter file; make one with: tcuq fit dev.npz -o monitor.json
$ tcuq run monitor.json dev.txt
dev.txt: extension '.txt' is unknown, expected .csv, .npz, .jsonl, .ndjson, .parquet, .arrow or .feather
$ tcuq run - dev.npz
PARAMS is '-'; a file name is needed
$ tcuq run monitor.json dev.npz --logits-scale 1
--logits-scale is given without --logits; pass both for int8 logits
$ tcuq report dev.npz -o r.html
dev.npz: array 'step' is missing, expected step, prediction, answer, risk, threshold, uncertainty. This \
is a log; `tcuq run` makes decisions of it
$ tcuq audit dev.npz data.npz
data.npz: is not a parameter file; make one with: tcuq fit data.npz -o monitor.json
$ tcuq export model.onnx fw
model.onnx: is a model, expected a parameter file; make one with: tcuq start model.onnx DATA -o monitor/
$ tcuq export monitor.json fw --name while
name is 'while', a word that C or C++ uses already; choose another one
$ tcuq export monitor.json data.npz
data.npz: is a file, expected a folder; name another one
$ tcuq inspect dev.npz
dev.npz: is neither a parameter file (JSON, from tcuq fit) nor a saved state (from tcuq run --state-out)
$ tcuq record data.npz model.tflite -o log.npz
MODEL is data.npz and DATA is model.tflite; did you swap them?
$ tcuq record model.pt data.npz -o log.npz
model.pt: is a PyTorch file, expected module:name; load the model in a Python file, such as net = ... in \
my_model.py, and pass my_model:net
$ tcuq record math:sqroot data.npz -o log.npz
MODEL is math:sqroot; the module math has no 'sqroot'
$ tcuq live dev.npz -
dev.npz: is not a parameter file; make one with: tcuq fit dev.npz -o monitor.json
$ tcuq live monitor.json /dev/nope
/dev/nope: no such file; create it first, or name a serial port, tcp://, tcp-listen:// or mqtt://
$ tcuq fleet status empty
empty holds no fleet, expected the folder of a Fleet (tcuq fleet run)
$ tcuq fleet run monitor.json missing.jsonl --folder f
missing.jsonl: no such file; create it first, or name a serial port, tcp://, tcp-listen:// or mqtt://
$ tcuq device cost model.tflite
model.tflite: is a model, expected a graph; make one with: tcuq device import model.tflite -o model.npz
$ tcuq device emit monitor.json dev.npz -o fw
monitor.json: is a JSON file, expected a graph (.npz), from tcuq device import (did you swap GRAPH and \
PARAMS?)
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one file of each kind that a newcomer has."""
    folder = tmp_path_factory.mktemp("messages")
    Params(classes=2).save(folder / "monitor.json")
    np.savez(folder / "dev.npz", probs=np.full((4, 2), 0.5))
    np.savez(folder / "data.npz", x=np.zeros((4, 2)), y=np.zeros(4, int))
    for name in ("model.tflite", "model.onnx", "model.pt"):
        (folder / name).write_bytes(b"model")
    (folder / "pictures" / "cat").mkdir(parents=True)
    (folder / "empty").mkdir()
    for name, text in (
        ("nohead", "0.9,0.1,cat\n0.2,0.8,dog\n"),
        ("logits", "p0,p1\n2.5,-1.0\n"),
        ("void", ""),
    ):
        (folder / f"{name}.csv").write_text(text)
    return folder


@pytest.mark.parametrize("case", COMMANDS.strip().removeprefix("$ ").split("\n$ "))
def test_commands(
    place: Path, case: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(place)
    line, message = case.split("\n")
    _, *words = line.split()
    before = sorted(place.rglob("*"))
    assert main(words) == 2
    assert capsys.readouterr() == ("", f"tcuq: {message}\n")
    assert sorted(os.fspath(each) for each in place.rglob("*")) == [os.fspath(each) for each in before]


HALVES = np.full((60, 2), 0.5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Params(classes=1), "classes is 1, expected 2 to 1000"),
        (lambda: Monitor(Params(classes=3)).step([1, 0]), "probs has 2 values per step; the params say 3"),
        (
            lambda: Monitor(Params(classes=2)).step([0.9, 0.9]),
            "probs sum to 1.8, expected 1.00 ± 0.02 (are these logits? apply tcuq.softmax first)",
        ),
        (lambda: Log(HALVES, labels=np.zeros(59, int)), "labels has 59 entries, probs has 60 rows"),
        (
            lambda: fit(Log(HALVES), options=FitOptions(max_error=2.0)),
            "max_error is 2, expected 0.001 to 0.999",
        ),
        (
            lambda: record(lambda x: x[:1], np.zeros((3, 2))),
            "<lambda>: posteriors have shape (1, 2) for 3 inputs, expected one row each",
        ),
    ],
)
def test_calls(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError) as caught:
        call()
    assert str(caught.value) == message
