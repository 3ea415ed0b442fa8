"""Experiments on streams: a row on the streams of one network is a cell, and one file."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from tcuq import Params

from ..data import present
from ..harness.declare import Comparison, Inverse, Measured, Metric, Play, Row, combined
from ..harness.intervals import LEVEL, REPLICATES
from ..harness.laws import (
    BACKBONES,
    CLEAN_OF,
    CLEAN_TEST,
    FITS,
    NETWORKS,
    RECORDED,
    UNTOLD,
    UnitPlan,
    fits_of,
    sizes_of,
)
from ..harness.lines import FORMAT, entries, from_entries
from ..harness.measure import measure
from ..harness.store import KEPT, load, save
from ..harness.types import CLEAN
from ..methods.tcuq import fitted
from ..reproduce.recorder import Job, record_jobs
from ..reproduce.recordings import Recordings
from ..reproduce.rows import Row as NetworkRow
from ..reproduce.run_size import RunSize
from ..reproduce.units import ALL_TYPES, PLAIN, Unit
from ..reproduce.versions import PROTOCOL, RECORDING, digest_of
from .run import Experiment, NoNetworks, Outcome, Piece


def plays_of(unit: Unit, fits: tuple[str, ...] = FITS, types: str = "") -> Iterator[Play]:
    """Give the clean stream, every law with each of its fits, and single corruption types if asked to.

    `types` names the law whose fits are shown those; all of them together come last.
    """
    plan = unit.plan
    if not plan.only or UNTOLD in {fit for law in plan.judged for fit in fits_of(law)}:
        yield Play(CLEAN, CLEAN_TEST, UNTOLD, plan.fitted_on(plan.type_law, UNTOLD))
    for law in plan.judged:
        for fit in fits_of(law):
            if fit in fits:
                yield Play(law, f"test {law}", fit, plan.fitted_on(law, fit))
    for fit in fits_of(plan.type_law) if types == "fits" else (UNTOLD,) if types else ():
        for name in () if plan.only else (*(f"type {each}" for each in plan.types), ALL_TYPES):
            yield Play(name, name, fit, plan.fitted_on(plan.type_law, fit))


def monitor_of(unit: Unit, role: str, labels: bool = True, **options: Any) -> Params:
    """Return the monitor that is fitted to a development stream and the clean log that goes with it."""
    dev, clean = unit.dev(role, labels), unit.clean_log(role)
    if not labels and dev.clean is not None:
        clean = dev.clean.log()
    return fitted(dev.log(), clean, **options)


def notes_of(name: str, **given: Any) -> tuple[str, ...]:
    """Return how rows and columns are to be read: what `notes.json` says, with some figures."""
    content = json.loads(Path(__file__).with_name("notes.json").read_text(encoding="utf-8"))
    return tuple(each.format(**given) for each in content[name])


@dataclass(frozen=True)
class StreamExperiment(Experiment):
    """Rows, the streams that they are shown, and metrics; what has no networks or files is left out."""

    name: str
    title: str
    rows: Callable[[Any], Sequence[Row]]
    plays: Callable[[Any], Iterator[Play]]
    metrics: tuple[Metric, ...]
    comparisons: tuple[Comparison, ...] = ()
    inverses: tuple[Inverse, ...] = ()
    notes: tuple[str, ...] = ()
    spare: str = ""  # see `Unit`
    tasks: tuple[str, ...] = tuple(NETWORKS)
    paper: str = ""  # which table or figure it repeats
    networks: tuple[NetworkRow, ...] = ()  # of a table: the first is what others are compared with
    cells: str = ""  # experiments of one name here measure the same, each for columns of its own
    named: ClassVar[Mapping[str, str]] = NETWORKS
    """What a result file says of each task."""
    format: ClassVar[str] = FORMAT
    """Of its result file."""

    def absent(self, recordings: Recordings) -> list[str]:
        """Return the tasks beside the three that lack a network of one of the seeds, or their files."""
        more = [task for task in self.tasks if task not in BACKBONES]
        return [
            task
            for task in more
            if (task in RECORDED and present(task, "test") is None)
            or not (any if task in RECORDED else all)(self._seeds(task, recordings))
        ]

    def _seeds(self, task: str, recordings: Recordings) -> list[bool]:
        """Return for each seed whether its network is there; recordings may have fewer than other tasks."""
        return [recordings.has(task, seed, PLAIN) for seed in recordings.setting.seeds]

    def plans(self, recordings: Recordings) -> list[Any]:
        """Return the streams of every network that is there."""
        setting, absent = recordings.setting, self.absent(recordings)
        tasks = [task for task in self.tasks if task not in absent]
        if not tasks:
            names = " ".join(NETWORKS[task] for task in absent)
            raise NoNetworks(
                f"{self.name} finds no networks of {', '.join(absent)}, or no files: "
                f"tcuq-lab train {names} --members 5"
            )
        sizes = sizes_of(setting.name)
        return [
            UnitPlan(task, seed, sizes, setting.severities, setting.streams)
            for task in tasks
            for seed, there in zip(setting.seeds, self._seeds(task, recordings), strict=True)
            if there or task not in RECORDED
        ]

    def unit(self, plan: Any, recordings: Recordings) -> Unit:
        """Return the streams of a network."""
        return Unit(plan, recordings, self.spare)

    def pieces(self, recordings: Recordings) -> dict[Piece, Path]:
        """Return the rows of all networks, plan and name of each, with the file that keeps what it gave."""
        units = [self.unit(plan, recordings) for plan in self.plans(recordings)]
        return {
            Piece(f"{unit.plan.name} {row.name}", (unit.plan, row.name)): self._place(unit, row)
            for unit in units
            for row in self.rows(unit)
        }

    def _place(self, unit: Unit, row: Row) -> Path:
        # Names of recordings hold digests of weights and data: what another network gave is not taken for it.
        plan, recordings, of = unit.plan, unit.recordings, self.cells or self.name
        networks = [unit.plain, *([row.network] if isinstance(row.network, NetworkRow) else [])]
        paths = [
            recordings.place(plan.task, part, plan.seed, n) for n in networks for part in ("dev", "test")
        ]
        names = [path.relative_to(recordings.folder).as_posix() for path in paths]
        about: list[Any] = [of, row.name, asdict(plan), recordings.setting.deciding(), names]
        about += [REPLICATES, PROTOCOL, KEPT]
        return recordings.folder / "cells" / of / f"{plan.name}-{digest_of(about, sort_keys=True)}.npz"

    def keep(self, piece: Piece, recordings: Recordings, place: Path) -> None:
        """Measure one row, and write what it gives."""
        (plan, row), began = piece.of, time.process_time()
        found = self.measured(_unit(self, plan, recordings), row)
        save(place, found, round(time.process_time() - began, 1))

    def prepare(self, todo: Sequence[Piece], recordings: Recordings, jobs: int) -> None:
        """Record what rows lack, once for all of them: an example is corrupted once for all networks."""
        lacking: list[Job] = []
        wanted: dict[Any, set[str]] = {}
        for plan, row in (piece.of for piece in todo):
            wanted.setdefault(plan, set()).add(row)
        for plan, names in wanted.items():
            unit = self.unit(plan, recordings)
            rows = [row for row in self.rows(unit) if row.name in names]
            networks = [unit.plain, *(row.network for row in rows if isinstance(row.network, NetworkRow))]
            roles = dict.fromkeys(
                role
                for play in self.plays(unit)
                for role in (play.role, play.dev, CLEAN_OF.get(play.dev))
                if role
            )
            lacking += unit.missing(list(roles), list(dict.fromkeys(networks)))
        record_jobs(recordings, lacking, jobs, recordings.progress)

    def measured(self, unit: Unit, only: str = "") -> Measured:
        """Return the figures of a row, or of all rows, on the streams of a network."""
        figures: dict[Any, Any] = {}
        choices: dict[str, Any] = {}
        for row in self.rows(unit):
            if row.name == only or not only:
                found = measure(row, unit, self.plays(unit), self.metrics)
                figures |= found.figures
                choices |= found.choices
        return Measured(figures, choices)

    def outcome(self, kept: Mapping[Piece, Path]) -> Outcome:
        """Return the figures of all networks, and the choices of each."""
        figures: dict[Any, dict[Any, Any]] = {}
        choices: dict[str, dict[str, Any]] = {}
        seconds = 0.0
        for piece, path in kept.items():
            found, took = load(path)
            figures.setdefault(piece.of[0], {}).update(found.figures)
            if found.choices:
                choices.setdefault(piece.of[0].name, {}).update(found.choices)
            seconds += took
        about = {"seconds": round(seconds), **({"choices": choices} if choices else {})}
        return Outcome(self.lines(figures), about)

    def lines(self, figures: Mapping[Any, Mapping[Any, Any]]) -> list[dict[str, Any]]:
        """Return means over networks, and paired comparisons."""
        found = [
            each
            for task in dict.fromkeys(plan.task for plan in figures)
            for each in combined(
                task,
                [found for plan, found in figures.items() if plan.task == task],
                self.comparisons,
                self.inverses,
            )
        ]
        return entries(found)

    def shown(self, outcome: Outcome) -> str:
        """Return a line of text for each figure."""
        return "\n".join(
            f"{line.task:16} {line.stream:16} {line.row:40} {line.fit:7} {line.column:28} "
            f"{line.value:.4f} ({line.low:.4f} to {line.high:.4f}), {line.networks} networks"
            for line in from_entries(outcome.lines)
        )

    def head(self, setting: RunSize, outcome: Outcome) -> dict[str, Any]:
        """Return what the result file says about how figures were made."""
        about = {
            "name": setting.name,
            "networks": {line["task"]: self.named[line["task"]] for line in outcome.lines},
            "seeds": list(setting.seeds),
            "examples": {part: setting.of(part) for part in ("dev", "test")},
            "severities": list(setting.severities),
            "sizes": asdict(sizes_of(setting.name)),
            "replicates": REPLICATES,
            "level": LEVEL,
        }
        notes = {"notes": list(self.notes)} if self.notes else {}
        return {"setting": about, "recording": RECORDING, **notes}


_LAST: list[tuple[Any, Unit]] = []


def _unit(experiment: StreamExperiment, plan: Any, recordings: Recordings) -> Unit:
    """Return the streams of a network; those of the last one are kept, as its rows follow each other."""
    place = experiment.name, experiment.networks, plan, recordings.folder, recordings.setting
    if not _LAST or _LAST[0][0] != place:
        _LAST[:] = [(place, experiment.unit(plan, recordings))]
    return _LAST[0][1]
