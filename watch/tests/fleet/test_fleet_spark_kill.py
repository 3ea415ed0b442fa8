"""Spark in processes of their own: killed in the middle of micro-batches, and the example."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from places import ROOT
from spark_events import SHARDS, expected, need_spark, same, simulated, write_files

FILES = 14
KILLS = ("begun", "written", "logged", "begun", "written", "logged")
"""When: the micro-batch is planned; decisions are written; the sink has them, and the checkpoint does not."""

pytestmark = pytest.mark.spark


def _start(folder: Path, files_a_batch: int = 1) -> subprocess.Popen[bytes]:
    program = ROOT / "watch" / "tests" / "support" / "spark_stream.py"
    arguments = [folder / "params.json", folder / "in", folder / "run", files_a_batch, SHARDS]
    (folder / "run").mkdir(exist_ok=True)
    with open(folder / "run" / "said.txt", "ab") as said:
        return subprocess.Popen(
            [sys.executable, str(program), *map(str, arguments)],
            stdout=said,
            stderr=said,
            start_new_session=True,
        )


def _session_of(pid: int) -> list[int]:
    """Return the processes of a session: Python, the Java machine, its workers."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == pid:
                found.append(int(entry.name))
    return found


def _kill(process: subprocess.Popen[bytes]) -> None:
    for pid in _session_of(process.pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    process.wait()


def _has_come(run: Path, moment: str, batch: int, before: set[str]) -> bool:
    if moment == "begun":
        return (run / "checkpoint" / "offsets" / str(batch)).exists()
    if moment == "logged":
        return (run / "decisions" / "_spark_metadata" / str(batch)).exists()
    if not (run / "checkpoint" / "commits" / str(batch - 1)).exists():
        return False
    return any(path.name not in before for path in (run / "decisions").glob("*.parquet"))


def _killed_in(folder: Path, moment: str, batch: int) -> bool:
    """Run until a moment of a micro-batch, then kill; tell whether it was still in that micro-batch."""
    run = folder / "run"
    process = _start(folder)
    committed, before = run / "checkpoint" / "commits", set[str]()
    try:
        end = time.monotonic() + 240
        while time.monotonic() < end:
            assert process.poll() is None, (run / "said.txt").read_text()[-2000:]
            if moment == "written" and not (committed / str(batch - 1)).exists():
                before = {path.name for path in (run / "decisions").glob("*.parquet")}
            if _has_come(run, moment, batch, before):
                break
            time.sleep(0.002)
        else:
            raise AssertionError(f"batch {batch} did not begin: {(run / 'said.txt').read_text()[-2000:]}")
    finally:
        _kill(process)
    return not (committed / str(batch)).exists()


def test_decisions_after_kills_in_mid_batch_are_those_of_a_run_that_never_stops(tmp_path: Path) -> None:
    need_spark()
    params, events = simulated()
    write_files(tmp_path / "in", events, FILES)
    params.save(tmp_path / "params.json")
    in_the_middle = sum(_killed_in(tmp_path, moment, 1 + 2 * number) for number, moment in enumerate(KILLS))
    process = _start(tmp_path)
    try:
        status = process.wait(timeout=300)
    finally:
        _kill(process)
    assert status == 0, (tmp_path / "run" / "said.txt").read_text()[-2000:]
    assert in_the_middle >= 5
    pandas: Any = pytest.importorskip("pandas")
    found = pandas.read_parquet(tmp_path / "run" / "found.parquet")
    # However events are batched: the model takes them in pieces of another size.
    wanted = expected(params, events, np.array_split(np.arange(len(events)), 5))
    same(found, wanted)


def test_the_example_finds_the_degraded_devices(tmp_path: Path) -> None:
    need_spark()
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "spark_fleet.py")],
        cwd=tmp_path,
        env=os.environ | {"JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"},
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    first, *worst = done.stdout.strip().splitlines()
    assert " decisions of 200 devices, " in first
    assert sorted(line.split()[0] for line in worst[:10]) == [f"device-{each:03d}" for each in range(10)]
