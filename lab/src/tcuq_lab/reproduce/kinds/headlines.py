"""Headlines: drops, OOD inputs and delays of rows, and by how much each differs from the first one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from tcuq.metrics.inputs import Ints

from ...comparison import JudgedStream, interval
from ...comparison.paired import joint_bootstrap
from ...comparison.records import Record, record
from ..any_stream.drawn import Value, mean_of, median_of
from ..experiment import Experiment
from ..recordings import Recordings
from .comparison import DROP, EQUAL, Arena, Watched, fit_rows, known_options
from .schedule import Schedule
from .unit import Unit

UNSEEN = "own/smoothed/unseen"
STRANGE = ("ood_auroc", "own/plain/all")


def measure(experiment: Experiment, unit: Unit, recordings: Recordings) -> list[Record]:
    """Return the headlines of all rows on unseen kinds, and paired differences "row - first row".

    Differences have 95 % intervals: of drops and OOD inputs from blocks of steps, the same for both rows,
    over all streams together; of delays from the changes of all streams.
    """
    known_options(experiment)
    schedule = unit.schedule(recordings)
    dev, test = unit.banks(experiment, recordings, schedule)
    methods = fit_rows(experiment.rows, dev, schedule, unit.fits(recordings))
    arena = Arena.of(schedule, methods, dev, test, schedule.unseen_tests())
    strange = {name: arena.cases({name: stream}) for name, stream in schedule.ood_tests().items()}
    watched = {label: arena.watched(label) for label in methods}
    found = arena.metrics(arena.tests, (DROP, UNSEEN))
    for name, cases in strange.items():
        found += [_shown(row, name) for row in arena.metrics(cases, STRANGE)]
    for label, each in watched.items():
        found += arena.delay_records(label, each)
    first, *others = methods
    for label in others:
        pair = (label, first)
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
    means = [mean_of(np.concatenate([each.restricted for each in trials])) for trials in found]
    medians = [median_of(np.concatenate([each.delays for each in trials])) for trials in found]
    count = sum(len(each.delays) for each in found[0])
    for metric, (one, other) in {"delay_mean": means, "delay_median": medians}.items():
        rng = np.random.default_rng([schedule.seed, 0])

        def values(at: int, index: Ints | None, one: Value = one, other: Value = other) -> float:
            return one(index) - other(index)

        got = joint_bootstrap(values, [count], 1, replicates, rng)
        title, variant = " - ".join(pair), f"{EQUAL}/unseen"
        yield record("joint", title, metric, variant, got.estimate, count, low=got.low, high=got.high)
