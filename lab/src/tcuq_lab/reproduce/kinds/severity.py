"""Severity: drop events of streams that show one unseen kind at one severity alone."""

from __future__ import annotations

from ...comparison.records import Record
from ..paper import PaperExperiment
from ..recordings import Recordings
from .comparison import Judge, fit_rows, known_options
from .unit import Unit


def measure(experiment: PaperExperiment, unit: Unit, recordings: Recordings) -> list[Record]:
    """Return the AUPRC of drop events for every unseen kind and severity that the setting shows.

    A record's stream is the kind and its variant names the severity: "own/smoothed/severity 3". Where a
    stream has no drop event, which is likely at severity 1, the figure is undefined.
    """
    known_options(experiment)
    schedule = unit.schedule(recordings)
    dev, test = unit.banks(experiment.rows, recordings, schedule)
    methods = fit_rows(experiment.rows, dev, schedule, unit.fits(recordings))
    judge = Judge.over(schedule, methods, dev, test)
    found = []
    for level, streams in schedule.severe_tests().items():
        found += judge.drops(judge.cases(streams), f"severity {level}")
    return found
