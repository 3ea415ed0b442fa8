"""The figures of the report, computed from decisions, parameters and labels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import metrics
from ..monitor.class_names import shift_shown
from ..monitor.log import Log
from ..monitor.params import Params

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

BINS = 15


@dataclass(frozen=True)
class Share:
    """Hits among trials."""

    hits: int
    of: int

    @property
    def rate(self) -> float:
        """Hits / trials, 0 without trials."""
        return self.hits / self.of if self.of else 0.0

    def interval(self) -> tuple[float, float]:
        """Return the Wilson interval at 95 %; (0, 1) without trials."""
        return metrics.wilson(self.hits, self.of)


def share(hits: Bools, among: Bools | None = None) -> Share:
    """Count hits among all steps, or among some."""
    if among is None:
        return Share(int(hits.sum()), len(hits))
    return Share(int(hits[among].sum()), int(among.sum()))


def onsets(alarm: npt.NDArray[Any]) -> Ints:
    """Return the steps at which an alarm of either side begins, none having been there before."""
    raised = alarm != 0
    before = np.concatenate([[False], raised[:-1]])
    return np.flatnonzero(raised & ~before)


@dataclass(frozen=True)
class FlagRate:
    """The running flag rate and, with parameters, what bounds it."""

    running: Floats
    level: float | None = None
    debt: tuple[float, float] | None = (
        None  # least and most flags above the level, from the first step here on
    )
    bounds: tuple[float, float] | None = None  # of the debt of a fresh monitor
    resumed: bool = False  # it ran before, so that its debt at the first step is not known

    @property
    def reach(self) -> tuple[float, float]:
        """Least and most flags above the level that any n steps from the first one here on can hold."""
        low, high = self.bounds or (-math.inf, math.inf)
        return (low - high, high - low) if self.resumed else (low, high)

    @property
    def held(self) -> bool:
        """Whether every step, or every window of a resumed run, kept its bound; True without bounds."""
        if self.debt is None or self.bounds is None:
            return True
        hair = 1e-6
        if self.resumed:
            return self.debt[1] - self.debt[0] <= self.bounds[1] - self.bounds[0] + hair
        return self.bounds[0] - hair <= self.debt[0] and self.debt[1] <= self.bounds[1] + hair


def flag_rate(flagged: Bools, params: Params | None, first: int = 0) -> FlagRate:
    """Return the running flag rate and the debt that it was kept by; `first` numbers the first step."""
    flags = np.cumsum(flagged, dtype=np.int64)
    steps = np.arange(1, len(flagged) + 1)
    if params is None:
        return FlagRate(flags / steps)
    numbers = params.integers()
    # Integers, as the core keeps them: a float level would drift over a million steps.
    debt = flags * numbers["level_den"] - steps * numbers["level_num"]
    low, high = int(min(0, debt.min())), int(max(0, debt.max()))
    den = numbers["level_den"]
    return FlagRate(flags / steps, params.level, (low / den, high / den), params.debt_bounds, first > 0)


@dataclass(frozen=True)
class Window:
    """The most abstentions in any so many consecutive steps, and the most that may be."""

    steps: int
    most: int
    bound: int | None


def window_lengths(steps: int) -> list[int]:
    """Return 1, 2, 5, 10, ... up to the whole stream.

    Examples
    --------
    >>> window_lengths(30)
    [1, 2, 5, 10, 20, 30]
    """
    lengths = [m * 10**e for e in range(len(str(steps))) for m in (1, 2, 5) if m * 10**e < steps]
    return [*lengths, steps]


def windows(abstain: Bools, params: Params | None) -> list[Window]:
    """Return the worst window of each length."""
    found = []
    lengths = window_lengths(len(abstain))
    for steps, most in zip(lengths, metrics.worst_window(abstain, lengths).tolist(), strict=True):
        bound = None
        if params is not None:
            numbers = params.integers()
            bound = min(steps, numbers["burst"] + numbers["budget_num"] * steps // numbers["budget_den"])
        found.append(Window(steps, most, bound))
    return found


@dataclass(frozen=True)
class Curve:
    """Error rate among the kept steps against the share kept, safest first."""

    coverage: Floats
    error: Floats

    @property
    def aurc(self) -> float:
        """Area under the curve: the mean of the error rates at 1, 2, ..., T kept steps."""
        return float(self.error.mean())


def risk_coverage(score: Floats, wrong: Bools) -> Curve:
    """Return the curve of a score, low meaning safe; tied steps share their errors evenly."""
    return Curve(*metrics.risk_coverage(score, wrong))


@dataclass(frozen=True)
class Reliability:
    """Accuracy and mean confidence in equal-width bins of confidence; 0 where a bin is empty."""

    counts: Ints
    confidence: Floats
    accuracy: Floats

    @property
    def ece(self) -> float:
        """Expected calibration error: the mean gap, weighted by count."""
        weight = self.counts / max(1, int(self.counts.sum()))
        return float((weight * np.abs(self.accuracy - self.confidence)).sum())


def reliability(top: Floats, right: Bools) -> Reliability:
    """Sort steps into bins of confidence, each open below and closed above."""
    table = metrics.reliability(top, right, BINS)
    return Reliability(table.count, np.nan_to_num(table.confidence), np.nan_to_num(table.accuracy))


@dataclass(frozen=True)
class Delay:
    """What the alarm did about one known shift; `steps` is None unless it was raised in time."""

    start: int
    end: int
    kind: str
    under: int
    outcome: str
    steps: int | None = None
    side: int = 0


@dataclass(frozen=True)
class Response:
    """The alarm against all known shifts."""

    delays: list[Delay]
    false_alarms: int
    clean_steps: int

    @property
    def found(self) -> Share:
        """Shifts that the alarm was raised for, of those that began without an alarm."""
        raised = self.number("raised")
        return Share(raised, raised + self.number("not raised"))

    @property
    def median(self) -> float | None:
        """Median delay, None where fewer than half of the shifts were found."""
        steps = [d.steps for d in self.delays if d.steps is not None]
        return float(np.median(steps)) if steps and 2 * self.found.hits >= self.found.of else None

    def by_kind(self) -> dict[str, Response]:
        """Return the shifts of each kind, in the order in which they came."""
        kinds = dict.fromkeys(d.kind for d in self.delays)
        return {kind: Response([d for d in self.delays if d.kind == kind], 0, 0) for kind in kinds}

    def number(self, outcome: str) -> int:
        """Return how many shifts ended so: "raised", "not raised" or "already raised"."""
        return sum(d.outcome == outcome for d in self.delays)

    @property
    def false_rate(self) -> float | None:
        """False alarms per 1,000 clean steps; None when no step is clean."""
        return 1000 * self.false_alarms / self.clean_steps if self.clean_steps else None


def response(alarm: npt.NDArray[Any], log: Log) -> Response | None:
    """Compare the alarm with the known shifts of a log; None when the log does not tell them.

    The delay is counted from the first shifted step: 0 when the alarm is raised at that very step.
    A shift ends at the first clean step, at the first of another kind, or where its segment ends.
    """
    if log.shifted is None or log.kinds is None:
        return None
    delays = []
    for part in log.stretches():
        start, end, here = part.start, part.stop, alarm[part]
        named = start, end, shift_shown(int(log.kinds[start]), log.shift_names), int((here != 0).sum())
        if start and alarm[start - 1]:
            delays.append(Delay(*named, "already raised", side=int(alarm[start - 1])))
        elif here.any():
            step = int((here != 0).argmax())
            delays.append(Delay(*named, "raised", step, int(here[step])))
        else:
            delays.append(Delay(*named, "not raised"))
    false = int((~log.shifted[onsets(alarm)]).sum())
    return Response(delays, false, int((~log.shifted).sum()))
