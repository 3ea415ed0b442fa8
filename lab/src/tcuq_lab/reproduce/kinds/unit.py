"""One unit of an experiment: a task at a dwell, with networks and streams of a seed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from ..recordings import Bank, Recordings
from ..rows import Row
from ..versions import PROTOCOL
from .schedule import Schedule


class Unit(NamedTuple):
    """A task at a dwell, with networks and streams of a seed."""

    task: str
    dwell: float
    seed: int

    @property
    def name(self) -> str:
        """As it stands in file names."""
        return f"{self.task}-dwell{self.dwell:g}-seed{self.seed}"

    def schedule(self, recordings: Recordings) -> Schedule:
        """Return the streams."""
        parts = ("dev", "test")
        labels = {part: recordings.part(self.task, part).y for part in parts}
        ood = {part: recordings.ood(self.task, part) for part in parts}
        return Schedule(self.task, recordings.setting, self.dwell, self.seed, labels, ood)

    def banks(
        self, rows: Sequence[Row], recordings: Recordings, schedule: Schedule
    ) -> tuple[dict[str, Bank], dict[str, Bank]]:
        """Return what the networks of all rows say to the examples of development and test, by label."""
        dev, test = (
            recordings.banks(self.task, part, self.seed, rows, schedule.sources(part))
            for part in ("dev", "test")
        )
        return dev, test

    def fits(self, recordings: Recordings) -> Callable[[Row], Path]:
        """Return the file that keeps the fit of a row; other data, weights or protocols have another."""

        def place(row: Row) -> Path:
            given = recordings.place(self.task, "dev", self.seed, row).relative_to(recordings.folder)
            about = json.dumps([self, str(given), recordings.setting.deciding(), PROTOCOL])
            digest = hashlib.sha256(about.encode()).hexdigest()[:12]
            return recordings.folder / "fits" / f"{self.name}-{row.method.name}-{digest}.json"

        return place
