"""What the paper printed, where a figure of ours can stand beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tcuq.base.checks import known_only

from .reading import read

FORMAT = "tcuq paper 1"
PART = ("where", "experiment", "task", "column", "rows", "note")


@dataclass(frozen=True)
class Part:
    """A column of a table, or a point of each curve of a figure.

    Parameters
    ----------
    where : str
        Table or figure.
    experiment, task, column : str
        Ours beside which it stands; no experiment where we have none.
    rows : mapping of str to float
    note : str
        What keeps the two from being the same quantity.
    """

    where: str
    experiment: str
    task: str
    column: str
    rows: Mapping[str, float]
    note: str = ""


@dataclass(frozen=True)
class Paper:
    """All figures of the paper that are not about microcontrollers.

    Parameters
    ----------
    about : str
    parts : sequence of Part
    """

    about: str
    parts: Sequence[Part]

    def column(self, experiment: str, task: str, column: str) -> Mapping[str, float]:
        """Return what the paper has for the rows of a column; nothing where it has no such table."""
        found: dict[str, float] = {}
        for part in self.parts:
            if (part.experiment, part.task, part.column) == (experiment, task, column):
                found |= part.rows
        return found

    def of(self, experiment: str) -> list[Part]:
        """Return the parts that stand beside an experiment."""
        return [part for part in self.parts if part.experiment == experiment]


def paper_from(content: Mapping[str, Any]) -> Paper:
    """Return the figures of the paper from their JSON.

    Examples
    --------
    >>> one = {"where": "Table 1", "experiment": "drop", "task": "mnist", "column": "AUPRC",
    ...        "rows": {"base": 0.54}}
    >>> paper_from({"format": FORMAT, "about": "", "parts": [one]}).column("drop", "mnist", "AUPRC")["base"]
    0.54
    """
    parts = []
    seen: set[tuple[str, str, str, str]] = set()
    for number, each in enumerate(content["parts"]):
        known_only(f"entry of part {number}", each, PART)
        for entry in PART[:-1]:
            if entry not in each:
                raise ValueError(f"part {number} lacks {entry}, expected {', '.join(PART[:-1])}")
        for row, value in each["rows"].items():
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise ValueError(f"row {row} of part {number} is {value!r}, expected a number")
            place = (each["experiment"], each["task"], each["column"], row)
            if each["experiment"] and place in seen:
                raise ValueError(f"part {number} repeats {', '.join(place)}, expected each once")
            seen.add(place)
        parts.append(Part(**each))
    return Paper(content["about"], parts)


def load_paper(path: str | Path) -> Paper:
    """Return the figures of the paper from a file."""
    return read(path, FORMAT, ("about", "parts"), paper_from)
