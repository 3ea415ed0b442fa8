"""Figures of an experiment as a flat list, which result file, verdicts and pages read."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tcuq.metrics import Interval

NAN = math.nan
FORMAT = "tcuq field 1"
"""Of result files of experiments on streams."""

IN_FILES = {"prediction error AUROC": "label error AUROC"}
"""Columns that result files name otherwise."""

ENDS = ("value", "low", "high")
IN_ORDER = ("task", "name", "row", "fit", "column", *ENDS, "networks")
"""Parts of a line of a result file, in the order of `Line`."""


class Line(NamedTuple):
    """A figure."""

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
    """Lines by what they are about."""

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
        """Return the different entries of a field, in order, among the lines with other entries given."""
        kept = (each for each in self.lines if all(getattr(each, key) == given[key] for key in given))
        return list(dict.fromkeys(getattr(each, name) for each in kept))


def entries(lines: Iterable[Line]) -> list[dict[str, Any]]:
    """Return lines as a result file holds them; `tcuq_lab.changes` recognizes one by its first five."""
    found = []
    for each in lines:
        content: dict[str, Any] = dict(zip(IN_ORDER, each, strict=True))
        content["column"] = IN_FILES.get(each.column, each.column)
        undefined = [name for name in ENDS if math.isnan(content[name])]
        found.append({name: value for name, value in content.items() if name not in undefined})
    return found


def from_entries(content: Iterable[Mapping[str, Any]]) -> list[Line]:
    """Return the lines of a result file."""
    shown = {name: column for column, name in IN_FILES.items()}
    found = []
    for each in content:
        task, stream, row, fit, column = (each[name] for name in IN_ORDER[:5])
        value, low, high = (float(each.get(name, NAN)) for name in ENDS)
        count = int(each.get("networks", 0))
        found.append(Line(task, stream, row, fit, shown.get(column, column), value, low, high, count))
    return found


def plain(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return figures as strict JSON has them: six digits, null for undefined ones, a text for infinity."""
    return [{name: strict(value) for name, value in line.items()} for line in lines]


def strict(value: Any) -> Any:
    """Return a value as strict JSON has it; see `plain`."""
    if isinstance(value, list):
        return [strict(each) for each in value]
    if isinstance(value, dict):
        return {name: strict(each) for name, each in value.items()}
    if not isinstance(value, float):
        return value
    return None if math.isnan(value) else str(value) if math.isinf(value) else round(value, 6)


def read_content(path: str | Path, form: str, of: str) -> Mapping[str, Any]:
    """Return the content of a JSON file of some format, and say what it should be where it is not."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is not JSON: {str(error).splitlines()[0]}") from None
    if not isinstance(content, dict) or content.get("format") != form:
        raise ValueError(f"{path} is not {of}, expected the format {form!r}")
    return content
