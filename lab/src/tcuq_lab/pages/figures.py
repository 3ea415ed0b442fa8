"""Result files as figures that can be looked up."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

NAN = math.nan
PAIRED = " - "
"""Between two rows whose difference is a row of its own."""


class Place(NamedTuple):
    """Where a figure stands."""

    task: str
    dwell: float
    row: str
    column: str


@dataclass(frozen=True)
class Figure:
    """A figure with what it was made from.

    Parameters
    ----------
    value, low, high : float
        NaN says undefined.
    seeds : tuple of float
    streams : mapping of str to float
        The mean over seeds on each stream.
    spans : mapping of str to pair of float
        Intervals of those means, where records have any.
    n : int
    """

    value: float
    low: float = NAN
    high: float = NAN
    seeds: tuple[float, ...] = ()
    streams: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    spans: Mapping[str, tuple[float, float]] = field(default_factory=lambda: MappingProxyType({}))
    n: int = 0


@dataclass(frozen=True)
class Found:
    """What one experiment found.

    Parameters
    ----------
    name, title, paper, command : str
    setting, versions : mapping
    seconds : float
        That the comparisons took; NaN where the file does not say.
    figures : mapping of Place to Figure
    """

    name: str
    title: str
    paper: str
    command: str
    setting: Mapping[str, Any]
    versions: Mapping[str, str]
    seconds: float
    figures: Mapping[Place, Figure]

    @cached_property
    def tasks(self) -> list[str]:
        """In the order of the file."""
        return list(dict.fromkeys(place.task for place in self.figures))

    @cached_property
    def dwells(self) -> list[float]:
        """In the order of the file."""
        return list(dict.fromkeys(place.dwell for place in self.figures))

    @cached_property
    def rows(self) -> list[str]:
        """In the order of the file."""
        return list(dict.fromkeys(place.row for place in self.figures))

    @cached_property
    def columns(self) -> list[str]:
        """In the order of the file."""
        return list(dict.fromkeys(place.column for place in self.figures))

    def rivals(self) -> list[str]:
        """Return the rows that are not ours, without differences."""
        return [row for row in self.rows if not row.startswith("tcuq") and PAIRED not in row]

    def get(self, task: str, dwell: float, row: str, column: str) -> Figure:
        """Return a figure; one that is not there is undefined."""
        return self.figures.get(Place(task, dwell, row, column), Figure(NAN))

    def at(self, task: str, dwell: float) -> Found:
        """Return the figures of a task at a dwell alone."""
        kept = {
            place: each for place, each in self.figures.items() if (place.task, place.dwell) == (task, dwell)
        }
        return replace(self, figures=kept)


def number_of(value: Any) -> float:
    """Return a number of a result file, where null is undefined and a text infinite.

    Examples
    --------
    >>> number_of("inf"), number_of(0.5), math.isnan(number_of(None))
    (inf, 0.5, True)
    """
    if value is None:
        return NAN
    if isinstance(value, bool) or not (isinstance(value, (int, float)) or value in ("inf", "-inf")):
        raise ValueError(f"number is {value!r}, expected a number, null, 'inf' or '-inf'")
    return float(value)


def found_from(content: Mapping[str, Any]) -> Found:
    """Return what a result file says.

    Parameters
    ----------
    content : mapping
        What `tcuq_lab.reproduce.result_files.load_result` returns.
    """
    figures: dict[Place, Figure] = {}
    for number, line in enumerate(content["lines"]):
        try:
            place = Place(line["task"], float(line["dwell"]), line["row"], line["column"])
            figure = Figure(
                number_of(line["value"]),
                number_of(line["low"]),
                number_of(line["high"]),
                tuple(map(number_of, line["seeds"])),
                {name: number_of(value) for name, value in line["streams"].items()},
                {name: (number_of(a), number_of(b)) for name, (a, b) in line.get("spans", {}).items()},
                line["n"],
            )
        except KeyError as error:
            raise ValueError(f"line {number} lacks {error.args[0]}, expected a line with it") from None
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from None
        if place in figures:
            raise ValueError(f"line {number} repeats {', '.join(map(str, place))}, expected each once")
        figures[place] = figure
    if not figures:
        raise ValueError("there are 0 lines, expected at least 1")
    return Found(
        content["name"],
        content["title"],
        content["paper"],
        content["command"],
        content["setting"],
        content["versions"],
        number_of(content.get("seconds")),
        figures,
    )
