"""Figures of result files, as pages look them up."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ..experiments.registry import TITLES
from ..experiments.result_files import PAIRS, unpacked
from ..harness.laws import FAMILY, TOLD, UNTOLD
from ..harness.lines import Line, from_entries
from .words import percent, row_name

NAN = math.nan
Place = tuple[str, str]
ANSWER, ALARM, NO_LABELS = "tcuq answer", "tcuq", "tcuq no labels"
"""Ours: the default monitor, its alarm as experiments on alarms name it, and a fit without labels."""
CONFIDENCE, FILTER, DEEP = "base", "belief_told", "deep"
SIMPLE = ("entropy", "temperature", "confidence_norm", "vote", "vote_8", "mean_posterior", "mean_8",
          "mean_answer", "median", "suppress", "belief", "belief_told", "hmm")  # fmt: skip
"""Rules of a few lines that need no more than the outputs of one pass."""
SEVERAL_PASSES = ("deep", "mc_dropout", "odin", "GDE")
"""Methods that run the network more than once a step, or backwards; so does every alarm "X, deep"."""
FITS = (TOLD, UNTOLD, "")
"""Which fit of a row is shown, the first that there is: on a recording of the same kind of stream, on one
that mixes paces, none."""
RECORDED = ("signs", "motion")
"""Tasks whose streams are recordings in their own order; their one fit is on other such recordings."""
STAYS, HELD, SHUFFLED = "classes stay", "held objects, continuous sound", "shuffled"
REAL, MIXED, LABELS, CLEAN = "real recordings", "mixed runs", "label shift only", "clean"
GROUPS = (REAL, STAYS, MIXED, HELD, SHUFFLED, LABELS, CLEAN)
PAPER_RIVALS = ("base", "mc_dropout", "deep", "early_exit", "godin", "hydra")
WHOLE, SUBSET = "tinyimagenet", "tinyimagenet20"
"""All classes of TinyImageNet, and the 16 on which ResNet-50 and the number of exits were measured."""
SEVERITIES = (1, 2, 3, 4, 5)
UNSEEN = "AUPRC, unseen kinds"
"""Column of drop detection on corruption types that no fit has seen."""
LESS = ("errors", "delay", "clean on", "benign on", "false", "accuracy error", "accuracy bias")
"""How columns begin whose low figures are good."""


def group_of(task: str, stream: str) -> str:
    """Return the group of a stream."""
    if stream == "clean" or stream.endswith(", clean"):
        return CLEAN
    if "label" in stream or "missing" in stream:
        return LABELS
    if task in RECORDED:
        return REAL
    if stream in ("class 1", "shuffled steps"):
        return SHUFFLED
    if stream.startswith("object") or stream == "continuous sound":
        return HELD
    return MIXED if stream in FAMILY or stream.startswith("mixed") else STAYS


def grouped(places: Iterable[Place]) -> dict[str, list[Place]]:
    """Return the streams of each group that has any."""
    found: dict[str, list[Place]] = {group: [] for group in GROUPS}
    for place in places:
        found[group_of(*place)].append(place)
    return {group: here for group, here in found.items() if here}


def one_pass(row: str) -> bool:
    """Return whether a rival costs one forward pass a step, as ours does."""
    return row not in SEVERAL_PASSES and not row.endswith(", deep")


def on_mixed_paces(line: Line) -> bool:
    """Return whether a row was fitted on a stream that mixes paces, not on one like that of the test."""
    return line.fit == UNTOLD and line.task not in RECORDED


def better(column: str, first: float, second: float) -> bool:
    """Return whether the first of two figures of a column is the better one."""
    return first < second if column.startswith(LESS) else first > second


@dataclass(frozen=True)
class Field:
    """Figures of one experiment on streams."""

    about: Mapping[str, Any]  # what the result file says about itself
    lines: Sequence[Line]

    @cached_property
    def _at(self) -> dict[tuple[str, str, str, str, str], Line]:
        return {line[:5]: line for line in self.lines if not math.isnan(line.value)}

    @cached_property
    def _there(self) -> dict[tuple[str, str], dict[str, list[str]]]:
        """Rows and their fits by task and column, in the order of the file."""
        found: dict[tuple[str, str], dict[str, list[str]]] = {}
        for line in self.lines:
            fits = found.setdefault((line.task, line.column), {}).setdefault(line.row, [])
            if line.fit not in fits:
                fits.append(line.fit)
        return found

    def places(self, column: str, row: str) -> list[Place]:
        """Return tasks and streams on which a row has a column, by group, without single corruption types."""
        there = {
            (line.task, line.stream): None
            for line in self.lines
            if line.column == column
            and line.row == row
            and not line.stream.startswith(("type ", "all types", "dev"))
        }
        tasks = list(dict.fromkeys(task for task, _ in there))
        order = sorted(range(len(tasks)), key=lambda at: (tasks[at] not in RECORDED, at))
        rank = {tasks[at]: number for number, at in enumerate(order)}
        return sorted(there, key=lambda place: (GROUPS.index(group_of(*place)), rank[place[0]]))

    def rows(self, column: str) -> list[str]:
        """Return all rows of a column that are methods, not differences."""
        found: dict[str, None] = {}
        for (_, each), rows in self._there.items():
            if each == column:
                found |= dict.fromkeys(row for row in rows if not any(sign in row for sign in PAIRS))
        return list(found)

    def rivals(self, column: str) -> list[str]:
        """Return the rows of a column that are not ours, those of one pass."""
        return [row for row in self.rows(column) if not row.startswith("tcuq") and one_pass(row)]

    def get(self, task: str, stream: str, row: str, column: str, fits: Sequence[str] = FITS) -> Line | None:
        """Return a figure under the first of some fits that the row has on that stream, None without any."""
        for fit in fits:
            line = self._at.get((task, stream, row, fit, column))
            if line is not None:
                return line
        return None

    def on(self, places: Iterable[Place], row: str, column: str, fits: Sequence[str] = FITS) -> list[Line]:
        """Return a figure on each of some streams, but those that have none."""
        return [line for place in places for line in [self.get(*place, row, column, fits)] if line]

    def values(
        self, places: Iterable[Place], row: str, column: str, fits: Sequence[str] = FITS
    ) -> list[float]:
        """Return the values of a figure on each of some streams, but those that have none."""
        return [line.value for line in self.on(places, row, column, fits)]

    def gap(self, ours: Line, rival: str) -> Line | None:
        """Return the paired difference of a figure of ours and a rival; its interval where one is kept."""
        row = f"{ours.row} - {rival}"
        for name in (row, f"{row}, {ours.fit or 'unfitted'}", f"{row}, unfitted"):
            line = self._at.get((ours.task, ours.stream, name, ours.fit, ours.column))
            if line is not None:
                return line
        other = self.get(ours.task, ours.stream, rival, ours.column, (ours.fit, ""))
        if other is None or not math.isfinite(ours.value - other.value):
            return None
        return ours._replace(row=row, value=ours.value - other.value, low=NAN, high=NAN)

    def best(self, task: str, stream: str, rows: Iterable[str], column: str) -> Line | None:
        """Return the best figure among some rows."""
        found: Line | None = None
        for row in rows:
            line = self.get(task, stream, row, column)
            if line is not None and (found is None or better(column, line.value, found.value)):
                found = line
        return found


def cell(line: Line | None, name: bool = False) -> str:
    """Return a share in percent, with the name of its row where that is asked for; nothing without one."""
    if line is None:
        return ""
    return f"{percent(line.value)}, {row_name(line.row)}" if name else percent(line.value)


def is_worse(gap: Line) -> bool:
    """Return whether ours is worse beyond the 95 % interval of a paired difference."""
    return gap.low > 0 if gap.column.startswith(LESS) else gap.high < 0


def is_better(gap: Line) -> bool:
    """Return whether ours is better beyond the 95 % interval of a paired difference."""
    return gap.high < 0 if gap.column.startswith(LESS) else gap.low > 0


@dataclass(frozen=True)
class Repeated:
    """Figures of an experiment that repeats one of the paper, by task, dwell, row and column."""

    about: Mapping[str, Any]
    figures: Mapping[tuple[str, float, str, str], float]

    def get(self, task: str, row: str, column: str, dwell: float | None = None) -> float:
        """Return a figure, NaN where there is none; at a dwell of 16 or 1 where none is named."""
        for each in (16.0, 1.0) if dwell is None else (dwell,):
            if (task, each, row, column) in self.figures:
                return self.figures[task, each, row, column]
        return NAN

    def rows(self, task: str) -> list[str]:
        """Return the rows of a task that are methods, not differences."""
        there = dict.fromkeys(row for each, _, row, _ in self.figures if each == task)
        return [row for row in there if not any(sign in row for sign in PAIRS)]


@dataclass(frozen=True)
class Sources:
    """All that pages are made from."""

    fields: Mapping[str, Field]  # experiments on streams; one that was not run has no lines
    repeated: Mapping[str, Repeated]  # experiments that repeat the paper's
    printed: Sequence[Mapping[str, Any]]  # figures of the paper, `parts` of `paper.json`
    trainings: Sequence[Mapping[str, Any]]  # networks of `trainings.json`
    # `table` and `paper` of the folder `device`, and `monitors` of the checkout's `bench`
    boards: Mapping[str, Mapping[str, Any]]

    def repeat(self, name: str) -> Repeated:
        """Return an experiment that repeats one of the paper; one that was not run has no figures."""
        return self.repeated.get(name, Repeated({}, {}))

    def paper(self, experiment: str, task: str, column: str, row: str) -> float:
        """Return a figure of the paper, NaN where it prints none."""
        for part in self.printed:
            place = (part["experiment"], part["task"], part["column"])
            if place == (experiment, task, column) and row in part["rows"]:
                return float(part["rows"][row])
        return NAN


def load(folder: str | Path) -> Sources:
    """Return what a folder of result files holds."""
    home = Path(folder)
    fields = {name: Field({}, ()) for name in TITLES}
    repeated: dict[str, Repeated] = {}
    printed: Sequence[Mapping[str, Any]] = ()
    trainings: Sequence[Mapping[str, Any]] = ()
    for path in sorted(home.glob("*.json")):
        content = _content(path)
        form = content.get("format")
        try:
            if form == "tcuq field 1":
                named = unpacked(path, content)
                fields[path.stem] = Field({**content, "lines": None}, from_entries(named["lines"]))
            elif form == "tcuq experiment 1":
                repeated[path.stem] = _repeated(unpacked(path, content))
            elif form == "tcuq paper 1":
                printed = content["parts"]
            elif form == "tcuq-assistance":
                trainings = content["lines"]
        except (KeyError, TypeError, ValueError) as error:
            what = f"lacks {error}" if isinstance(error, KeyError) else str(error)
            raise ValueError(what if str(home) in what else f"{path}: {what}") from None
    boards = {path.stem: _content(path) for path in sorted((home / "device").glob("*.json"))}
    return Sources(fields, repeated, printed, trainings, boards)


def _content(path: Path) -> Mapping[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is not JSON: {str(error).splitlines()[0]}") from None
    if not isinstance(content, dict):
        raise ValueError(f"{path} is not a result file, expected an object")
    return content


def _repeated(content: Mapping[str, Any]) -> Repeated:
    figures: dict[tuple[str, float, str, str], float] = {}
    for number, line in enumerate(content["lines"]):
        place = (line["task"], float(line["dwell"]), line["row"], line["column"])
        if place in figures:
            raise ValueError(f"line {number} repeats {', '.join(map(str, place))}, expected each once")
        value = line.get("value")
        figures[place] = NAN if value is None else float(value)
    return Repeated({**content, "lines": None}, figures)
