"""Names and numbers as the pages print them, and Markdown tables."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from importlib.resources import files
from typing import Any

MINUS, SPACE = "\u2212", "\u00a0"
"""The sign, and a space at which no line is broken."""


def listing(name: str) -> dict[str, Any]:
    """Return a table of this folder: names in words, or the tables of the paper."""
    found: dict[str, Any] = json.loads(files(__package__).joinpath(f"{name}.json").read_text("utf-8"))
    return found


_NAMES = listing("names")
TASKS: Mapping[str, str] = _NAMES["tasks"]
STREAMS: Mapping[str, str] = _NAMES["streams"]
ROWS: Mapping[str, str] = _NAMES["rows"]
NOT_RUN = "Not run yet."


def task_name(task: str) -> str:
    """Return a dataset as people call it."""
    return TASKS.get(task, task)


def row_name(row: str) -> str:
    """Return a method in words."""
    return ROWS.get(row, row)


def place_name(task: str, stream: str) -> str:
    """Return a task and a stream in words."""
    return f"{task_name(task)}, {STREAMS.get(stream, stream)}"


def percent(value: float, sign: bool = False) -> str:
    """Return a share in percent, or a difference in points, with one decimal.

    Examples
    --------
    >>> percent(0.0984), percent(-0.0004), percent(0.011, sign=True), percent(-0.2), percent(math.nan)
    ('9.8', '0.0', '+1.1', '\u221220.0', '')
    """
    if math.isnan(value):
        return ""
    text = f"{100 * value:.1f}"
    if float(text) == 0:
        return "0.0"
    return ("+" if sign and value > 0 else "") + text.replace("-", MINUS)


def span(low: float, high: float) -> str:
    """Return an interval of a difference, in points; nothing where there is none."""
    ends = f"{percent(low)} to {percent(high)}".replace(" ", SPACE)
    return "" if math.isnan(low) or math.isnan(high) else ends


def plain(value: float, digits: int = 3) -> str:
    """Return a figure that is no share."""
    if math.isnan(value):
        return ""
    return "never" if math.isinf(value) else f"{value:.{digits}f}".replace("-", MINUS)


def steps(delay: float, found: float) -> str:
    """Return a median delay in steps.

    Where a file keeps the mean over networks of their medians, one network without a median makes it
    infinite, even if more than half of all shifts were found: there is nothing to print then.
    """
    if math.isnan(delay):
        return ""
    if math.isinf(delay):
        return "not known" if found >= 0.5 else "never"
    return f"{delay:.0f}"


def listed(parts: Iterable[str]) -> str:
    """Return parts as a sentence has them."""
    given = list(parts)
    return " and ".join([", ".join(given[:-1]), given[-1]]) if len(given) > 1 else "".join(given)


def count(number: int, thing: str) -> str:
    """Return a number of things."""
    return f"{number} {thing}{'' if number == 1 else 's'}"


def lasting(seconds: float) -> str:
    """Return a time in the unit that fits."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def grid(head: Sequence[str], rows: Iterable[Sequence[str]], texts: int = 1) -> str:
    """Return a table whose first so many columns are texts, the others numbers."""
    align = ["---"] * texts + ["---:"] * (len(head) - texts)
    lines = [head, align, *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def text(name: str) -> str:
    """Return a text of the folder `text`."""
    return files(__package__).joinpath(f"text/{name}.txt").read_text(encoding="utf-8").rstrip("\n")


def fill(name: str, known: Mapping[str, Any] | None) -> str:
    """Return the page of a text with its figures; its head where nothing was run.

    A paragraph, and a line of a list, is left out where one of its figures is None or not there.
    """
    there = {key: value for key, value in (known or {}).items() if value is not None}
    paragraphs = text(name).split("\n\n")
    parts = []
    for part in [*paragraphs[:3], NOT_RUN] if known is None else paragraphs:
        lines = []
        for line in part.split("\n"):
            with suppress(KeyError):
                lines.append(line.format_map(there).strip())
        parts.append("\n".join(lines))
    return "\n\n".join(part for part in parts if part) + "\n"
