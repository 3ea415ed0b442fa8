"""Result files of experiments on streams, as pages ask them: which rows are ours, which law is meant."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..reproduce.field.experiment import TITLES
from ..reproduce.field.lines import NAN, Found, Line
from ..reproduce.field.plan import BACKBONES, CLASS_LAWS, NETWORKS, UNTOLD, UnitPlan, fit_shown
from ..reproduce.result_files import load_stream_result
from .wording import readable, sense

CONFIDENCE, DEEP, INT8 = "base", "deep", "int8 confidence"
RISK, ANSWER, NO_LABELS = "tcuq", "tcuq answer", "tcuq no labels"
"""Ours: risk of the network's prediction, answers fitted with and without labels."""
OURS = (RISK, ANSWER, NO_LABELS)
SIMPLE: Mapping[str, str] = MappingProxyType(
    {
        "entropy": "of the posterior",
        "temperature": "confidence after temperature scaling",
        "confidence_norm": "logistic regression on confidence and the norm of the features",
        "vote": "share of recent predictions that differ",
        "vote_8": "majority of 8 steps",
        "mean_posterior": "mean posterior of the prediction over a window",
        "mean_8": "mean of 8 steps",
        "mean_answer": "the same, which also names the class",
        "median": "of confidence over a window",
        "suppress": "mean confidence over a window",
        "belief": "a Bayes filter of the class",
        "belief_told": "the same, with a dwell learned from development labels",
    }
)
"""Rules of a few lines that need no more than the network's outputs, and what each is."""
PLAIN_COLUMNS: Mapping[str, int] = MappingProxyType(
    {
        "error AUROC": 1,
        "prediction error AUROC": 1,
        "errors": -1,
        "errors at 90 %": -1,
        "errors at 80 %": -1,
        "found": 1,
        "delay": -1,
        "clean on": -1,
        "costly on": 1,
        "benign on": -1,
        "collapse found": 1,
        "shifted on": 1,
        "clears": -1,
        "false per 10,000": -1,
        "run length ratio": 0,
        "accuracy error": -1,
    }
)
"""1 where high figures are good, -1 where low ones are, 0 where neither is."""
EQUAL = " (equal)"
"""Behind columns of the alarm at equal false-alarm rates."""
PAIRS = (" - ", " / ")
TYPE, ALL_TYPES, CLEAN = "type ", "all types, shuffled", "clean"
IN_STEPS = ("delay", "clears", "false per 10,000", "networks", "costly shifts")
"""Columns that count; others are shares, areas or ratios."""


OTHER_NETWORKS = "backbones"
PAGED: Mapping[str, str] = MappingProxyType(
    {**TITLES, OTHER_NETWORKS: "Does the monitor work behind other networks"}
)
"""Experiments of this family that have a page, and their titles."""
NEEDED = ("title", "command", "setting", "versions")
"""Entries of a result file that pages read."""


def direction(column: str) -> int:
    """Return whether high (1) or low (-1) figures of a column are good, 0 where neither is.

    Examples
    --------
    >>> direction("errors at 90 %"), direction("found (equal)"), direction("run length ratio")
    (-1, 1, 0)
    """
    plain = column.removesuffix(EQUAL)
    if plain in PLAIN_COLUMNS:
        return PLAIN_COLUMNS[plain]
    return -1 if plain.startswith("errors") else sense(plain)


def is_pair(row: str) -> bool:
    """Return whether a row compares two others.

    Examples
    --------
    >>> is_pair("tcuq - base"), is_pair("early_exit")
    (True, False)
    """
    return any(sign in row for sign in PAIRS)


@dataclass(frozen=True)
class Field:
    """What one experiment on streams found.

    Parameters
    ----------
    about : mapping
        What the result file says about itself.
    found : Found
    """

    about: Mapping[str, Any]
    found: Found

    @property
    def name(self) -> str:
        """Of the experiment."""
        return str(self.about["name"])

    @property
    def is_new(self) -> bool:
        """Whether it was run since there are mixed streams, which version 0.2 was not shown."""
        return "mixed_stretch" in self.about["setting"]["sizes"]

    @property
    def seconds(self) -> float:
        """Processor time of all networks; NaN where the file does not say."""
        return float(self.about.get("seconds") or NAN)

    @cached_property
    def _places(self) -> dict[tuple[str, str], dict[str, dict[str, None]]]:
        """Streams and rows of every task and column, and the fits of every row, in the order of the file."""
        found: dict[tuple[str, str], dict[str, dict[str, None]]] = {}
        for line in self.found.lines:
            here = found.setdefault((line.task, line.column), {"streams": {}, "rows": {}})
            here["streams"][line.stream] = here["rows"][line.row] = None
            here.setdefault(f"fits of {line.row}", {})[line.fit] = None
        return found

    @cached_property
    def _lines(self) -> dict[tuple[str, str], list[Line]]:
        found: dict[tuple[str, str], list[Line]] = {}
        for line in self.found.lines:
            found.setdefault((line.task, line.column), []).append(line)
        return found

    def lines(self, task: str, column: str) -> list[Line]:
        """Return all lines of a task and a column, in the order of the file."""
        return self._lines.get((task, column), [])

    def networks(self, task: str, column: str) -> dict[str, int]:
        """Return the most networks that a figure of each row is a mean of."""
        found: dict[str, int] = {}
        for line in self.lines(task, column):
            found[line.row] = max(found.get(line.row, 0), line.networks)
        return found

    def _there(self, task: str, column: str, what: str) -> list[str]:
        return list(self._places.get((task, column), {}).get(what, ()))

    @cached_property
    def tasks(self) -> list[str]:
        """In the order of `plan.NETWORKS`; the other networks of `backbones` follow."""
        there = dict.fromkeys(task for task, _ in self._places)
        return [task for task in NETWORKS if task in there] + [task for task in there if task not in NETWORKS]

    @cached_property
    def first_tasks(self) -> list[str]:
        """Tasks of the first screen: those whose networks come with all methods."""
        return [task for task in self.tasks if task in BACKBONES]

    def columns(self, task: str) -> list[str]:
        """Return the columns of a task, in the order of the file."""
        return [column for each, column in self._places if each == task]

    def streams(self, task: str, column: str) -> list[str]:
        """Return the streams with a column: laws first, in the order of the plan."""
        there = self._there(task, column, "streams")
        laws = laws_of(task)
        return [law for law in laws if law in there] + [each for each in there if each not in laws]

    def laws(self, task: str, column: str) -> list[str]:
        """Return the laws with a column, in the order of the plan."""
        there = self._there(task, column, "streams")
        return [law for law in laws_of(task) if law in there]

    def rows(self, task: str, column: str) -> list[str]:
        """Return the rows of a column without those that compare two others: ours first."""
        there = [row for row in self._there(task, column, "rows") if not is_pair(row)]
        return sorted(there, key=_rank)

    def rivals(self, task: str, column: str) -> list[str]:
        """Return the rows of a column that are not ours."""
        return [row for row in self.rows(task, column) if not row.startswith("tcuq")]

    def fits(self, task: str, row: str, column: str) -> list[str]:
        """Return the fits of a row in a column, in the order of the file."""
        return self._there(task, column, f"fits of {row}")

    def fit_of(self, task: str, row: str, column: str, fit: str = UNTOLD) -> str:
        """Return the fit under which a row stands: the one asked for, or the one that it has."""
        there = self.fits(task, row, column)
        return fit if fit in there else "" if "" in there else there[0] if len(there) == 1 else fit

    def look(self, task: str, stream: str, row: str, column: str, fit: str | None = None) -> Line | None:
        """Return a figure; a row that has no such fit is looked up under the one that it has.

        The fit is `plan.fit_shown` of the stream unless one is named.
        """
        wanted = fit_shown(stream) if fit is None else fit
        return self.found.get(task, stream, row, self.fit_of(task, row, column, wanted), column)

    def pair(
        self, task: str, stream: str, first: str, second: str, column: str, fit: str | None = None,
        of: str = "-", second_fit: str | None = None,
    ) -> Line | None:  # fmt: skip
        """Return the paired difference, or ratio, of two rows.

        Where the file has no such line, that of the two figures without an interval.
        """
        fit = fit_shown(stream) if fit is None else fit
        mine = self.fit_of(task, first, column, fit)
        theirs = self.fit_of(task, second, column, fit if second_fit is None else second_fit)
        row = f"{first} {of} {second}"
        names = [f"{row}, {theirs or 'unfitted'}"] + ([row] if theirs == mine else [])
        for name in [*names, *([row] if not theirs else [])]:
            line = self.found.get(task, stream, name, mine, column)
            if line is not None:
                return line._replace(row=row)
        a = self.found.get(task, stream, first, mine, column)
        b = self.found.get(task, stream, second, theirs, column)
        if a is None or b is None:
            return None
        value = compared(a.value, b.value, of)
        return None if math.isnan(value) else Line(task, stream, row, mine, column, value)

    def best(
        self, task: str, stream: str, rows: Sequence[str], column: str, fit: str | None = None
    ) -> Line | None:
        """Return the best figure among some rows."""
        found = [self.look(task, stream, row, column, fit) for row in rows]
        there = [each for each in found if each is not None]
        pick: Callable[..., Line] = max if direction(column) > 0 else min
        return pick(there, key=lambda line: line.value) if there else None


def laws_of(task: str) -> tuple[str, ...]:
    """Return the laws of a task in the order of the plan; those of class dwell for other networks."""
    return UnitPlan(task, 0).laws if task in NETWORKS else tuple(CLASS_LAWS)


def _rank(row: str) -> int:
    """Return what puts our rows first, in their order."""
    return OURS.index(row) if row in OURS else len(OURS) + (not row.startswith("tcuq"))


def compared(first: float, second: float, of: str) -> float:
    """Return a difference or a ratio; NaN where it is undefined, 0 for two that never come.

    Examples
    --------
    >>> compared(0.5, 0.25, "-"), compared(1.0, 4.0, "/"), compared(math.inf, math.inf, "-")
    (0.25, 0.25, 0.0)
    """
    if of == "-":
        return 0.0 if first == second else first - second
    return first / second if second else NAN


def load_fields(folder: str | Path) -> dict[str, Field]:
    """Return what is there of the experiments on streams, by name.

    Parameters
    ----------
    folder : path
        Of result files; those that are missing are left out.
    """
    found: dict[str, Field] = {}
    for name in PAGED:
        path = Path(folder) / f"{name}.json"
        if not path.exists():
            continue
        try:
            about, lines = load_stream_result(path)
        except KeyError as error:
            raise ValueError(f"{path} lacks {error.args[0]}, expected a result with it") from None
        except (TypeError, ValueError) as error:
            where = str(error) if str(path) in str(error) else f"{path}: {error}"
            raise ValueError(where) from None
        if about.get("name") != name:
            raise ValueError(f"{path}: name is {about.get('name')!r}, expected {name!r}")
        for entry in NEEDED:
            if entry not in about:
                raise ValueError(f"{path} lacks {entry}, expected {', '.join(NEEDED)}")
        found[name] = Field(readable(dict(about) | {"lines": None}), lines)
    return found
