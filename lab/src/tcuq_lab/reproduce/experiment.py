"""An experiment: which rows are compared on which streams, and what of it is shown."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tcuq.base.checks import known, known_only, number

from .rows import TASKS, Row, row_of

KINDS = (
    "calibration",
    "comparison",
    "headlines",
    "literal",
    "promises",
    "selective",
    "severity",
)
"""Kinds of measurement, each a module of `kinds`."""


@dataclass(frozen=True)
class Column:
    """A figure that is shown: a metric of `tcuq_lab.comparison`, its variant, and a title."""

    metric: str
    variant: str
    title: str


@dataclass(frozen=True)
class Experiment:
    """What the file of an experiment says.

    Parameters
    ----------
    name, title, paper : str
        `paper` says which table or figure it repeats.
    tasks : tuple of str
    dwells : tuple of float
    rows : tuple of Row
        The first is the common base.
    columns : tuple of Column
    kind : str
        Of measurement; see `KINDS`.
    options : mapping
        What that kind asks for.
    """

    name: str
    title: str
    paper: str
    tasks: tuple[str, ...]
    dwells: tuple[float, ...]
    rows: tuple[Row, ...]
    columns: tuple[Column, ...]
    kind: str = "comparison"
    options: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    def __getstate__(self) -> dict[str, Any]:
        """Return what another process is given; a read-only view of a mapping cannot be sent."""
        return {**vars(self), "options": dict(self.options)}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update(state, options=MappingProxyType(state["options"]))


def experiment_from(given: Mapping[str, Any], fields: Mapping[str, Sequence[Any]]) -> Experiment:
    """Return an experiment from its JSON.

    Parameters
    ----------
    given : mapping
    fields : mapping of str to rows
        Lists of rows that experiments share, by name.

    Examples
    --------
    >>> plain = {"name": "x", "title": "", "paper": "", "tasks": ["mnist"], "dwells": [16], "rows": ["base"],
    ...          "columns": [["drop_auprc", "own/smoothed/unseen", "drop"]]}
    >>> experiment_from(plain, {}).rows[0].label
    'base'
    >>> experiment_from({**plain, "tasks": ["mnst"]}, {})
    Traceback (most recent call last):
    ...
    ValueError: task 'mnst' is unknown; did you mean mnist?
    """
    entries = ("name", "title", "paper", "tasks", "dwells", "rows", "columns")
    known_only("entry of an experiment", given, (*entries, "kind", "options"))
    for entry in entries:
        if entry not in given:
            raise ValueError(f"experiment lacks {entry}, expected {', '.join(entries)}")
    for entry in ("name", "title", "paper"):
        if not isinstance(given[entry], str):
            raise ValueError(f"{entry} of an experiment is {given[entry]!r}, expected text")
    for entry in ("tasks", "dwells", "columns"):
        if not isinstance(given[entry], list) or not given[entry]:
            raise ValueError(f"{entry} of an experiment is {given[entry]!r}, expected a list")
    rows = given["rows"]
    if isinstance(rows, str):
        rows = fields[known("field of rows", rows, fields)]
    if not isinstance(rows, (list, tuple)) or not rows:
        raise ValueError(f"rows of an experiment is {rows!r}, expected a list of rows, or a field's name")
    for entry in ("tasks", "dwells"):
        if len(set(map(str, given[entry]))) < len(given[entry]):
            raise ValueError(f"{entry} of an experiment is {given[entry]!r}, expected each once")
    for column in given["columns"]:
        if not isinstance(column, list) or [type(each) for each in column] != [str, str, str]:
            raise ValueError(f"column is {column!r}, expected metric, variant and title")
    return Experiment(
        given["name"],
        given["title"],
        given["paper"],
        tuple(known("task", each, TASKS) for each in given["tasks"]),
        tuple(number("dwell", each, 1, 1000) for each in given["dwells"]),
        tuple(row_of(each) for each in rows),
        tuple(Column(*each) for each in given["columns"]),
        known("kind of an experiment", given.get("kind", "comparison"), KINDS),
        _options(given.get("options", {})),
    )


def _options(given: Any) -> Mapping[str, Any]:
    if not isinstance(given, dict):
        raise ValueError(f"options of an experiment is {given!r}, expected a mapping")
    return MappingProxyType(given)


def load_experiments(folder: str | Path) -> dict[str, Experiment]:
    """Return the experiments of a folder by name; `fields.json` holds the lists of rows that they share.

    Parameters
    ----------
    folder : path
    """
    home = Path(folder)
    if not (home / "fields.json").exists():
        raise ValueError(f"{home}: no folder of experiments, expected one with fields.json")
    fields = _read(home / "fields.json")
    found = {}
    for path in sorted(home.glob("*.json")):
        if path.name != "fields.json":
            try:
                found[path.stem] = experiment_from(_read(path), fields)
            except ValueError as error:
                raise ValueError(f"{path}: {error}") from None
            if found[path.stem].name != path.stem:
                raise ValueError(f"{path}: name is {found[path.stem].name!r}, expected {path.stem!r}")
    return found


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is not JSON: {str(error).splitlines()[0]}") from None
    if not isinstance(content, dict):
        raise ValueError(f"{path} holds a {type(content).__name__}, expected a mapping")
    return content
