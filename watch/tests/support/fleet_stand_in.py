"""A fleet that only remembers: which events it has, once each, and commits whole or not at all."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from tcuq.base.atomic_files import write_whole
from tcuq.monitor.steps import STEP_DTYPE, Steps
from tcuq_watch.engine.events import Decided, Events


class StandInFleet:
    """Takes events as `tcuq_watch.fleet.Fleet` does; a decision is its place, and the largest posterior."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self.models: dict[str, Any] = {"one": SimpleNamespace(params=SimpleNamespace(fingerprint="0"))}
        self._path = folder / "stand-in.pickle"
        self._kept: dict[str, Any] = {
            "position": None,
            "number": 0,
            "seen": {},
            "refused": {},
            "states": {},
            "duplicates": 0,
            "flushed": 0,
            "decisions": {},
        }
        if self._path.exists():
            self._kept = pickle.loads(self._path.read_bytes())

    def __getattr__(self, name: str) -> Any:
        return self._kept[name]

    @property
    def commit_number(self) -> int:
        return int(self._kept["number"])

    def refuse(self, kind: str, count: int = 1) -> None:
        self._kept["refused"][kind] = self._kept["refused"].get(kind, 0) + count

    def take(self, events: Sequence[Any], position: Any = None) -> list[Decided]:
        found = [self._taken(each) if isinstance(each, Events) else self._adopted(each) for each in events]
        return self._commit([each for each in found if each is not None], position)

    def flush(self, position: Any = None) -> list[Decided]:
        self._kept["flushed"] += 1
        return self._commit([], position)

    def _adopted(self, item: Any) -> None:
        if item.state == b"bad":
            self.refuse("bad state")
        else:
            self._kept["states"][item.device] = (item.boot, item.seq, item.state, len(self._kept["seen"]))

    def _taken(self, events: Events) -> Decided:
        fresh = []
        for place, key in enumerate(
            zip(events.devices, events.boots.tolist(), events.seqs.tolist(), strict=True)
        ):
            if key in self._kept["seen"]:
                self._kept["duplicates"] += 1
            else:
                self._kept["seen"][key] = None
                fresh.append(place)
        steps = np.zeros(len(fresh), dtype=STEP_DTYPE)
        steps["risk"] = np.asarray(events.probs)[fresh].max(axis=1) if fresh else 0
        steps["expected_accuracy"] = np.nan
        steps["reason"] = 255
        times = np.full(len(events), np.nan) if events.times is None else events.times
        return Decided(
            events.version or "one",
            events.devices[fresh],
            events.boots[fresh],
            events.seqs[fresh],
            times[fresh],
            Steps.of(steps),
        )

    def _commit(self, decided: list[Decided], position: Any) -> list[Decided]:
        found = [each for each in decided if len(each)]
        self._kept["number"] += 1
        if position is not None:
            self._kept["position"] = position
        if found:
            self._kept["decisions"][self._kept["number"]] = found
        write_whole(self._path, pickle.dumps(self._kept))
        return found

    def commits(self, first: int = 0) -> Iterator[tuple[int, list[Decided]]]:
        for number, decided in sorted(self._kept["decisions"].items()):
            if number >= first:
                yield number, decided


def places(fleet: StandInFleet) -> list[tuple[str, int, int]]:
    """Who was decided on, in order."""
    return [
        (device, boot, seq)
        for _, decided in fleet.commits()
        for part in decided
        for device, boot, seq in zip(part.devices, part.boots.tolist(), part.seqs.tolist(), strict=True)
    ]
