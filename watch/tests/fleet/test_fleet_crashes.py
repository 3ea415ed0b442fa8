"""A fleet that is killed at any moment, or loses its power, goes on as if it had not been."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fleet_runs import VERSIONS, Arrivals, crashed, folder_in_memory, outcome, play
from places import ROOT

from tcuq_watch.fleet import Fleet, store

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are killed after a fork")


@pytest.fixture(scope="module")
def events() -> Arrivals:
    return Arrivals()


@pytest.fixture(scope="module")
def undisturbed(events: Arrivals, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("undisturbed") / "fleet"
    play(folder, events, seed=0)
    return outcome(folder)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    with folder_in_memory(tmp_path) as folder:
        yield folder


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 6))])
def test_any_moment(
    seed: int, events: Arrivals, undisturbed: dict[str, Any], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "ROLL", 40)  # so that files come and go
    rng = np.random.default_rng(seed)
    with Fleet(VERSIONS, place / "fleet", hold=8) as fleet:
        at = 0
        while at < 150:
            end = at + int(rng.integers(1, 20))
            # Whoever drops a file empties the journal, which is to be long here.
            monkeypatch.setattr(store, "LARGE", 0 if at < 30 else 1 << 20)
            fleet.take(events.some(at, end), position=end)
            at = end
        copies = [*crashed(place / "fleet", place, seed)]
    positions = set()
    for number, copy in enumerate(copies):
        with Fleet(VERSIONS, copy, hold=8) as fleet:
            positions.add(fleet.position)
        play(copy, events, seed=number, most=400)
        assert outcome(copy) == undisturbed, number
        for name, query in store.FILES.items():
            assert {path.name for path in (copy / name).iterdir()} == named_files(copy, query)
    assert len(positions) > 3


def named_files(folder: Path, query: str) -> set[str]:
    with Fleet.open_read(folder) as fleet:
        return {name for (name,) in fleet.store._sql.execute(query) if name is not None}


def test_what_a_kill_left_to_roll_back_keeps_nobody_from_looking(events: Arrivals, place: Path) -> None:
    with Fleet(VERSIONS, place / "fleet", hold=8) as fleet:
        fleet.take(events.some(0, 40), position=40)
    sql = sqlite3.connect(place / "fleet" / store.DATABASE, isolation_level=None)
    for order in ("PRAGMA journal_mode = DELETE", "PRAGMA cache_size = 1", "BEGIN"):
        sql.execute(order)
    sql.execute("UPDATE part SET content = zeroblob(1000000)")
    shutil.copytree(place / "fleet", place / "copy")
    sql.close()
    with Fleet.open_read(place / "copy") as looked:
        assert looked.position == 40


@pytest.mark.slow
def test_random_kills(tmp_path: Path) -> None:
    size = ("20", "400")
    events = Arrivals(*map(int, size))
    play(tmp_path / "undisturbed", events, seed=0)
    expected = outcome(tmp_path / "undisturbed")
    support = ROOT / "watch" / "tests" / "support"
    paths = os.pathsep.join(map(str, (support, ROOT / "tests" / "support", ROOT / "tools")))
    rng = np.random.default_rng(5)
    folder, kills, run, wait = tmp_path / "fleet", 0, 0, 0.5
    while kills < 50:
        command = [sys.executable, str(support / "fleet_runs.py"), str(folder), str(run), *size]
        process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": paths})
        began, journal = time.monotonic(), folder / f"{store.DATABASE}-wal"
        moved = journal.exists() and journal.stat().st_mtime_ns
        # Begin to count when it has begun to write: most of its life is importing.
        while process.poll() is None and time.monotonic() - began < 60:
            if journal.exists() and journal.stat().st_mtime_ns != moved:
                break
            time.sleep(0.001)
        time.sleep(rng.uniform(0, wait))
        process.send_signal(signal.SIGKILL)
        kills += process.wait() == -signal.SIGKILL
        assert process.returncode in (0, -signal.SIGKILL)
        run += 1
        if process.returncode == 0:  # it came to its end: the next ones play all again
            assert outcome(folder) == expected
            shutil.rmtree(folder)
            wait /= 2
    play(folder, events, seed=run)
    assert outcome(folder) == expected
