"""Running an experiment: comparison by comparison, each kept, so that a run goes on where it was cut off."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from importlib import import_module

from ..comparison.records import Record, Results, load, save
from .experiment import Experiment
from .kinds.unit import Measure, Unit
from .recordings import Recordings
from .versions import PROTOCOL

Progress = Callable[[int, int, str], None]


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
            records = measured(experiment, unit, recordings)
            took = time.monotonic() - began
            spent, fresh = spent + took, fresh + 1
            path.parent.mkdir(parents=True, exist_ok=True)
            setting = recordings.setting
            sizes = {name: value for name, value in asdict(setting).items() if isinstance(value, int)}
            about = {"task": unit.task, "dwell": unit.dwell, "seconds": round(took, 1)}
            save(path, records, [unit.seed], sizes, **about)
        found[unit.name] = load(path)
    if progress is not None:
        progress(len(todo), len(todo), "")
    return found


def seconds(found: Mapping[str, Results]) -> float:
    """Return how long the comparisons took when they were computed; NaN where one does not say.

    Examples
    --------
    >>> seconds({"a": Results([], {"seconds": 1.5}), "b": Results([], {"seconds": 2.0})})
    3.5
    """
    return math.fsum(each.about.get("seconds", math.nan) for each in found.values())


def measured(experiment: Experiment, unit: Unit, recordings: Recordings) -> list[Record]:
    """Return the records of one unit."""
    measure: Measure = import_module(f".kinds.{experiment.kind}", __package__).measure
    return measure(experiment, unit, recordings)


def _key(experiment: Experiment, recordings: Recordings, unit: Unit) -> str:
    """Return a digest of what decides the records: rows, networks, data, sizes, and the protocol."""
    rows = [
        [
            row.label,
            row.method.name,
            str(recordings.place(unit.task, part, unit.seed, row).relative_to(recordings.folder)),
        ]
        for row in experiment.rows
        for part in ("dev", "test")
    ]
    sizes = recordings.setting.deciding()
    about = json.dumps([rows, sizes, unit, experiment.kind, dict(experiment.options), PROTOCOL])
    return hashlib.sha256(about.encode()).hexdigest()[:12]
