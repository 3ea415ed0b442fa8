"""The literal stream: clean first, then worse and worse, beside segments; and what a clock makes of both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...comparison import clock
from ...comparison.records import Record
from ...methods.confidence import Base
from ...methods.method import Answer, Observed
from ..paper import PaperExperiment
from ..recordings import Recordings
from .comparison import Answering, Judge, fit_rows, known_options
from .unit import Unit


class Clock(Base):
    """The network's answers, and the step number as their score."""

    name = "clock"

    def score(self, seen: Observed, setting: Mapping[str, Any]) -> Answer:
        """Return the number of every step."""
        return Answer(seen.probs, clock(len(seen)))


def measure(experiment: PaperExperiment, unit: Unit, recordings: Recordings) -> list[Record]:
    """Return the AUPRC of drop events of unseen kinds in both orders, of all rows and of a clock.

    Variants are "own/smoothed/literal" and "own/smoothed/segments". Both show the same examples under the
    same kinds at the same severities. The clock's predictions are those of the first row.
    """
    known_options(experiment)
    schedule = unit.schedule(recordings)
    dev, test = unit.banks(experiment.rows, recordings, schedule)
    methods: dict[str, Answering] = {
        **fit_rows(experiment.rows, dev, schedule, unit.fits(recordings)),
        Clock.name: Clock(),
    }
    first = experiment.rows[0].label
    judge = Judge.over(schedule, methods, {**dev, Clock.name: dev[first]}, {**test, Clock.name: test[first]})
    found = judge.drops(judge.cases(schedule.rising_tests()), "literal")
    return found + judge.drops(judge.cases(schedule.unseen_tests()), "segments")
