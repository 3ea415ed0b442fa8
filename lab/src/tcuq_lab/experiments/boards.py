"""What methods take on microcontrollers: every method on every board, counted in an emulator."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from tcuq.base.atomic_files import write_whole
from tcuq.base.checks import integer

from ..boards.costs import FORMAT, method_cost, result
from ..data import present
from ..data.parts import split_of
from ..reproduce.recordings import Recordings
from ..reproduce.run_size import RunSize
from ..reproduce.versions import PROTOCOL
from .run import Experiment, Outcome

TASKS = ("mnist", "speech_commands", "cifar10")
BOARDS = ("stm32l432kc", "stm32f767zi")
STEPS = 10
TRIAL = 2
"""Inferences on a board, and those of a trial."""


class BoardPiece(NamedTuple):
    """A method of a task on a board."""

    task: str
    board: str
    method: str
    seed: int = 0

    @property
    def name(self) -> str:
        """As progress shows it."""
        return f"{self.task} {self.method} {self.board}"


@dataclass(frozen=True)
class BoardsExperiment(Experiment):
    """Bytes, instructions and estimates of time and energy, of firmware linked under a board's limits."""

    name: str = "boards"
    title: str = "What every method takes on microcontrollers, counted in an emulator"
    paper: str = "tables of microcontrollers"
    tasks: tuple[str, ...] = TASKS
    boards: tuple[str, ...] = BOARDS
    steps: int = STEPS
    format: ClassVar[str] = FORMAT

    def pieces(self, recordings: Recordings) -> dict[BoardPiece, Path]:
        """Return every method on every board, each with its file; a trial has few steps on one board."""
        from ..boards.lineup import METHODS

        integer("--steps", self.steps, 1, 100_000)
        tools = result(self.name, [])  # refused before minutes of work
        trial = recordings.setting.name == "trial"
        steps, boards = (min(TRIAL, self.steps), self.boards[:1]) if trial else (self.steps, self.boards)
        about = [tools["tcuq"], tools["compiler"], tools["emulator"], recordings.weights, steps, PROTOCOL]
        digest = hashlib.sha256(json.dumps(about).encode()).hexdigest()[:12]
        home = recordings.folder / "cells" / self.name
        pieces = [BoardPiece(task, on, name) for task in self.tasks for on in boards for name in METHODS]
        return {each: home / f"{each.name.replace(' ', '-')}-{digest}.json" for each in pieces}

    def keep(self, piece: BoardPiece, recordings: Recordings, place: Path) -> None:
        """Measure one method, and write what it takes."""
        trial = recordings.setting.name == "trial"
        steps = min(TRIAL, self.steps) if trial else self.steps
        up = _lined_up(piece.task, recordings.weights, steps, trial)
        base, firmware = up.firmwares["base"], up.firmwares[piece.method]
        entry = method_cost(piece.task, firmware, base, piece.board, up.inputs)
        content = {"entry": entry, "accuracy": up.accuracy[piece.method], "examples": up.examples}
        write_whole(place, json.dumps(content, allow_nan=False))

    def outcome(self, kept: Mapping[BoardPiece, Path]) -> Outcome:
        """Return all entries, and how often each method is right."""
        found = {piece: json.loads(path.read_text(encoding="utf-8")) for piece, path in kept.items()}
        accuracy: dict[str, dict[str, float]] = {}
        for piece, each in found.items():
            accuracy.setdefault(piece.task, {})[piece.method] = each["accuracy"]
        examples = {piece.task: each["examples"] for piece, each in found.items()}
        content = result("table", [each["entry"] for each in found.values()])
        lines = content.pop("measured")
        return Outcome(lines, {**content, "accuracy": accuracy, "examples": examples})

    def shown(self, outcome: Outcome) -> str:
        """Return a line of text for each method on a board."""
        return "\n".join(map(_line, outcome.lines))

    def head(self, setting: RunSize, outcome: Outcome) -> dict[str, Any]:
        """Return what the result file says about how figures were made."""
        return {"setting": {"name": setting.name, "steps": self.steps}, "paper": self.paper}

    def absent(self, recordings: Recordings) -> list[str]:
        """Return the tasks whose examples are not there."""
        return [task for task in self.tasks if present(task, split_of(task, "test")) is None]


@lru_cache(maxsize=1)
def _lined_up(task: str, weights: str, steps: int, trial: bool) -> Any:
    """Return the methods of a task; those of the last one are kept, as they follow each other."""
    from ..boards.graphs import ShownSizes
    from ..boards.lineup import line_up

    few = ShownSizes(examples=60, dev_examples=120, dev_steps=2000, severities=(3,))
    return line_up(task, weights, steps, 100 if trial else 1000, sizes=few if trial else None)


def _line(entry: Mapping[str, Any]) -> str:
    name = f"{entry['task']:<16} {entry['board']:<12} {entry['firmware']:<11}"
    if "over" in entry:
        return f"{name} does not fit: {entry['said']}"
    count = entry["network"]["instructions"]["mean"]
    flash, ram = entry["flash"]["total"], entry["ram"]["total"]
    return f"{name} flash {flash:>9,}  RAM {ram:>8,}  instructions {count:>14,.0f}"


SPEC = BoardsExperiment()
