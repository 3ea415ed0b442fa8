"""A fleet that is killed at any moment, or loses its power, goes on as if it had not been."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from faulty_files import restore, run_forked
from fleet_runs import VERSIONS, Arrivals, folder_in_memory, outcome, play
from places import ROOT

from tcuq_watch.fleet import Fleet

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


LOSSES = {
    "a third": ("some", "some"),
    "some": ("some", "some"),
    "killed": ("all", "all"),
    "all": ("none", "none"),
    "content": ("all", "zeros"),
}
"""What of names and contents stays that the disk had not promised; at every third moment."""

MODES = ["a third", *(pytest.param(name, marks=pytest.mark.slow) for name in [*LOSSES][1:])]


def moments(
    work: Callable[[Path], None], start: Path | None, place: Path, loss: str, least: int = 20
) -> Iterator[int]:
    """Lose the power at the first change of the disk, the second, and so on until there are no more."""
    root = place / "work"
    root.mkdir()
    if start is not None:
        shutil.copytree(start, root / "fleet")

    def done() -> int:
        work(root / "fleet")
        return 0

    found = run_forked(done, root)
    assert found.status == 0 and found.record is not None, found.printed
    changes = len(found.record.changes)
    assert changes >= least, "something was left out"
    for k in range([*LOSSES].index(loss) % 3, changes + 1, 3):
        restore(root, found.record.crashed(k, *LOSSES[loss], seed=k))
        yield k


@pytest.mark.parametrize("loss", MODES)
def test_every_moment_of_the_beginning(
    loss: str, events: Arrivals, undisturbed: dict[str, Any], place: Path
) -> None:
    def first(folder: Path) -> None:
        with Fleet(VERSIONS, folder, hold=8) as fleet:
            fleet.take(events.some(0, 50), position=50)
            fleet.take(events.some(50, 90), position=90)

    for k in moments(first, None, place, loss):
        play(place / "work" / "fleet", events, seed=k, most=400)
        assert outcome(place / "work" / "fleet") == undisturbed, k


@pytest.mark.parametrize("loss", MODES)
def test_every_moment_in_the_middle(
    loss: str, events: Arrivals, undisturbed: dict[str, Any], place: Path
) -> None:
    start = place / "start"
    with Fleet(VERSIONS, start, hold=8) as fleet:
        for at in (100, 130, 131, 132, 140):  # leaves files of several levels
            fleet.take(events.some(fleet.position or 0, at), position=at)

    def more(folder: Path) -> None:
        with Fleet(VERSIONS, folder, hold=8) as fleet:
            fleet.take(events.some(140, 141), position=141)
            fleet.take(events.some(141, 200), position=200)

    for k in moments(more, start, place, loss):
        play(place / "work" / "fleet", events, seed=k, most=400)
        assert outcome(place / "work" / "fleet") == undisturbed, k


def test_a_kill_while_a_folder_is_repaired(
    events: Arrivals, undisturbed: dict[str, Any], place: Path
) -> None:
    start = place / "start"
    with Fleet(VERSIONS, start, hold=8) as fleet:
        fleet.take(events.some(0, 200), position=200)
    for name in ("state/00000002-0.npz", "decisions/00000002.npz", "state/00000002-0.npz.part", "HEAD.part"):
        (start / name).write_bytes(b"cut short")

    def opened(folder: Path) -> None:
        Fleet(VERSIONS, folder, hold=8).close()

    folder = place / "work" / "fleet"
    for k in moments(opened, start, place, "killed", least=4):
        play(folder, events, seed=k, most=400)
        assert outcome(folder) == undisturbed, k
        assert not [
            path for path in folder.rglob("*") if path.is_file() and path.read_bytes() == b"cut short"
        ]


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
        began, moved = time.monotonic(), (folder / "HEAD").exists() and (folder / "HEAD").stat().st_mtime_ns
        # Begin to count when it has begun to write: most of its life is importing.
        while process.poll() is None and time.monotonic() - began < 60:
            if (folder / "HEAD").exists() and (folder / "HEAD").stat().st_mtime_ns != moved:
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
