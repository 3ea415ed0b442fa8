"""Calibration: what the posteriors that a row stands by are worth, on examples that are shown once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from tcuq.metrics import block_bootstrap
from tcuq.metrics.inputs import Floats, Ints

from ...comparison.records import Record, record
from ...methods.method import Method, Observed, Recorded
from ...metrics import accuracy, brier, brier_per_class, ece, macro_f1, nll
from ..paper import PaperExperiment
from ..recordings import Recordings
from .comparison import joined, known_options, refuse_twice
from .unit import Unit

Metric = Callable[[Floats, Ints], float]

CLEAN, CORRUPTED = "clean", "corrupted"
"""Variants of the records; a corrupted one has the kind and severity in place of the stream."""
BINS = 15


def _accuracy(probs: Floats, labels: Ints) -> float:
    return accuracy(probs.argmax(axis=1), labels)


def _macro_f1(probs: Floats, labels: Ints) -> float:
    return macro_f1(probs.argmax(axis=1), labels, probs.shape[1])


def _ece(probs: Floats, labels: Ints) -> float:
    return ece(probs.max(axis=1), probs.argmax(axis=1) == labels, BINS)


METRICS: Mapping[str, Metric] = MappingProxyType(
    {
        "accuracy": _accuracy,
        "macro_f1": _macro_f1,
        "brier": brier,
        "brier_per_class": brier_per_class,
        "nll": nll,
        "ece": _ece,
    }
)


def measure(experiment: PaperExperiment, unit: Unit, recordings: Recordings) -> list[Record]:
    """Measure posteriors on clean test examples and, with the option `corrupted`, on all unseen kinds.

    Those of clean examples carry an interval from examples drawn again, the same ones for every row. Of a
    monitor no more is fitted than its posteriors need, which mostly is nothing.
    """
    with_corrupted = _asked(experiment)
    schedule = unit.schedule(recordings)
    unseen = [each for each in schedule.sources("test") if each.partition("/")[0] in schedule.unseen]
    dev = recordings.banks(unit.task, "dev", unit.seed, experiment.rows, schedule.sources("dev"))
    wanted = [CLEAN, *(unseen if with_corrupted else ())]
    test = recordings.banks(unit.task, "test", unit.seed, experiment.rows, wanted)
    labels = schedule.labels["test"]
    found: list[Record] = []
    refuse_twice(experiment.rows)
    for row in experiment.rows:
        label, method = row.label, row.method()
        method.learn(dev[label]["clean"], schedule.labels["dev"])
        method.fit_posteriors(joined(schedule.learned(), dev[label]))
        for source in wanted:
            probs = posteriors(method, test[label][source])
            if source == CLEAN:
                found += _with_intervals(label, probs, labels, unit.seed, recordings.setting.replicates)
            else:
                found += [
                    record(source, label, name, CORRUPTED, metric(probs, labels), len(labels))
                    for name, metric in METRICS.items()
                ]
    return found


def posteriors(method: Method, recorded: Recorded) -> Floats:
    """Return the posteriors that a method stands by, each example without a past."""
    alone = np.arange(len(recorded.probs))
    seen = Observed(recorded.probs, recorded.features, recorded.extra, alone)
    return np.asarray(method.posteriors(seen), dtype=np.float64)


def _with_intervals(label: str, probs: Floats, labels: Ints, seed: int, replicates: int) -> list[Record]:
    found = []
    for name, metric in METRICS.items():
        rng = np.random.default_rng(seed)  # a new one, so that all rows and metrics meet the same examples
        got = block_bootstrap(metric, [probs, labels], 1, replicates, rng)
        ends = {"low": got.low, "high": got.high}
        found.append(record(CLEAN, label, name, CLEAN, got.estimate, len(labels), **ends))
    return found


def _asked(experiment: PaperExperiment) -> bool:
    """Return whether corrupted examples are asked for."""
    known_options(experiment, CORRUPTED)
    asked = experiment.options.get(CORRUPTED, False)
    if not isinstance(asked, bool):
        raise ValueError(f"option corrupted is {asked!r}, expected true or false")
    return asked
