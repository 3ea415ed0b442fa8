"""Running an experiment: comparison by comparison, each kept, so that a run goes on where it was cut off."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from importlib import import_module
from pathlib import Path

from ..comparison.records import Record, Results, load, save
from .experiment import Experiment
from .kinds.unit import Measure, Unit
from .pieces import Progress, do_pieces
from .recordings import Recordings
from .versions import PROTOCOL


class NoNetworks(ValueError):
    """No seed of an experiment has the networks that it compares."""


def units(experiment: Experiment, seeds: tuple[int, ...]) -> Iterator[Unit]:
    """Give the comparisons of an experiment; those that share recordings follow one another."""
    for task in experiment.tasks:
        for seed in seeds:
            for dwell in experiment.dwells:
                yield Unit(task, dwell, seed)


def compared(experiment: Experiment, recordings: Recordings, unit: Unit) -> Experiment | None:
    """Return an experiment with the rows that have networks of a unit's seed.

    None where the first row, to which others are compared, has none, or where it would be alone.

    Parameters
    ----------
    experiment : Experiment
    recordings : Recordings
    unit : Unit
    """
    rows = tuple(row for row in experiment.rows if recordings.has(unit.task, unit.seed, row))
    if not rows or rows[0] != experiment.rows[0] or len(rows) < min(2, len(experiment.rows)):
        return None
    return experiment if rows == experiment.rows else replace(experiment, rows=rows)


def run(
    experiment: Experiment, recordings: Recordings, progress: Progress | None = None, jobs: int = 1
) -> dict[str, Results]:
    """Return the records of every comparison, computed where they are not kept yet.

    Parameters
    ----------
    experiment : Experiment
    recordings : Recordings
        Its folder also keeps the records.
    progress : callable, optional
        Called with comparisons done, all of them, and a forecast.
    jobs : int
        Comparisons that are computed at the same time.

    Raises
    ------
    NoNetworks
        Where no seed has networks to compare.
    """
    every = list(units(experiment, recordings.setting.seeds))
    plans = {unit: plan for unit in every if (plan := compared(experiment, recordings, unit)) is not None}
    if not plans:
        task, row = experiment.tasks[0], experiment.rows[0]
        names = row.networks(task, recordings.setting.seeds[0], recordings.weights)
        raise NoNetworks(
            f"{experiment.name} finds no networks to compare in {recordings.weights}, expected "
            f"{', '.join(names)} of {row.label}, and those of another row"
        )
    places = {
        unit: recordings.folder / "comparisons" / f"{unit.name}-{_key(plan, recordings, unit)}.json"
        for unit, plan in plans.items()
    }
    left = [unit for unit, path in places.items() if not path.exists()]
    if jobs > 1:
        _record(plans, left, recordings)
    todo = {unit.name: (plans[unit], unit, recordings, places[unit]) for unit in left}
    do_pieces(measure_once, todo, len(plans), jobs, progress)
    return {unit.name: load(path) for unit, path in places.items()}


def measure_once(experiment: Experiment, unit: Unit, recordings: Recordings, path: Path) -> None:
    """Compute the records of a unit, and keep them.

    Parameters
    ----------
    experiment : Experiment
    unit : Unit
    recordings : Recordings
    path : path
    """
    began = time.monotonic()
    records = measured(experiment, unit, recordings)
    took = time.monotonic() - began
    path.parent.mkdir(parents=True, exist_ok=True)
    setting = recordings.setting
    sizes = {name: value for name, value in asdict(setting).items() if isinstance(value, int)}
    about = {"task": unit.task, "dwell": unit.dwell, "seconds": round(took, 1)}
    save(path, records, [unit.seed], sizes, **about)


def _record(plans: Mapping[Unit, Experiment], todo: Sequence[Unit], recordings: Recordings) -> None:
    """Record what units lack, once, before several processes would each do so."""
    first = {(unit.task, unit.seed): unit for unit in reversed(todo)}
    for unit in reversed(first.values()):
        schedule = unit.schedule(recordings)
        for part in ("dev", "test"):
            recordings.fill(unit.task, part, unit.seed, plans[unit].rows, schedule.sources(part))


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
