"""The examples run as their texts say, in an empty folder, and give the same every time."""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from places import ROOT

import tcuq
from tcuq.io import read_decisions, read_log

EXAMPLES = ROOT / "examples"


def ran(program: Path, folder: Path, *args: str, status: int = 0) -> str:
    """Run a Python program in a folder, any warning being an error; return what it printed."""
    command = [sys.executable, "-W", "error", str(program), *args]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == status, done.stderr
    return done.stdout


def shares(text: str) -> dict[str, float]:
    """Return how often the classifier was right, by the words before."""
    found = [line.rpartition(" classifier right on ") for line in text.splitlines()]
    return {head[:19].split("  ")[0].strip(): float(tail.strip("%")) for head, by, tail in found if by}


@pytest.mark.parametrize("options", [(), ("--no-features",)], ids=["features", "posteriors"])
def test_a_live_loop_acts_on_every_answer(options: tuple[str, ...], tmp_path: Path) -> None:
    text = ran(EXAMPLES / "watch_stream.py", tmp_path, *options)
    assert {path.name for path in tmp_path.iterdir()} == {
        "dev.csv",
        "dev.npz",
        "params.json",
        "live.txt",
        "decisions.csv",
    }
    right = shares(text)
    assert right["act"] > right["all"] > right["hold"]
    assert right["act"] > right["ask"]
    assert text.count("ALARM") >= 5, "an alarm for each degraded stretch; without gauges it may come again"
    assert "the alarm has cleared" in text and "reasons to abstain: " in text

    params = tcuq.Params.load(tmp_path / "params.json")
    assert params.features == (0 if options else 8)
    rows = {name: read_log(tmp_path / f"dev.{name}") for name in ("csv", "npz")}
    assert np.allclose(rows["csv"].probs, rows["npz"].probs, atol=1e-6)
    assert rows["csv"].width == rows["npz"].width == params.features
    for name in ("labels", "shifted"):
        assert np.array_equal(getattr(rows["csv"], name), getattr(rows["npz"], name))
    steps = read_decisions(tmp_path / "decisions.csv").steps
    # What the loop counted is what the decisions say, and holding covers every step of the alarm.
    held = int((steps["alarm"] > 0).sum())
    asked = int(((steps["alarm"] == 0) & (steps["abstain"] | steps["warming_up"])).sum())
    assert f"hold  {held:>5} steps" in text and f"ask   {asked:>5} steps" in text
    assert (steps["abstain"] & (steps["alarm"] > 0)).any(), "abstain and alarm do come together"


def test_a_classifier_of_scikit_learn_is_watched(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    text = ran(EXAMPLES / "sklearn_digits.py", tmp_path)
    right = shares(text)
    assert right["accepted, no alarm"] > right["accepted"] > right["all steps"]
    clean, degraded = (float(line.split()[3].strip("%")) for line in text.splitlines()[-2:])
    assert degraded > 5 * clean
    assert "Of the surest 90%" in text
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def desktop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the C example, copied elsewhere and built there."""
    for tool in ("make", "gcc"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    folder = tmp_path_factory.mktemp("examples")
    for name in ("watch_stream.py", "desktop_c/watch.c", "desktop_c/Makefile"):
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(EXAMPLES / name, folder / name)
    flags = "-std=c99 -O2 -Wall -Wextra -Wconversion -pedantic -Werror"
    command = ["make", f"PYTHON={sys.executable}", "CC=gcc", f"CFLAGS={flags}"]
    without = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    done = subprocess.run(
        command, cwd=folder / "desktop_c", env=without, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "desktop_c"


def test_the_c_program_decides_as_python_does(desktop: Path) -> None:
    monitor = tcuq.Monitor(tcuq.Params.load(desktop / "made/params.json"))
    wanted = []
    for probs in np.loadtxt(desktop / "made/live.txt"):
        step = monitor.step(probs)
        action = "hold" if step.alarm else "ask" if step.abstain or step.warming_up else "act"
        wanted.append(f"{action} {step.prediction} {step.alarm} {step.risk:.5f}")
    assert {line.split()[0] for line in wanted} == {"hold", "ask", "act"}
    assert (desktop / "decisions.txt").read_text().splitlines() == wanted


def test_the_spark_job_never_replaces_a_monitor_of_the_reader(tmp_path: Path) -> None:
    """A misspelled folder is an error, not a reason to make events and to fit another monitor."""
    own = tmp_path / "m.json"
    own.write_text("mine")
    for words in (["--events", "mispelled", "--monitor", "m.json"], ["--monitor", "m.json"]):
        command = [sys.executable, str(EXAMPLES / "spark_fleet.py"), *words]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert done.returncode == 2 and "leave out" in done.stderr, done.stderr
        assert own.read_text() == "mine" and list(tmp_path.iterdir()) == [own]


def test_events_of_the_spark_job_are_whole_or_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is missing: pip install pyarrow")
    job, write = runpy.run_path(str(EXAMPLES / "spark_fleet.py")), parquet.write_table
    events, monitor = tmp_path / "events", tmp_path / "monitor.json"

    def stop(table: object, path: Path) -> None:
        if path.name == "2.parquet":
            raise KeyboardInterrupt
        write(table, path)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(parquet, "write_table", stop)
        job["make_events"](events, monitor)
    assert not events.exists()
    job["make_events"](events, monitor)
    assert sorted(path.name for path in events.iterdir()) == [f"{each}.parquet" for each in range(4)]
    assert tcuq.Params.load(monitor).classes == 4
