"""A source with positions that is played into a fleet, in a process that may be killed at any moment."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from fleet_traffic import Network, traffic
from naive_fleet import rows_of
from streams import int8_stream

from tcuq import Params
from tcuq_watch.engine.events import Events, joined
from tcuq_watch.fleet import Fleet, store
from tcuq_watch.fleet.store import DATABASE

VERSIONS = {"v1": Params(classes=3, warmup=0), "v2": Params(classes=3, warmup=0, budget=0.05)}
MESSY = Network(lost=0.05, repeated=0.05, delayed=0.2, mean_delay=60.0, reboots=0.02)


class Arrivals:
    """Events of two versions in the order of arrival, with loss, delay, repeats and reboots."""

    def __init__(self, devices: int = 4, steps: int = 25) -> None:
        probs, _ = int8_stream(300, 3, 0, seed=1)
        self.parts = []
        when = []
        for number, version in enumerate(VERSIONS):
            events = traffic(probs, devices=devices, steps=steps, network=MESSY, seed=number).events
            columns = (events.devices, events.boots, events.seqs, events.probs, None, events.times, version)
            self.parts.append(Events(*columns))
            when.append(np.stack([np.arange(len(events)) / len(events), np.full(len(events), number)]))
        self.whose = np.concatenate(when, axis=1)[:, np.argsort(np.concatenate(when, axis=1)[0])][1]

    def __len__(self) -> int:
        return len(self.whose)

    def some(self, first: int, end: int) -> list[Events]:
        """Return what arrives from one place to another, one item a version."""
        found = []
        for number, part in enumerate(self.parts):
            before, here = (int((self.whose[:at] == number).sum()) for at in (first, end))
            found.append(part.some(slice(before, here)))
        return found


@contextmanager
def folder_in_memory(other: Path) -> Iterator[Path]:
    """Give a folder in memory, where there is one: waiting for a disk tells a test nothing."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield other
        return
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        yield Path(folder)


def play(folder: Path, events: Arrivals, seed: int, most: int = 60, **options: Any) -> None:
    """Go on from the fleet's position with batches of any size; release what is held at the end."""
    rng = np.random.default_rng(seed)
    with Fleet(VERSIONS, folder, hold=8, **options) as fleet:
        at = fleet.position or 0
        while at < len(events):
            end = min(len(events), at + int(rng.integers(1, most)))
            fleet.take(events.some(at, end), position=end)
            at = end
        if at == len(events):
            fleet.flush(position=len(events) + 1)


def outcome(folder: Path) -> dict[str, Any]:
    """Return all that a folder says: decisions, counts and where devices stand."""
    fleet = Fleet.open_read(folder)
    found: dict[str, Any] = {"position": fleet.position, "refused": fleet.refused}
    for version, model in fleet.models.items():
        parts = [each for each in fleet.decisions() if each.version == version]
        found[version] = (
            rows_of(joined(parts)) if parts else "",
            {name: array.tobytes() for name, array in model.arrays().items() if name != "refused"},
        )
    return found


def crashed(folder: Path, place: Path, seed: int, cuts: int = 12) -> Iterator[Path]:
    """Give copies of a folder in use, as a kill or a loss of power may leave it.

    The journal is there up to any byte, or is followed by rubbish: the disk may have lost its end.
    """
    rng = np.random.default_rng(seed)
    size = (folder / f"{DATABASE}-wal").stat().st_size
    for number, cut in enumerate([size, 0, *rng.integers(0, size, cuts).tolist()]):
        copy = place / f"crashed-{seed}-{number}"
        shutil.copytree(folder, copy)
        with open(copy / f"{DATABASE}-wal", "r+b") as file:
            file.truncate(cut)
            file.seek(cut)
            file.write(rng.bytes(int(rng.integers(0, 40_000))) if number % 3 == 1 else b"")
        (copy / f"{DATABASE}-shm").unlink(missing_ok=True)
        yield copy


if __name__ == "__main__":
    store.ROLL, store.LARGE = 400, 1 << 13  # so that files come and go
    play(Path(sys.argv[1]), Arrivals(*map(int, sys.argv[3:5])), seed=int(sys.argv[2]))
