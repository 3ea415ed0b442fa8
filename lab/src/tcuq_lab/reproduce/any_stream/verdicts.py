"""What the experiment was asked to show, and whether the figures show it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from . import alarming as alarm
from . import answering as answers
from . import expecting, ranking
from .lines import Found, Line
from .plan import CLASS_STREAMS, CONTINUOUS, OBJECT, SOUND

NATURAL = ("speech_commands", "cifar10")
"""Tasks whose networks err often enough on clean data for some targets."""
ALARM_TARGETS = {
    alarm.WITH: {alarm.FOUND: 0.95, alarm.DELAY: 8.0, alarm.CLEAN_ON: 0.05, alarm.CLEAR: 20.0},
    alarm.WITHOUT: {alarm.FOUND: 0.90, alarm.DELAY: 10.0, alarm.CLEAN_ON: 0.08},
}
OBJECT_TARGETS = {
    alarm.WITH: {alarm.CLEAN_ON: 0.12, alarm.COSTLY_ON: 0.60},
    alarm.WITHOUT: {alarm.CLEAN_ON: 0.12, alarm.COSTLY_ON: 0.45},
}
AT_LEAST = (alarm.FOUND, alarm.COSTLY_ON)
"""Columns of the alarm whose targets are lower bounds."""


class Verdict(NamedTuple):
    """A target for one task.

    Parameters
    ----------
    about : str
        Part of the experiment.
    target : str
    task : str
    line : Line, optional
        The figure that decides: the one farthest from the target where there are several. None where the
        result has no such figure.
    met : bool
    clear : bool
        The whole interval says so.
    """

    about: str
    target: str
    task: str
    line: Line | None
    met: bool
    clear: bool

    @property
    def words(self) -> str:
        """The verdict in words."""
        if self.line is None:
            return "not measured"
        return ("met" if self.met else "missed") + ("" if self.clear else ", within the interval")


class Bound(NamedTuple):
    """What a figure should be: from `low` to `high`."""

    low: float = -float("inf")
    high: float = float("inf")

    def off(self, value: float) -> float:
        """Return how far a value is outside, below 0 inside."""
        return max(self.low - value, value - self.high)


BELOW = Bound(high=-1e-9)
"""A difference below 0; equal is not below."""


def judged(about: str, target: str, task: str, lines: Sequence[Line | None], bound: Bound) -> Verdict:
    """Return whether all figures are within a bound.

    Examples
    --------
    >>> line = Line("mnist", "class 1", "a - b", "auroc", 0.01, -0.01, 0.03)
    >>> judged("ranking", "above", "mnist", [line], Bound(low=0.0)).words
    'met, within the interval'
    """
    found = [each for each in lines if each is not None]
    if len(found) < len(lines) or not found:
        return Verdict(about, target, task, None, False, False)
    worst = max(found, key=lambda each: bound.off(each.value))
    met = bound.off(worst.value) <= 0
    if met:
        clear = all(bound.off(end) <= 0 for each in found for end in (each.low, each.high) if end == end)
    else:
        clear = worst.low != worst.low or worst.low > bound.high or worst.high < bound.low
    return Verdict(about, target, task, worst, met, clear)


def not_below(about: str, target: str, task: str, lines: Sequence[Line | None]) -> Verdict:
    """Return whether no difference is below 0 with its whole interval."""
    found = [each for each in lines if each is not None]
    if len(found) < len(lines) or not found:
        return Verdict(about, target, task, None, False, False)
    below = [each for each in found if each.high < 0]
    worst = min(below or found, key=lambda each: each.value)
    return Verdict(about, target, task, worst, not below, True)


def verdicts(found: Found) -> list[Verdict]:
    """Return the verdicts of all targets, task by task within each target."""
    tasks = found.tasks()
    made: list[Verdict] = []
    for rule in (_ranking, _answers, _coverage, _alarm, _false_alarms, _object, _accuracy):
        by_task = [list(rule(found, task)) for task in tasks]
        targets = dict.fromkeys(each.target for part in by_task for each in part)
        made += [each for target in targets for part in by_task for each in part if each.target == target]
    return made


Get = Callable[[str, str], "Line | None"]


def _of(found: Found, task: str, column: str) -> Get:
    return lambda stream, row: found.get(task, stream, row, column)


def _ranking(found: Found, task: str) -> Iterable[Verdict]:
    get, about = _of(found, task, ranking.COLUMN), "ranking errors of the label"
    streams = found.streams(task, ranking.COLUMN)
    for rival in (ranking.INT8, ranking.FLOAT):
        differences = [get(stream, f"{ranking.OURS} - {rival}") for stream in streams]
        target = f"AUROC not below {rival} beyond the paired interval, any stream"
        yield not_below(about, target, task, differences)
    yield judged(
        about,
        "AUROC at class dwell 16 at most .01 below the extended profile fitted for that dwell",
        task,
        [get("class 16", f"{ranking.OURS} - {ranking.TOLD}")],
        Bound(low=-0.01),
    )
    for rival in (ranking.INT8, ranking.FLOAT):
        target = f"AUROC at class dwell 1 at most .005 below {rival}"
        row = f"{ranking.OURS} - {rival}"
        yield judged(about, target, task, [get("class 1", row)], Bound(low=-0.005))
        if task == "cifar10":
            target = f"goal: AUROC at object dwell at least .03 above {rival}"
            yield judged(about, target, task, [get(OBJECT, row)], Bound(low=0.03))


def _answers(found: Found, task: str) -> Iterable[Verdict]:
    get, about = _of(found, task, answers.ERRORS), "errors among answers"
    streams = [each for each in found.streams(task, answers.ERRORS) if not each.startswith("type ")]
    row = f"{answers.ANSWER} - {answers.LABEL}"
    yield judged(
        about,
        "errors of the answer at most .005 above those of the label, any stream and all types together",
        task,
        [get(stream, row) for stream in streams],
        Bound(high=0.005),
    )
    if task in NATURAL:
        yield judged(
            about,
            "errors of the answer at class dwell 16 at most three quarters of those of the label",
            task,
            [get("class 16", f"{answers.ANSWER} / {answers.LABEL}")],
            Bound(high=0.75),
        )


def _coverage(found: Found, task: str) -> Iterable[Verdict]:
    rows = [row for row in found.rows(answers.LEFT) if " - " not in row]
    asked = (ranking.INT8, ranking.FLOAT, "vote over 8", "mean of 8", "belief, told the stream")
    get = _of(found, task, answers.LEFT)
    for stream in ("class 16", "class 64"):
        yield judged(
            "errors among answers",
            f"errors left at 90 % coverage below confidence, vote, mean and told belief, {stream}",
            task,
            [get(stream, f"{answers.OURS} - {row}") for row in asked if row in rows],
            BELOW,
        )


def _alarm(found: Found, task: str) -> Iterable[Verdict]:
    yield from _bounds(found, task, "class 16", ALARM_TARGETS)


def _object(found: Found, task: str) -> Iterable[Verdict]:
    # Keywords have continuous sound in place of objects.
    yield from _bounds(found, task, CONTINUOUS if task == SOUND else OBJECT, OBJECT_TARGETS)


def _bounds(found: Found, task: str, stream: str, targets: dict[str, dict[str, float]]) -> Iterable[Verdict]:
    for row, columns in targets.items():
        for column, value in columns.items():
            least = column in AT_LEAST
            bound = Bound(low=value) if least else Bound(high=value)
            target = f"alarm {row}, {stream}: {column} at {'least' if least else 'most'} {value:g}"
            yield judged("alarm", target, task, [found.get(task, stream, row, column)], bound)


def _false_alarms(found: Found, task: str) -> Iterable[Verdict]:
    for row in ALARM_TARGETS:
        line = found.get(task, alarm.CLEAN_STREAM, row, alarm.RATE)
        target = f"alarm {row}: false alarms on clean test data half to twice as many as asked for"
        yield judged("alarm", target, task, [line], Bound(0.5, 2.0))


def _accuracy(found: Found, task: str) -> Iterable[Verdict]:
    get, about = _of(found, task, expecting.COLUMN), "expected accuracy"
    if task in NATURAL:
        target = "mean error over windows of 200 steps at most .05, class streams"
        lines = [get(stream, expecting.OURS) for stream in CLASS_STREAMS]
        yield judged(about, target, task, lines, Bound(high=0.05))
    for rival in (expecting.ATC, expecting.DOC):
        lines = [get(stream, f"{expecting.OURS} - {rival}") for stream in CLASS_STREAMS]
        yield judged(about, f"mean error below that of {rival}, class streams", task, lines, BELOW)
