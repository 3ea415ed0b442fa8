"""Figures of an experiment as a flat list, which result file, verdicts and pages read."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from tcuq.metrics import Interval

NAN = math.nan

IN_FILES = {"prediction error AUROC": "label error AUROC"}
"""Columns that result files name otherwise."""

IN_ORDER = ("task", "name", "row", "fit", "column", "value", "low", "high", "networks")
"""Parts of a line of a result file."""


class Line(NamedTuple):
    """A figure.

    Parameters
    ----------
    task : str
    stream : str
        A law, or another name of what was shown.
    row : str
        A method, or "A - B" for a paired difference, "A / B" for a ratio.
    fit : str
        "told", "untold" or "other", see `plan`; "" where nothing is fitted.
    column : str
        What is measured.
    value, low, high : float
        The ends of a 95 % interval; NaN where there is none.
    networks : int
        How many the figure is a mean of.
    """

    task: str
    stream: str
    row: str
    fit: str
    column: str
    value: float
    low: float = NAN
    high: float = NAN
    networks: int = 0


def line(task: str, stream: str, row: str, fit: str, column: str, found: Interval, networks: int) -> Line:
    """Return the line of an interval."""
    return Line(task, stream, row, fit, column, found.estimate, found.low, found.high, networks)


class Found:
    """Lines by what they are about.

    Parameters
    ----------
    lines : iterable of Line

    Examples
    --------
    >>> found = Found([Line("mnist", "class 16", "answer", "untold", "errors", 0.25)])
    >>> found.get("mnist", "class 16", "answer", "untold", "errors").value
    0.25
    >>> found.get("mnist", "class 16", "base", "untold", "errors") is None
    True
    """

    def __init__(self, lines: Iterable[Line]) -> None:
        self.lines = list(lines)
        self._places = {each[:5]: each for each in self.lines}
        if len(self._places) < len(self.lines):
            raise ValueError(f"{len(self.lines) - len(self._places)} figures come twice, expected each once")

    def get(self, task: str, stream: str, row: str, fit: str, column: str) -> Line | None:
        """Return a line; None where there is none, or where it is undefined."""
        found = self._places.get((task, stream, row, fit, column))
        return None if found is None or math.isnan(found.value) else found

    def distinct(self, name: str, **given: str) -> list[str]:
        """Return the different entries of a field, in order, among the lines with other entries given.

        Examples
        --------
        >>> Found([Line("mnist", "class 16", "base", "", "errors", 0.25)]).distinct("row", task="mnist")
        ['base']
        """
        kept = (each for each in self.lines if all(getattr(each, key) == given[key] for key in given))
        return list(dict.fromkeys(getattr(each, name) for each in kept))


def entries(lines: Iterable[Line]) -> list[dict[str, Any]]:
    """Return lines as a result file holds them; `tcuq_lab.changes` recognizes one by its first five.

    Examples
    --------
    >>> entries([Line("mnist", "class 1", "base", "", "errors", 0.5, networks=5)])[0]["name"]
    'class 1'
    """
    found = []
    for each in lines:
        content: dict[str, Any] = {
            "task": each.task,
            "name": each.stream,
            "row": each.row,
            "fit": each.fit,
            "column": IN_FILES.get(each.column, each.column),
        }
        numbers = {"value": each.value, "low": each.low, "high": each.high}
        content |= {name: value for name, value in numbers.items() if not math.isnan(value)}
        found.append(content | {"networks": each.networks})
    return found


def from_entries(content: Iterable[Mapping[str, Any]]) -> list[Line]:
    """Return the lines of a result file."""
    shown = {name: column for column, name in IN_FILES.items()}
    return [
        Line(
            each["task"],
            each["name"],
            each["row"],
            each["fit"],
            shown.get(each["column"], each["column"]),
            float(each.get("value", NAN)),
            float(each.get("low", NAN)),
            float(each.get("high", NAN)),
            int(each.get("networks", 0)),
        )
        for each in content
    ]
