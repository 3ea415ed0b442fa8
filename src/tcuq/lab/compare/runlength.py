"""Limits of alarm statistics from a wanted run length, and the run length that a limit achieves.

An alarm is a step at which the statistic is above its limit; at the next step it begins anew from its
starting state. The run length is clean steps per alarm, over runs that each begin anew too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...checks import number
from ...metrics.inputs import Floats, Ints
from .events import finite
from .statistics import Statistic

RUN_LENGTH = 1000.0
SUPPORT = 10
"""Clean steps needed per step of wanted run length: about so many alarms are counted."""

SLACK = 1e-9
"""Values this near to a limit are not above it: sums of the same scores differ by rounding."""

FIRST = 64


@dataclass(frozen=True)
class RunLength:
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


def alarm_steps(statistic: Statistic, score: npt.ArrayLike, limit: float, most: int | None = None) -> Ints:
    """Return the steps of one run at which the alarm is raised.

    Parameters
    ----------
    statistic : Statistic
    score : array of T finite numbers
    limit : float
    most : int, optional
        Stop after so many alarms.

    Examples
    --------
    >>> from tcuq.lab.compare.statistics import Cusum, Reference
    >>> cusum = Cusum(Reference(0.0, 1.0, np.zeros(1)), allowance=0.0)
    >>> alarm_steps(cusum, [1, 1, 1, 1, 1], 1.5).tolist()
    [1, 3]
    """
    return _alarms(statistic, statistic.terms(finite("score", score)), limit, most)


def _alarms(statistic: Statistic, terms: Floats, limit: float, most: int | None) -> Ints:
    found: list[int] = []
    begin = 0
    while begin < len(terms) and (most is None or len(found) < most):
        first = _first_above(statistic, terms[begin:], limit + SLACK)
        if first is None:
            break
        found.append(begin + first)
        begin += first + 1
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


def run_length(statistic: Statistic, runs: Sequence[npt.ArrayLike], limit: float) -> RunLength:
    """Count the alarms over clean runs, each from the starting state."""
    return _count(statistic, [statistic.terms(finite("score", run)) for run in runs], limit)


def _count(statistic: Statistic, runs: Sequence[Floats], limit: float, most: int | None = None) -> RunLength:
    alarms = 0
    for terms in runs:
        alarms += len(_alarms(statistic, terms, limit, None if most is None else most - alarms))
    return RunLength(limit, sum(len(terms) for terms in runs), alarms)


def find_limit(statistic: Statistic, runs: Sequence[npt.ArrayLike], wanted: float = RUN_LENGTH) -> RunLength:
    """Return the smallest limit at which clean steps per alarm are at least `wanted`.

    The limits tried are the values that the statistic takes on the runs without any alarm, by bisection. More
    limit means fewer alarms for all that begin anew at their lowest value. Others (means that begin in their
    middle) may deviate; then the limit holds, and the next lower value that was tried does not.

    Parameters
    ----------
    statistic : Statistic
    runs : sequence of arrays
        Scores on clean development streams.
    wanted : float
        At least 1; ten times as many clean steps are needed.

    Returns
    -------
    RunLength
        The limit, and what it achieves on these runs.

    Raises
    ------
    ValueError
        When there are too few clean steps.
    """
    length = number("run length", wanted, 1, 1e9)
    scores = [finite("score", run) for run in runs]
    steps = sum(len(run) for run in scores)
    if steps < SUPPORT * length:
        raise ValueError(
            f"a run length of {length:g} needs {SUPPORT * length:g} clean steps or more; {steps} are given"
        )
    allowed = int(steps / length)
    terms = [statistic.terms(run) for run in scores]
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
