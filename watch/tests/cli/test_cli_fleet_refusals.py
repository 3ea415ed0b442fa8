# SPDX-License-Identifier: MIT
"""`tcuq fleet` with options and files that cannot be right, on a disk that fails, and in a terminal."""

from __future__ import annotations

import errno
import json
import signal
import threading
from pathlib import Path

import pytest
from refusals import refused as refused_with

from tcuq import Params
from tcuq.cli import main
from tcuq_watch.cli import fleet as command
from tcuq_watch.cli.fleet_folder import ended_by_signals
from tcuq_watch.cli.fleet_labels import read_labels, told_text

DAY = 86_400
START = 20_000 * DAY


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Params(classes=3, warmup=0, names=("x", "y", "z")).save("m.json")
    rows = [
        {"device": f"d{d}", "seq": s, "time": START + DAY * s + d, "probs": [0.5, 0.25, 0.25]}
        for s in range(4)
        for d in range(3)
    ]
    Path("e.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def run(*args: str) -> int:
    return main(["fleet", *args])


RUN = ("run", "m.json", "e.jsonl", "--folder", "f")


def refused(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    capsys.readouterr()
    assert run(*args) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "this is a bug" not in said
    return said


def test_options_that_cannot_be(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for text in ("-1", "7", "x", "5 PB"):
        assert f"--keep is {text!r}" in refused(capsys, *RUN, "--keep", text)
    assert "--keep is 0, expected a size" in refused(capsys, *RUN, "--keep", "0", "--out", "mqtt://h/t")
    Path("none.txt").write_text("\n \n")
    assert "none.txt: names no device, expected one a line" in refused(capsys, *RUN, "--closed", "none.txt")
    assert "PARAMS is '=m.json', expected NAME=FILE" in refused(capsys, "run", "=m.json", *RUN[2:])
    assert run(*RUN, "--quiet", "--flush", "--labels-per-day", "5") == 0
    assert "no device is called 'nobody'" in refused(capsys, "status", "f", "--device", "nobody")
    assert "--healthy is now then, expected two times" in refused(
        capsys, "status", "f", "--healthy", "now", "then"
    )
    assert "--tell takes in labels; --day and -o belong to picking" in refused(
        capsys, "labels", "f", "--tell", "l.csv", "--day", "2026-01-01"
    )
    assert run("status", "f", "--quiet") == 0 and capsys.readouterr().out == ""


def test_labels_are_asked_for_and_told(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*RUN, "--quiet", "--flush", "--labels-per-day", "5") == 0
    day = "2024-10-07"  # day 20,003 since 1970
    assert run("labels", "f", "--day", day, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["day"] == day and found["rows"]
    assert run("labels", "f", "--day", day) == 0
    text = capsys.readouterr().out
    assert text.startswith("device,version,boot,seq,") and text.count("\n") == 1 + len(found["rows"])
    lines = text.splitlines()
    Path("l.csv").write_text("\n".join([lines[0], *(line + "x" for line in lines[1:])]) + "\n")
    assert run("labels", "f", "--tell", "l.csv") == 0
    assert f"took {len(found['rows'])} labels; accuracy of accepted answers" in capsys.readouterr().out
    assert told_text({"told": 0, "bad": 2, "accuracy": {"estimate": None}}) == "took 0 labels, 2 are no class"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("device,boot\n", "missing"),
        ("device,version,boot,seq,label\na,v,x,1,2\n", "value"),
        ("device,version,boot,seq,label\na,v\n", "value"),
        (f"device,version,boot,seq,label\n{'a' * 200_000},v,0,1,2\n", "damaged"),
    ],
)
def test_files_of_labels_that_cannot_be_right(text: str, code: str, tmp_path: Path) -> None:
    (tmp_path / "l.csv").write_text(text)
    with refused_with(code):
        read_labels(tmp_path / "l.csv")


def test_another_source_is_noted_and_what_is_held_stays_held(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*RUN) == 0
    Path("more.jsonl").write_text(Path("e.jsonl").read_text())
    capsys.readouterr()
    assert run("run", "m.json", "more.jsonl", "--folder", "f") == 0
    assert "more.jsonl: the fleet had read another source before, so this was read" in capsys.readouterr().err


def test_a_disk_that_fails_says_that_nothing_is_lost() -> None:
    with refused_with("failed"), command._disk():
        raise OSError(errno.ENOSPC, "No space left; call commit() again")
    with pytest.raises(OSError, match="No space left: 'out'"), command._disk():
        raise OSError(errno.ENOSPC, "No space left", "out")


def test_the_second_signal_ends_at_once_and_other_threads_have_none() -> None:
    stopped: list[int] = []

    def stop() -> None:
        stopped.append(1)

    with ended_by_signals(stop):
        signal.raise_signal(signal.SIGINT)
        assert stopped == [1]
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    entered = []

    def elsewhere() -> None:
        with ended_by_signals(stop):
            entered.append(True)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert entered and stopped == [1]
