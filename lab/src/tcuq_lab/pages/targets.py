"""Targets: what this project wants to reach on streams, as rules, and whether the figures reach it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from tcuq.base.checks import known, known_only

from ..reproduce.field.lines import Line
from ..reproduce.field.plan import BACKBONES, CLASS_LAWS, FAMILY, LASTING_LAWS, NETWORKS, UNTOLD, UnitPlan
from .field import TYPE, Field
from .reading import read

FORMAT = "tcuq targets 1"
NEEDED = ("id", "about", "text", "experiment", "row", "column")
ENTRIES = (
    *NEEDED, "fit", "streams", "tasks", "than", "than_fit", "of", "least", "most", "strict", "beyond",
    "mean",
)  # fmt: skip
MEAN = "mean of {} streams"
"""Stream of a figure that several streams were averaged into."""
RIVALS = "every rival of one pass"


@dataclass(frozen=True)
class Target:
    """A sentence and how it is judged, for each task by itself.

    Parameters
    ----------
    name, about, text, experiment, row, column, fit : str
    streams : tuple of str
        Names of streams, or of groups of them; all figures must be within the bounds.
    tasks : tuple of str
    than : tuple of str
        Rows to which the row is compared; none to look at its own figure.
    than_fit : str
    of : str
        "-" or "/", where rows are compared.
    low, high : float
        Bounds of the figure, of the difference or of the ratio.
    strict : bool
        A figure on a bound is outside.
    beyond : bool
        A figure is outside only if its whole interval is.
    mean : bool
        The mean over streams is judged, not the figure farthest from the bounds.
    """

    name: str
    about: str
    text: str
    experiment: str
    row: str
    column: str
    fit: str
    streams: tuple[str, ...]
    tasks: tuple[str, ...]
    than: tuple[str, ...]
    than_fit: str
    of: str
    low: float
    high: float
    strict: bool
    beyond: bool
    mean: bool

    def off(self, value: float) -> float:
        """Return how far a value is outside, at most 0 inside."""
        off = max(self.low - value, value - self.high)
        return math.ulp(0.0) if self.strict and off == 0 else off


class Verdict(NamedTuple):
    """A target for one task.

    Parameters
    ----------
    target : Target
    task : str
    line : Line, optional
        The figure that decides: the one farthest from the target. None where a figure is missing.
    met : bool
    clear : bool
        The whole interval says so; never where there is none.
    shown : bool
        False where the task was run and has nothing of the kind.
    """

    target: Target
    task: str
    line: Line | None
    met: bool = False
    clear: bool = False
    shown: bool = True

    @property
    def words(self) -> str:
        """The verdict in words."""
        if not self.shown:
            return "nothing to judge"
        if self.line is None:
            return "not run yet"
        if math.isnan(self.line.low) or math.isnan(self.line.high):
            return "not settled"
        return ("met" if self.met else "missed") + ("" if self.clear else ", within the interval")


class Targets(NamedTuple):
    """All targets.

    Parameters
    ----------
    about : str
    several : tuple of str
        Rivals that run more than one network, or one network more than once; all others are of one pass.
    targets : tuple of Target
    """

    about: str
    several: tuple[str, ...]
    targets: tuple[Target, ...]


def targets_from(content: Mapping[str, Any]) -> Targets:
    """Return targets from their JSON.

    Examples
    --------
    >>> one = {"id": "x", "about": "", "text": "", "experiment": "answers", "row": "tcuq", "column": "errors"}
    >>> targets_from({"about": "", "several_passes": [], "targets": [one]})
    Traceback (most recent call last):
    ...
    ValueError: target x has neither least nor most, expected one of them
    """
    found: list[Target] = []
    for number, each in enumerate(content["targets"]):
        name = each.get("id", number)
        known_only(f"entry of target {name}", each, ENTRIES)
        for entry in NEEDED:
            if not isinstance(each.get(entry), str):
                raise ValueError(f"target {name}: {entry} is {each.get(entry)!r}, expected text")
        if "least" not in each and "most" not in each:
            raise ValueError(f"target {name} has neither least nor most, expected one of them")
        if name in [before.name for before in found]:
            raise ValueError(f"target {name} comes twice, expected each once")
        fit = each.get("fit", UNTOLD)
        found.append(
            Target(
                each["id"],
                each["about"],
                each["text"],
                each["experiment"],
                each["row"],
                each["column"],
                fit,
                tuple(each.get("streams", ("laws",))),
                tuple(known("task", task, NETWORKS) for task in each.get("tasks", BACKBONES)),
                tuple(each.get("than", ())),
                each.get("than_fit", fit),
                known("of", each.get("of", "-"), ("-", "/")),
                float(each.get("least", -math.inf)),
                float(each.get("most", math.inf)),
                bool(each.get("strict", False)),
                bool(each.get("beyond", False)),
                bool(each.get("mean", False)),
            )
        )
    return Targets(content["about"], tuple(content["several_passes"]), tuple(found))


def load_targets(path: str | Path) -> Targets:
    """Return the targets of a file."""
    return read(path, FORMAT, ("about", "several_passes", "targets"), targets_from)


def judge(targets: Targets, fields: Mapping[str, Field]) -> list[Verdict]:
    """Return the verdicts of all targets, task by task within each.

    Parameters
    ----------
    targets : Targets
    fields : mapping of str to Field
    """
    found = []
    for target in targets.targets:
        field = fields.get(target.experiment)
        for task in target.tasks:
            verdict = judged(target, task, list(_figures(target, task, field, targets.several)))
            # Shifts of a task may all be costly.
            gone = field is not None and task in field.tasks and not field.lines(task, target.column)
            found.append(verdict._replace(shown=not gone))
    return found


def judged(target: Target, task: str, lines: Sequence[Line | None]) -> Verdict:
    """Return whether all figures are within the bounds; the one farthest off decides.

    Parameters
    ----------
    target : Target
    task : str
    lines : sequence of Line or None
        None stands for a figure that is missing.
    """
    there = [line for line in lines if line is not None]
    if len(there) < len(lines) or not there:
        return Verdict(target, task, None)
    if target.mean:
        there = [averaged(there)]
    bare = [line for line in there if math.isnan(line.low) or math.isnan(line.high)]
    worst = max(there, key=lambda line: target.off(line.value))
    if bare:  # nothing settles these; a figure with an interval may still miss the target
        worst = max(bare, key=lambda line: target.off(line.value))
        missed = [line for line in there if line not in bare and _nearest(target, line) > 0]
        if not missed:
            return Verdict(target, task, worst)
        return Verdict(target, task, max(missed, key=lambda line: target.off(line.value)), False, True)
    if target.beyond:
        outside = [line for line in there if _nearest(target, line) > 0]
        worst = max(outside, key=lambda line: target.off(line.value)) if outside else worst
        return Verdict(target, task, worst, not outside, True)
    met = target.off(worst.value) <= 0
    if met:
        ends = [end for line in there for end in (line.low, line.high)]
        return Verdict(target, task, worst, True, all(target.off(end) <= 0 for end in ends))
    return Verdict(target, task, worst, False, _nearest(target, worst) > 0)


def averaged(lines: Sequence[Line]) -> Line:
    """Return the mean of figures of several streams, whose stretches are drawn independently of each other.

    Examples
    --------
    >>> two = [Line("mnist", name, "tcuq", "", "errors", 0.2, 0.17, 0.24, 5) for name in ("a", "b")]
    >>> [round(each, 3) for each in averaged(two)[5:8]]
    [0.2, 0.179, 0.228]
    """
    count = len(lines)
    value = sum(line.value for line in lines) / count
    low = math.hypot(*(line.value - line.low for line in lines)) / count
    high = math.hypot(*(line.high - line.value for line in lines)) / count
    stream = MEAN.format(count)
    return lines[0]._replace(stream=stream, value=value, low=value - low, high=value + high)


def _nearest(target: Target, line: Line) -> float:
    """Return how far outside the value of an interval is that lies nearest to the bounds."""
    if line.low <= target.high and line.high >= target.low:
        return 0.0
    return min(target.off(line.low), target.off(line.high))


def _figures(target: Target, task: str, field: Field | None, several: Sequence[str]) -> Iterator[Line | None]:
    if field is None or task not in field.tasks:
        yield None
        return
    for stream in streams_of(target, task, field):
        if not target.than:
            yield field.look(task, stream, target.row, target.column, target.fit)
        for rival in rivals_of(target, task, stream, field, several):
            if rival != target.row:
                yield field.pair(
                    task, stream, target.row, rival, target.column, target.fit, target.of, target.than_fit
                )


def streams_of(target: Target, task: str, field: Field) -> list[str]:
    """Return the streams that a target looks at, groups written out.

    Mixed streams are in groups of their own: all of them, and those whose shifts last.
    """
    every = field.laws(task, target.column)
    laws = [law for law in every if law not in FAMILY]
    groups = {
        "laws": laws,
        "persistent": [law for law in laws if law != "class 1"],
        "class laws": [law for law in laws if law in CLASS_LAWS],
        "lived": [UnitPlan(task, 0).lived],
        "types": [each for each in field.streams(task, target.column) if each.startswith(TYPE)],
        "mixed": [law for law in every if law in FAMILY] or list(FAMILY),
        "lasting": list(LASTING_LAWS),
    }
    return [stream for name in target.streams for stream in groups.get(name, [name])]


def rivals_of(target: Target, task: str, stream: str, field: Field, several: Sequence[str]) -> list[str]:
    """Return the rows that a target compares to, groups written out."""
    one_pass = [
        row
        for row in field.rivals(task, target.column)
        if row not in several and field.look(task, stream, row, target.column, target.than_fit)
    ]
    return [row for name in target.than for row in (one_pass if name == RIVALS else [name])]
