"""Headlines: drops, OOD inputs and delays of rows, and by how much some differ from others."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tcuq.metrics.inputs import Floats, Ints

from ...comparison import JudgedStream, interval
from ...comparison.paired import joint_bootstrap
from ...comparison.records import Record, record
from ..paper import PaperExperiment
from ..recordings import Recordings
from .comparison import DROP, EQUAL, Arena, Watched, fit_rows, known_options
from .schedule import Schedule
from .unit import Unit

UNSEEN = "own/smoothed/unseen"
STRANGE = ("ood_auroc", "own/plain/all")


def measure(experiment: PaperExperiment, unit: Unit, recordings: Recordings) -> list[Record]:
    """Return the headlines of all rows on unseen kinds, and paired differences of the option `pairs`.

    Differences "row - other" have 95 % intervals: of drops and OOD inputs from blocks of steps, the same for
    both rows, over all streams together; of delays from the changes of all streams.
    """
    pairs = asked_pairs(experiment)
    schedule = unit.schedule(recordings)
    dev, test = unit.banks(experiment.rows, recordings, schedule)
    methods = fit_rows(experiment.rows, dev, schedule, unit.fits(recordings))
    arena = Arena.of(schedule, methods, dev, test, schedule.unseen_tests())
    strange = {name: arena.cases({name: stream}) for name, stream in schedule.ood_tests().items()}
    watched = {label: arena.watched(label) for label in methods}
    found = arena.metrics(arena.tests, (DROP, UNSEEN))
    for name, cases in strange.items():
        found += [_shown(row, name) for row in arena.metrics(cases, STRANGE)]
    for label, each in watched.items():
        found += arena.delay_records(label, each)
    for pair in pairs:
        found.append(_difference(arena, arena.tests, pair, DROP, UNSEEN, recordings))
        for name, cases in strange.items():
            found.append(_shown(_difference(arena, cases, pair, *STRANGE, recordings), name))
        found += _delays(schedule, watched, pair, recordings.setting.replicates)
    return found


def _shown(row: Record, name: str) -> Record:
    """Return a record of OOD inputs under the name of how they are shown."""
    return {**row, "variant": f"own/plain/{name}"}


def _difference(
    arena: Arena,
    tests: list[JudgedStream],
    pair: tuple[str, str],
    metric: str,
    variant: str,
    recordings: Recordings,
) -> Record:
    rng = np.random.default_rng([arena.schedule.seed, 0])
    replicates = recordings.setting.replicates
    row = interval(tests, arena.clean_dev, pair, metric, variant, rng, arena.settings, replicates)
    return {**row, "n": len(tests)}  # streams, as those of the rows themselves are counted


def _delays(
    schedule: Schedule, watched: Mapping[str, Watched], pair: tuple[str, str], replicates: int
) -> Iterator[Record]:
    """Give the differences of mean and median delay; a miss costs its stretch in the mean alone."""
    found = [watched[label].found for label in pair]
    restricted = [np.concatenate([each.restricted for each in trials]) for trials in found]
    delays = [np.concatenate([each.delays for each in trials]) for trials in found]
    count = sum(len(each.delays) for each in found[0])
    for metric, given in {"delay_mean": restricted, "delay_median": delays}.items():
        rng = np.random.default_rng([schedule.seed, 0])

        def values(
            at: int, index: Ints | None, given: list[Floats] = given, median: bool = metric == "delay_median"
        ) -> float:
            one, other = (each if index is None else each[index] for each in given)
            return middle(one) - middle(other) if median else float(one.mean() - other.mean())

        got = joint_bootstrap(values, [count], 1, replicates, rng)
        title, variant = " - ".join(pair), f"{EQUAL}/unseen"
        yield record("joint", title, metric, variant, got.estimate, count, low=got.low, high=got.high)


def middle(values: Floats) -> float:
    """Return the median of some values, infinite ones among them; NaN of none."""
    ordered, count = np.sort(values), len(values)
    return float((ordered[(count - 1) // 2] + ordered[count // 2]) / 2) if count else math.nan


def asked_pairs(experiment: PaperExperiment) -> list[tuple[str, str]]:
    """Return the pairs of rows that are compared; one of which a row is absent is left out."""
    known_options(experiment, "pairs")
    given: Any = experiment.options.get("pairs", [])
    if not isinstance(given, list) or not all(isinstance(each, list) and len(each) == 2 for each in given):
        raise ValueError(f"pairs of {experiment.name} is {given!r}, expected a list of two labels each")
    labels = {row.label for row in experiment.rows}
    return [(first, second) for first, second in given if {first, second} <= labels]
