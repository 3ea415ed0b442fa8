"""Running an experiment: comparison by comparison, each kept, so that a run goes on where it was cut off."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import NamedTuple

from ..lab.compare.results import Record, Results, load, save
from .comparison import compare
from .digests import code
from .experiment import Experiment
from .programme import Programme
from .recordings import Recordings

Progress = Callable[[int, int, str], None]


INDIFFERENT = ("name", "seeds", "replicates")
"""Entries of a setting that decide nothing about one comparison."""


class Unit(NamedTuple):
    """One comparison: a task at a dwell, with networks and streams of a seed."""

    task: str
    dwell: float
    seed: int

    @property
    def name(self) -> str:
        """As it stands in file names."""
        return f"{self.task}-dwell{self.dwell:g}-seed{self.seed}"


def units(experiment: Experiment, seeds: tuple[int, ...]) -> Iterator[Unit]:
    """Give the comparisons of an experiment; those that share recordings follow one another."""
    for task in experiment.tasks:
        for seed in seeds:
            for dwell in experiment.dwells:
                yield Unit(task, dwell, seed)


def run(
    experiment: Experiment, recordings: Recordings, progress: Progress | None = None
) -> dict[str, Results]:
    """Return the records of every comparison, computed where they are not kept yet.

    Parameters
    ----------
    experiment : Experiment
    recordings : Recordings
        Its folder also keeps the records.
    progress : callable, optional
        Called with comparisons done, all of them, and a forecast.
    """
    todo = list(units(experiment, recordings.setting.seeds))
    found, spent, fresh = {}, 0.0, 0
    for number, unit in enumerate(todo):
        path = recordings.folder / "comparisons" / f"{unit.name}-{_key(experiment, recordings, unit)}.json"
        if not path.exists():
            if progress is not None:
                left = (
                    "" if not fresh else f", about {(len(todo) - number) * spent / fresh / 60:.0f} min left"
                )
                progress(number, len(todo), f"{unit.name}{left}")
            began = time.monotonic()
            records = compared(experiment, unit, recordings)
            spent, fresh = spent + time.monotonic() - began, fresh + 1
            path.parent.mkdir(parents=True, exist_ok=True)
            setting = recordings.setting
            sizes = {name: value for name, value in asdict(setting).items() if isinstance(value, int)}
            save(path, records, [unit.seed], sizes, task=unit.task, dwell=unit.dwell)
        found[unit.name] = load(path)
    if progress is not None:
        progress(len(todo), len(todo), "")
    return found


def compared(experiment: Experiment, unit: Unit, recordings: Recordings) -> list[Record]:
    """Return the records of one comparison."""
    labels = {part: recordings.part(unit.task, part).y for part in ("dev", "test")}
    strangers = {"test": recordings.strangers(unit.task, "test")}
    programme = Programme(unit.task, recordings.setting, unit.dwell, unit.seed, labels, strangers)
    dev, test = (
        recordings.banks(unit.task, part, unit.seed, experiment.rows, programme.sources(part))
        for part in ("dev", "test")
    )
    return compare(experiment.rows, programme, dev, test)


def _key(experiment: Experiment, recordings: Recordings, unit: Unit) -> str:
    """Return a digest of what decides the records: rows, networks, data, sizes, and the code."""
    rows = [
        [
            row.label,
            row.method.name,
            str(recordings.place(unit.task, part, unit.seed, row).relative_to(recordings.folder)),
        ]
        for row in experiment.rows
        for part in ("dev", "test")
    ]
    sizes = {name: value for name, value in asdict(recordings.setting).items() if name not in INDIFFERENT}
    about = json.dumps([rows, sizes, unit, code()])
    return hashlib.sha256(about.encode()).hexdigest()[:12]
