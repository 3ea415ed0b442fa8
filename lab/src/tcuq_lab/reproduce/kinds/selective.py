"""Selective prediction: errors among the answers that are kept, by ranking and as monitors decide."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tcuq.base.checks import number
from tcuq.metrics import risk_coverage

from ...comparison.records import Record, record
from ...methods.banks import observed
from ...methods.method import Monitored
from ...metrics import risk_at_coverage
from ...streams import Stream
from ..paper import PaperExperiment
from ..recordings import Recordings
from .comparison import Answering, Bank, fit_rows, known_options
from .unit import Unit

COVERAGES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
BLENDED = "blend"
CURVE, DECIDED = "curve", "decided"
"""Variants: the ranking of a whole stream in hindsight, and what a monitor accepted step by step."""


def measure(experiment: PaperExperiment, unit: Unit, recordings: Recordings) -> list[Record]:
    """Measure the risk-coverage curve of every row on streams of unseen kinds, and monitors at work.

    Options are values for rows with a monitor, which are altered in their best setting that looks at the
    past: `blend` and `lags`, each with a curve, where a monitor has them (the standard profile has neither);
    `level`, to which the budget is tied, each with what its monitor accepts.
    """
    curved, levels = _checked(experiment)
    schedule = unit.schedule(recordings)
    dev, test = unit.banks(experiment.rows, recordings, schedule)
    streams = schedule.unseen_tests()
    found: list[Record] = []
    for label, method in fit_rows(experiment.rows, dev, schedule, unit.fits(recordings)).items():
        bank = test[label]
        found += curves(label, method, streams, bank)
        if method.has_monitor:
            monitor = method.monitored()
            for what, changes in curved.items() if BLENDED in monitor.setting else ():
                found += curves(f"{label}, {what}", monitor.altered(**changes), streams, bank)
            for level in levels:
                other = monitor.altered(level="budget", budget=level)
                found += decisions(f"{label}, level {level:g}", other, streams, bank)
    return found


def curves(label: str, method: Answering, streams: Mapping[str, Stream], bank: Bank) -> list[Record]:
    """Return the area under the curve of each stream, and its error at some coverages."""
    found = []
    for kind, stream in streams.items():
        given = method.answer(observed(stream, bank))
        curve = risk_coverage(given.score, given.predictions() != stream.label)
        found.append(record(kind, label, "aurc", CURVE, float(curve.error.mean()), len(stream)))
        for coverage in COVERAGES:
            at = int(np.argmax(curve.coverage >= coverage))
            found.append(record(kind, label, "error", f"{coverage:g}", curve.error[at], at + 1))
    return found


def decisions(label: str, method: Monitored, streams: Mapping[str, Stream], bank: Bank) -> list[Record]:
    """Return the share of steps that a monitor accepted, its error there, and that of the curve.

    The curve at the same coverage is what one threshold for the whole stream, known in hindsight, would have
    kept: it needs no budget and no adapting.
    """
    found = []
    for kind, stream in streams.items():
        seen = observed(stream, bank)
        given, accepted = method.answer(seen), ~method.decisions(seen).abstained
        wrong, coverage = given.predictions() != stream.label, float(accepted.mean())
        values = {
            "coverage": coverage,
            "error": float(wrong[accepted].mean()),
            "curve_error": risk_at_coverage(given.score, wrong, coverage),
        }
        count = int(accepted.sum())
        found += [record(kind, label, name, DECIDED, value, count) for name, value in values.items()]
    return found


def _checked(experiment: PaperExperiment) -> tuple[dict[str, dict[str, Any]], list[float]]:
    """Return what is altered for a curve, by its name, and levels."""
    known_options(experiment, "blend", "lags", "level")
    options = experiment.options
    for name, values in options.items():
        if not isinstance(values, list) or not values:
            raise ValueError(f"option {name} is {values!r}, expected a list of values")
    curved: dict[str, dict[str, Any]] = {}
    for value in options.get("blend", []):
        curved[f"blend {number('blend', value, 0.0, 1.0):g}"] = {"blend": value}
    for value in options.get("lags", []):
        lags = tuple(value) if isinstance(value, list) else value
        curved[f"lags {'+'.join(map(str, lags))}"] = {"lags": lags}
    return curved, [number("level", value, 0.001, 0.9) for value in options.get("level", [])]
