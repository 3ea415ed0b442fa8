"""Limits of alarm statistics from a wanted run length, the run length that a limit achieves, and delays.

An alarm is a step at which the statistic is above its limit; at the next step it starts over from its
starting state. The run length is clean steps per alarm, over runs that each start over too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import number
from tcuq.metrics.inputs import Floats, Ints, wholes

from ..metrics.drops import WINDOW, finite, pieces, reaches, stretches
from .statistics import STATISTICS, Factory, Reference, Statistic

RUN_LENGTH = 1000.0
SUPPORT = 10
"""Clean steps needed per step of wanted run length: about so many alarms are counted."""
SLACK = 1e-9
"""Values this near to a limit are not above it: sums of the same scores differ by rounding."""
FIRST = 64


class RunLength(NamedTuple):
    """Alarms counted over clean steps at a limit."""

    limit: float
    steps: int
    alarms: int

    @property
    def value(self) -> float:
        """Clean steps per alarm; infinite without alarms, NaN without steps."""
        if not self.steps:
            return float("nan")
        return self.steps / self.alarms if self.alarms else float("inf")


class Armed(NamedTuple):
    """A statistic with its limit and what that limit achieved where it was found."""

    statistic: Statistic
    found: RunLength

    @property
    def limit(self) -> float:
        """Value above which there is an alarm."""
        return self.found.limit


def alarm_steps(statistic: Statistic, terms: Floats, limit: float, most: int | None = None) -> Ints:
    """Return the first steps of one run at which the alarm is raised, at most so many."""
    found: list[int] = []
    begin = 0
    while begin < len(terms) and (most is None or len(found) < most):
        first = _first_above(statistic, terms[begin:], limit + SLACK)
        if first is None:
            break
        found.append(begin + first)
        begin = found[-1] + 1
    return np.array(found, dtype=np.int64)


def _first_above(statistic: Statistic, terms: Floats, limit: float) -> int | None:
    """Look for the first alarm in parts of growing length: one that comes soon costs little."""
    seen, size = 0, FIRST
    while seen < len(terms):
        above = statistic.run(terms[:size])[seen:] > limit
        at = int(above.argmax()) if len(above) else 0
        if above[at]:
            return seen + at
        seen, size = min(size, len(terms)), size * 4
    return None


def _count(statistic: Statistic, terms: Sequence[Floats], limit: float, most: int | None = None) -> RunLength:
    alarms = 0
    for each in terms:
        left = None if most is None else most - alarms
        alarms += len(alarm_steps(statistic, each, limit, left))
    return RunLength(limit, sum(map(len, terms)), alarms)


def _terms(statistic: Statistic, runs: Sequence[npt.ArrayLike]) -> list[Floats]:
    return [statistic.terms(finite("score", run)) for run in runs]


def run_length(statistic: Statistic, runs: Sequence[npt.ArrayLike], limit: float) -> RunLength:
    """Count the alarms over clean runs, each from the starting state."""
    return _count(statistic, _terms(statistic, runs), limit)


def find_limit(statistic: Statistic, runs: Sequence[npt.ArrayLike], wanted: float = RUN_LENGTH) -> RunLength:
    """Return the lowest value of the statistic at which clean steps per alarm are at least `wanted`.

    More limit means fewer alarms for all that start over at their lowest value; where others deviate, the
    limit holds, and the next lower value that was tried does not.
    """
    length, terms = number("run length", wanted, 1, 1e9), _terms(statistic, runs)
    steps = sum(map(len, terms))
    if steps < SUPPORT * length:
        raise ValueError(
            f"a run length of {length:g} needs {SUPPORT * length:g} clean steps or more; {steps} are given"
        )
    allowed = int(steps / length)
    values = np.unique(np.round(np.concatenate([statistic.run(part) for part in terms]), 9))
    low, high = -1, len(values) - 1  # the highest value is never exceeded
    while high - low > 1:
        middle = (low + high) // 2
        # Counting stops at the first alarm too many, so that low limits cost little.
        if _count(statistic, terms, float(values[middle]), allowed + 1).alarms <= allowed:
            high = middle
        else:
            low = middle
    return _count(statistic, terms, float(values[high]))


def arm(
    runs: Sequence[npt.ArrayLike],
    run_length: float = RUN_LENGTH,
    statistics: Mapping[str, Factory] = STATISTICS,
) -> dict[str, Armed]:
    """Give every statistic the limit for a run length, from a method's clean development scores."""
    reference = Reference.of(runs)
    made = {name: factory(reference) for name, factory in statistics.items()}
    return {name: Armed(each, find_limit(each, runs, run_length)) for name, each in made.items()}


class Trials(NamedTuple):
    """Changes from clean to shifted, each with its delay."""

    lengths: Ints  # of the shifted stretches
    delays: Floats  # infinite where there was no alarm in the stretch
    false: int  # alarms on clean steps
    clean: int

    @property
    def restricted(self) -> Floats:
        """Delays, a miss costing the whole stretch."""
        return np.minimum(self.delays, self.lengths)


def trials(
    armed: Armed,
    risk: npt.ArrayLike,
    kinds: npt.ArrayLike,
    segments: npt.ArrayLike | None = None,
    memory: int = WINDOW,
) -> Trials:
    """Compare alarms, after each of which the statistic starts over, with the changes of a stream."""
    terms, shown = armed.statistic.terms(finite("score", risk)), wholes("kinds", kinds, low=0)
    runs = [
        piece.start + alarm_steps(armed.statistic, terms[piece], armed.limit)
        for piece in pieces(len(shown), segments)
    ]
    raised, found = np.concatenate([np.empty(0, np.int64), *runs]), stretches(shown, segments)
    starts = np.array([part.start for part in found], dtype=np.int64)
    stops = np.array([part.stop for part in found], dtype=np.int64)
    first = np.append(raised, len(shown))[np.searchsorted(raised, starts)]
    clean = ~reaches(shown > 0, memory, segments)
    return Trials(
        stops - starts,
        np.where(first < stops, first - starts, np.inf),
        int(clean[raised].sum()),
        int(clean.sum()),
    )
