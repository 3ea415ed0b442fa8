"""Experiments that repeat the paper's: which rows are compared on which streams, and what of it is shown."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

from tcuq.base.checks import known, known_only, number

from ..comparison.records import Record, Results, load, save
from .experiment import Experiment, NoNetworks, Outcome
from .kinds.unit import Unit
from .recordings import Recordings
from .rows import TASKS, Row, row_of
from .run_size import RunSize
from .table import table, text
from .versions import PROTOCOL

FORMAT = "tcuq experiment 1"

KINDS = (
    "calibration",
    "comparison",
    "headlines",
    "literal",
    "rate_audit",
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
class PaperExperiment(Experiment):
    """What the file of an experiment says."""

    name: str
    title: str
    paper: str
    tasks: tuple[str, ...]
    dwells: tuple[float, ...]
    rows: tuple[Row, ...]
    columns: tuple[Column, ...]
    kind: str = "comparison"
    options: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    format: ClassVar[str] = FORMAT
    names_torch: ClassVar[bool] = True

    def __getstate__(self) -> dict[str, Any]:
        """Return what another process is given; a read-only view of a mapping cannot be sent."""
        return {**vars(self), "options": dict(self.options)}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update(state, options=MappingProxyType(state["options"]))

    def narrowed(self, tasks: Sequence[str], dwells: Sequence[float]) -> PaperExperiment:
        """Return the experiment with some of its tasks and dwells alone."""
        for dwell in dwells:
            if dwell not in self.dwells:
                expected = ", ".join(f"{each:g}" for each in self.dwells)
                raise ValueError(f"dwell of {self.name} is {dwell:g}, expected one of {expected}")
        found = tuple(dict.fromkeys(known(f"task of {self.name}", task, self.tasks) for task in tasks))
        chosen = tuple(dict.fromkeys(dwells))
        return replace(self, tasks=found or self.tasks, dwells=chosen or self.dwells)

    def pieces(self, recordings: Recordings) -> dict[Unit, Path]:
        """Return the comparisons that have networks; those that share recordings follow one another."""
        seeds = recordings.setting.seeds
        every = [Unit(task, dwell, seed) for task in self.tasks for seed in seeds for dwell in self.dwells]
        plans = {unit: plan for unit in every if (plan := self.compared(recordings, unit)) is not None}
        if not plans:
            task, row = self.tasks[0], self.rows[0]
            names = row.networks(task, seeds[0], recordings.weights)
            raise NoNetworks(
                f"{self.name} finds no networks to compare in {recordings.weights}, expected "
                f"{', '.join(names)} of {row.label}, and those of another row"
            )
        return {
            unit: recordings.folder / "comparisons" / f"{unit.name}-{plan._key(recordings, unit)}.json"
            for unit, plan in plans.items()
        }

    def compared(self, recordings: Recordings, unit: Unit) -> PaperExperiment | None:
        """Return the experiment with the rows that have networks of a unit's seed.

        None where the first row, to which others are compared, has none, or where it would be alone.
        """
        rows = tuple(row for row in self.rows if recordings.has(unit.task, unit.seed, row))
        if not rows or rows[0] != self.rows[0] or len(rows) < min(2, len(self.rows)):
            return None
        return self if rows == self.rows else replace(self, rows=rows)

    def _key(self, recordings: Recordings, unit: Unit) -> str:
        """Return a digest of what decides the records: rows, networks, data, sizes, and the protocol."""
        rows = [
            [
                row.label,
                row.method.name,
                str(recordings.place(unit.task, part, unit.seed, row).relative_to(recordings.folder)),
            ]
            for row in self.rows
            for part in ("dev", "test")
        ]
        sizes = recordings.setting.deciding()
        about = json.dumps([rows, sizes, unit, self.kind, dict(self.options), PROTOCOL])
        return hashlib.sha256(about.encode()).hexdigest()[:12]

    def prepare(self, todo: Sequence[Unit], recordings: Recordings) -> None:
        """Record what units lack, once."""
        first = {(unit.task, unit.seed): unit for unit in reversed(todo)}
        for unit in reversed(first.values()):
            rows = (self.compared(recordings, unit) or self).rows
            schedule = unit.schedule(recordings)
            for part in ("dev", "test"):
                recordings.fill(unit.task, part, unit.seed, rows, schedule.sources(part))

    def keep(self, piece: Unit, recordings: Recordings, place: Path) -> None:
        """Compute the records of a unit, and write them."""
        began = time.monotonic()
        measure: Measure = import_module(f".kinds.{self.kind}", __package__).measure
        records = measure(self.compared(recordings, piece) or self, piece, recordings)
        took = time.monotonic() - began
        sizes = {name: value for name, value in asdict(recordings.setting).items() if isinstance(value, int)}
        about = {"task": piece.task, "dwell": piece.dwell, "seconds": round(took, 1)}
        save(place, records, [piece.seed], sizes, **about)

    def outcome(self, kept: Mapping[Unit, Path]) -> Outcome:
        """Return means over corruption types and seeds, and how long all comparisons took."""
        found = {unit.name: load(path) for unit, path in kept.items()}
        return self.outcome_of(found)

    def outcome_of(self, found: Mapping[str, Results]) -> Outcome:
        """Return the figures from records by unit."""
        seconds = math.fsum(each.about.get("seconds", math.nan) for each in found.values())
        return Outcome(table(self, found), {"seconds": None if math.isnan(seconds) else round(seconds)})

    def shown(self, outcome: Outcome) -> str:
        """Return the title and a table for each task and dwell."""
        return f"{self.title}\n\n{text(outcome.lines)}"

    def head(self, setting: RunSize, outcome: Outcome) -> dict[str, Any]:
        """Return what the result file says about how figures were made."""
        return {"paper": self.paper, "setting": asdict(setting)}


Measure = Callable[[PaperExperiment, Unit, Recordings], list[Record]]
"""What a kind of measurement is: it computes the records of one unit."""


def experiment_from(given: Mapping[str, Any], fields: Mapping[str, Sequence[Any]]) -> PaperExperiment:
    """Return an experiment from its JSON."""
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
    return PaperExperiment(
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


def load_experiments(folder: str | Path) -> dict[str, PaperExperiment]:
    """Return the experiments of a folder by name; `fields.json` holds the lists of rows that they share."""
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
