"""Figures of the experiment as a flat list, which result file, verdicts and page read."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from tcuq.metrics import Interval

NAN = math.nan


class Line(NamedTuple):
    """A figure.

    Parameters
    ----------
    task : str
    stream : str
    row : str
        A monitor, a rival, or a difference of two.
    column : str
        What is measured.
    value, low, high : float
        The ends of a 95 % interval; NaN where there is none.
    """

    task: str
    stream: str
    row: str
    column: str
    value: float
    low: float = NAN
    high: float = NAN


def line(task: str, stream: str, row: str, column: str, found: Interval) -> Line:
    """Return the line of an interval."""
    return Line(task, stream, row, column, found.estimate, found.low, found.high)


class Found:
    """Lines by what they are about.

    Parameters
    ----------
    lines : iterable of Line

    Examples
    --------
    >>> found = Found([Line("mnist", "class 16", "answer", "errors", 0.25)])
    >>> found.get("mnist", "class 16", "answer", "errors").value
    0.25
    >>> found.get("mnist", "class 16", "label", "errors") is None
    True
    """

    def __init__(self, lines: Iterable[Line]) -> None:
        self.lines = list(lines)
        self._places = {each[:4]: each for each in self.lines}
        if len(self._places) < len(self.lines):
            raise ValueError(f"{len(self.lines) - len(self._places)} figures come twice, expected each once")

    def get(self, task: str, stream: str, row: str, column: str) -> Line | None:
        """Return a line; None where there is none, or where it is undefined."""
        found = self._places.get((task, stream, row, column))
        return None if found is None or math.isnan(found.value) else found

    def tasks(self) -> list[str]:
        """Return the tasks in order."""
        return list(dict.fromkeys(each.task for each in self.lines))

    def streams(self, task: str, column: str) -> list[str]:
        """Return the streams of a task that have a figure in a column."""
        return list(
            dict.fromkeys(each.stream for each in self.lines if (each.task, each.column) == (task, column))
        )

    def rows(self, column: str) -> list[str]:
        """Return the rows of a column."""
        return list(dict.fromkeys(each.row for each in self.lines if each.column == column))


def entries(lines: Iterable[Line]) -> list[dict[str, Any]]:
    """Return lines as a result file holds them; `tcuq_lab.changes` recognizes one by its first four.

    Examples
    --------
    >>> entries([Line("mnist", "class 1", "label", "errors", 0.5)])
    [{'task': 'mnist', 'name': 'class 1', 'row': 'label', 'column': 'errors', 'value': 0.5}]
    """
    found = []
    for each in lines:
        content = {"task": each.task, "name": each.stream, "row": each.row, "column": each.column}
        numbers = {"value": each.value, "low": each.low, "high": each.high}
        found.append(content | {name: value for name, value in numbers.items() if not math.isnan(value)})
    return found


def from_entries(content: Iterable[Mapping[str, Any]]) -> list[Line]:
    """Return the lines of a result file."""
    return [
        Line(
            each["task"],
            each["name"],
            each["row"],
            each["column"],
            *(float(each.get(name, NAN)) for name in ("value", "low", "high")),
        )
        for each in content
    ]
