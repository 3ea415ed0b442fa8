"""A fleet that is killed at any moment, or loses its power, goes on as if it had not been."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fleet_runs import VERSIONS, Arrivals, PowerLoss, folder_in_memory, outcome, play
from places import ROOT

from tcuq.fleet import Fleet, store

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


def killed(work: Callable[[], None], point: Callable[[str, Path], None]) -> bool:
    """Do some work in a process of its own; tell whether it was killed."""
    child = os.fork()
    if child == 0:
        status = 3
        try:
            store.point = point  # type: ignore[assignment]
            work()
            status = 0
        finally:
            os._exit(status)
    _, how = os.waitpid(child, 0)
    assert os.WIFSIGNALED(how) or os.WEXITSTATUS(how) == 0, "the work failed by itself"
    return os.WIFSIGNALED(how)


def _coin(rng: np.random.Generator) -> bool:
    return bool(rng.random() < 0.5)


LOSSES: dict[str, Callable[[int], Callable[[], bool]]] = {
    "nothing": lambda k: lambda: False,
    "all": lambda k: lambda: True,
    "some": lambda k: partial(_coin, np.random.default_rng(k)),
}


MODES = ["some", *(pytest.param(name, marks=pytest.mark.slow) for name in ("nothing", "all"))]


def moments(work: Callable[[Path], None], start: Path | None, folder: Path, loss: str) -> Iterator[int]:
    """Kill some work at its first change of the disk, its second, and so on until it has no more."""
    for k in range(1, 10_000):
        shutil.rmtree(folder, ignore_errors=True)
        if start is not None:
            shutil.copytree(start, folder)
        if not killed(lambda: work(folder), PowerLoss(k, LOSSES[loss](k))):
            assert k > 20, "a commit has more than twenty operations"
            return
        yield k


@pytest.mark.parametrize("loss", MODES)
def test_every_moment_of_the_beginning(
    loss: str, events: Arrivals, undisturbed: dict[str, Any], place: Path
) -> None:
    def first(folder: Path) -> None:
        with Fleet(VERSIONS, folder, hold=8) as fleet:
            fleet.take(events.some(0, 50), position=50)
            fleet.take(events.some(50, 90), position=90)

    for k in moments(first, None, place / "fleet", loss):
        play(place / "fleet", events, seed=k, most=400)
        assert outcome(place / "fleet") == undisturbed, k


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

    for k in moments(more, start, place / "fleet", loss):
        play(place / "fleet", events, seed=k, most=400)
        assert outcome(place / "fleet") == undisturbed, k


def test_a_kill_while_a_folder_is_mended(events: Arrivals, undisturbed: dict[str, Any], place: Path) -> None:
    start = place / "start"
    with Fleet(VERSIONS, start, hold=8) as fleet:
        fleet.take(events.some(0, 200), position=200)
    for name in ("state/00000002-0.npz", "decisions/00000002.npz", "state/00000002-0.npz.part", "HEAD.part"):
        (start / name).write_bytes(b"cut short")

    def opened(folder: Path) -> None:
        Fleet(VERSIONS, folder, hold=8).close()

    folder = place / "fleet"
    for k in range(1, 10):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(start, folder)
        if not killed(lambda: opened(folder), PowerLoss(k, lambda: False)):
            break
        play(folder, events, seed=k, most=400)
        assert outcome(folder) == undisturbed, k
    assert k > 4
    assert not [path for path in folder.rglob("*") if path.is_file() and path.read_bytes() == b"cut short"]


@pytest.mark.slow
def test_fifty_random_kills(tmp_path: Path) -> None:
    size = ("20", "400")
    events = Arrivals(*map(int, size))
    play(tmp_path / "undisturbed", events, seed=0)
    expected = outcome(tmp_path / "undisturbed")
    paths = os.pathsep.join([str(ROOT / "tests" / "support"), str(ROOT / "tools")])
    rng = np.random.default_rng(5)
    folder, kills, run, wait = tmp_path / "fleet", 0, 0, 0.5
    while kills < 50:
        command = [
            sys.executable,
            str(ROOT / "tests" / "support" / "fleet_runs.py"),
            str(folder),
            str(run),
            *size,
        ]
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
        run += 1
        if process.returncode == 0:  # it came to its end: the next ones play all again
            assert outcome(folder) == expected
            shutil.rmtree(folder)
            wait /= 2
    play(folder, events, seed=run)
    assert outcome(folder) == expected
