"""Transfer: methods fitted at one dwell, used at another."""

from __future__ import annotations

from tcuq.base.checks import number

from ...comparison.records import Record
from ...methods.temporal.streaming import Streaming
from ..experiment import Experiment
from ..recordings import Recordings
from .comparison import DROP, Answering, Judge, fitted, known_options, refuse_twice
from .unit import Unit

METRICS = ((DROP, "own/smoothed/unseen"), ("mixed_failure_auroc", "own/plain/unseen"))


def measure(experiment: Experiment, unit: Unit, recordings: Recordings) -> list[Record]:
    """Return drops and errors of unseen kinds at the unit's dwell, of methods fitted at several dwells.

    A row that remembers past steps becomes one for each dwell of the option `fitted`: "tcuq, fitted at 4".
    The others answer step by step and stay one row, fitted at the unit's own dwell. Bands of drop events
    come from the clean stream at the dwell of use.
    """
    dwells = fitted_at(experiment)
    refuse_twice(experiment.rows)
    schedule = unit.schedule(recordings)
    dev, test = unit.banks(experiment, recordings, schedule)
    methods: dict[str, Answering] = {}
    for row in experiment.rows:
        remembers = issubclass(row.method, Streaming)
        for dwell in dwells if remembers else [unit.dwell]:
            title = f"{row.label}, fitted at {dwell:g}" if remembers else row.label
            place = unit._replace(dwell=dwell).fits(recordings)(row)
            methods[title] = fitted(row, dev[row.label], schedule.at(dwell), place)
            dev[title], test[title] = dev[row.label], test[row.label]
    judge = Judge.over(schedule, methods, dev, test)
    return judge.metrics(judge.cases(schedule.unseen_tests()), *METRICS)


def fitted_at(experiment: Experiment) -> tuple[float, ...]:
    """Return the dwells of the option `fitted`, which is needed."""
    known_options(experiment, "fitted")
    given = experiment.options.get("fitted")
    if not isinstance(given, list) or not given:
        raise ValueError(f"fitted of {experiment.name} is {given!r}, expected a list of dwells")
    found = tuple(number(f"fitted of {experiment.name}", each, 1, 1000) for each in given)
    if len(set(found)) < len(found):
        raise ValueError(f"fitted of {experiment.name} is {given!r}, expected each once")
    return found
