"""`tcuq fleet` from events to a page, with the real fleet behind it."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np
import pytest
from live_runs import kept
from refusals import refused
from report_pages import check_whole
from source_kinds import until

from tcuq import Monitor, Params
from tcuq.cli import main
from tcuq_watch.cli.fleet_labels import asked_text, read_labels
from tcuq_watch.cli.shared import ended_by_signals
from tcuq_watch.fleet import Fleet
from tcuq_watch.fleet.store import Store

DAY = 86_400
START = 20_000 * DAY


def traffic(devices: int, steps: int, seed: int = 0) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.full(3, 0.5), (steps, devices)).round(4)
    return [
        {"device": f"d{d}", "boot": 0, "seq": s, "time": START + 60.0 * s + d, "probs": probs[s, d].tolist()}
        for s in range(steps)
        for d in range(devices)
    ]


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Params(classes=3, warmup=0, reference=0.3, names=("x", "y", "z")).save("monitor.json")
    write(tmp_path / "events.jsonl", traffic(5, 40))
    return tmp_path


def run(*args: str) -> int:
    return main(["fleet", *args])


def said(capsys: pytest.CaptureFixture[str], *args: str) -> Any:
    assert run(*args, "--json") == 0
    return json.loads(capsys.readouterr().out)


def test_from_events_to_a_page(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = said(capsys, *RUN, "--batch", "33")
    assert (found["events"], found["decisions"], found["devices"]) == (200, 200, 5)
    assert said(capsys, *RUN)["events"] == 0  # the position is at the end
    decided = kept(work / "fleet")
    assert decided is not None and len(decided) == 200
    params = Params.load("monitor.json")
    for device in range(5):
        probs = [row["probs"] for row in traffic(5, 40) if row["device"] == f"d{device}"]
        mine = decided.steps["risk"][decided.devices == f"d{device}"]
        assert mine.tolist() == Monitor(params).run(probs)["risk"].tolist()
    assert said(capsys, "status", "fleet")["devices"] == 5
    assert run("status", "fleet") == 0
    assert "5 devices, 0 silent; 200 steps" in capsys.readouterr().out
    assert run("status", "fleet", "--device", "d3") == 0
    assert "d3, version" in capsys.readouterr().out
    assert run("page", "fleet", "-o", "fleet.html") == 0
    page = (work / "fleet.html").read_text()
    check_whole(page)
    assert "<title>fleet" in page and page.count('class="strip"') == 5


RUN = ("run", "monitor.json", "events.jsonl", "--folder", "fleet")
ERRORS = [
    (["run", "monitor.json", "nowhere.jsonl", "--folder", "fleet"], "no such file"),
    (["run", "a=monitor.json", "a=monitor.json", "events.jsonl", "--folder", "fleet"], "given twice"),
    (["run", "=monitor.json", "events.jsonl", "--folder", "fleet"], "expected NAME=FILE"),
    ([*RUN, "--batch", "0"], "--batch is 0"),
    ([*RUN, "--keep", "5 PB"], "--keep is '5 PB'"),
    ([*RUN, "--keep", "0", "--out", "mqtt://h/t"], "--keep is 0, expected a size"),
    ([*RUN, "--out", "out"], "fleet/decisions has all"),
    ([*RUN, "--closed", os.devnull], "names no device"),
    (["status", "there", "--device", "nobody"], "no device is called 'nobody'"),
    (["status", "there", "--healthy", "now", "then"], "--healthy is now then, expected two times"),
    (["labels", "there"], "--labels-per-day"),
    (["labels", "there", "--tell", "l.csv", "--day", "2026-01-01"], "leave them out"),
    (["labels", "there", "--day", "yesterday"], "--day is 'yesterday'"),
    (["page", "nowhere", "--serve"], "nowhere"),
    (["page", "there"], "one of -o OUT.html and --serve"),
]


@pytest.mark.parametrize(("args", "message"), ERRORS)
def test_errors_are_one_line(
    work: Path, args: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Fleet(Params.load("monitor.json"), "there").close()
    assert run(*args) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and message in err and "bug" not in err, err


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
    with refused(code):
        read_labels(tmp_path / "l.csv")


def test_names_that_a_table_program_would_run_come_back_as_they_were(tmp_path: Path) -> None:
    names = ("=1+cmd|' /C calc'!A0", "-1+cmd|x", "+1", "@SUM(1)", "'=x", "'n", "n", '="a,b"')
    about = {"boot": 0, "seq": 1, "risk": 0.5}
    text = asked_text([{"device": name, "version": name, "answer_name": name, **about} for name in names])
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    shown = [row[key] for row in rows for key in ("device", "version", "answer_name")]
    assert not any(name.startswith(("=", "+", "-", "@", "\t", "\r")) for name in shown)
    fill_in(tmp_path / "l.csv", [{**row, "label": row["answer_name"]} for row in rows])
    told = read_labels(tmp_path / "l.csv")
    assert [(row["device"], row["version"], row["label"]) for row in told] == [(name,) * 3 for name in names]


def fill_in(path: Path, rows: list[dict[str, Any]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def started(work: Path, *args: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tcuq", "fleet", *args]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=work, stdout=pipe, stderr=pipe, text=True)


def steps_of(capsys: pytest.CaptureFixture[str]) -> int:
    if run("status", "fleet", "--json") != 0:
        capsys.readouterr()
        return -1
    return int(json.loads(capsys.readouterr().out)["steps"])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_run_after_its_commit(
    work: Path, capsys: pytest.CaptureFixture[str], number: signal.Signals
) -> None:
    process = started(work, *RUN, "--follow")
    try:
        until(lambda: steps_of(capsys) == 200)
        assert run(*RUN) == 2  # one writer at a time
        assert capsys.readouterr().err.endswith("tcuq fleet status fleet\n")
        process.send_signal(number)
        out, err = process.communicate(timeout=20)
    finally:
        process.kill()
    assert process.returncode == 0, err
    assert out.startswith("took 200 events") and out.count("\n") == 1
    assert err.startswith("tcuq: waiting for events of events.jsonl; ") and err.count("\n") == 1


def test_labels_are_asked_for_and_told_while_the_fleet_runs(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    process = started(work, *RUN, "--labels-per-day", "1000", "--follow")
    try:
        until(lambda: steps_of(capsys) == 200)
        assert run("labels", "fleet", "-o", "none.csv") == 0
        assert "nothing to label of" in capsys.readouterr().err  # the day is not over
        assert run("labels", "fleet", "--day", "2024-10-04", "-o", "ask.csv") == 0
        asked = list(csv.DictReader((work / "ask.csv").read_text().splitlines()))
        assert len(asked) >= 4 and {row["answer_name"] for row in asked} <= {"x", "y", "z"}
        for place, row in enumerate(asked):
            row["label"] = ("x", "2", "", "nonsense")[min(place, 3)]
        fill_in(work / "told.csv", asked)
        capsys.readouterr()
        found = said(capsys, "labels", "fleet", "--tell", "told.csv")
        counts = {"told": 2, "unlabeled": 1, "bad": len(asked) - 3, "unknown": 0}
        assert {name: found[name] for name in counts} == counts
    finally:
        process.terminate()
        process.communicate(timeout=20)
    # Not running: the same rows once more, from the folder.
    assert run("labels", "fleet", "--day", "2024-10-04", "-o", "again.csv") == 0
    assert (work / "again.csv").read_text() == (work / "ask.csv").read_text()
    capsys.readouterr()
    assert said(capsys, "status", "fleet")["labels"]["told"] == 2
    assert run("labels", "fleet", "--tell", "told.csv") == 0
    assert "took 2 labels, 1 rows had none" in (text := capsys.readouterr().out)
    assert "; accuracy of accepted answers " in text


def test_a_served_page(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*RUN) == 0
    process = started(work, "page", "fleet", "--serve", "--port", "0")
    try:
        assert process.stderr is not None
        address = process.stderr.readline().split(" at ")[1].split()[0]
        for asked, text in (("D", "5 devices"), ("d4", "1 device"), ("%3Cb%3E", "No such device")):
            with urlopen(f"{address}?find={asked}") as reply:
                page = reply.read().decode()
            check_whole(page)
            assert f'<p class="fact">{text}' in page
        with urlopen(f"{address}metrics") as reply:
            metrics = reply.read().decode()
        assert "tcuq_fleet_devices 5\n" in metrics and "d4" not in metrics
        capsys.readouterr()
        assert run("page", "fleet", "--serve", "--port", address.rstrip("/").rsplit(":", 1)[1]) == 2
        assert capsys.readouterr().err.count("\n") == 1
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=10)
        assert process.returncode == 0
    finally:
        process.kill()
        process.communicate()


def test_a_roll_out_names_the_version_that_is_there(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Params(classes=3, warmup=0, reference=0.4).save("new.json")
    name = Params.load("monitor.json").fingerprint
    assert run(*RUN) == 0
    capsys.readouterr()
    for given in (["old=monitor.json", "new=new.json"], ["new.json"]):
        assert run("run", *given, "events.jsonl", "--folder", "fleet") == 2
        err = capsys.readouterr().err
        assert f"holds versions {name!r}" in err and err.count("\n") == 1
    assert run("run", "monitor.json", "new=new.json", "events.jsonl", "--folder", "fleet") == 0


def test_another_source_is_noted(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*RUN) == 0
    Path("more.jsonl").write_text(Path("events.jsonl").read_text())
    assert run("run", "monitor.json", "more.jsonl", "--folder", "fleet") == 0
    assert "the fleet had read another source before" in capsys.readouterr().err


def test_a_disk_that_fails_says_that_nothing_is_lost(
    work: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(Store, "put_part", full)
    assert run(*RUN) == 2
    err = capsys.readouterr().err
    assert err.startswith("tcuq: fleet: commit 1 failed (No space left on device); nothing is lost")


def test_the_second_signal_ends_at_once_and_other_threads_have_none() -> None:
    stopped: list[int] = []
    with ended_by_signals(lambda: stopped.append(1)):
        signal.raise_signal(signal.SIGINT)
        assert stopped == [1]
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)

    def elsewhere() -> None:
        with ended_by_signals(stopped.clear):
            stopped.append(2)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert stopped == [1, 2]
