"""What methods take on microcontrollers: every method on every board, counted in an emulator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

from tcuq.base.checks import integer

from ..boards.costs import FORMAT, method_cost, result
from ..data import present
from ..data.parts import split_of
from ..reproduce.recordings import Recordings
from ..reproduce.run_size import RunSize
from ..reproduce.versions import PROTOCOL
from .run import Outcome, Piece, SmallExperiment

TASKS = ("mnist", "speech_commands", "cifar10")
BOARDS = ("stm32l432kc", "stm32f767zi")
STEPS = 10
TRIAL = 2
"""Inferences on a board, and those of a trial."""


@dataclass(frozen=True)
class BoardsExperiment(SmallExperiment):
    """Bytes, instructions and estimates of time and energy, of firmware linked under a board's limits."""

    name: str = "boards"
    title: str = "What every method takes on microcontrollers, counted in an emulator"
    paper: str = "tables of microcontrollers"
    tasks: tuple[str, ...] = TASKS
    boards: tuple[str, ...] = BOARDS
    steps: int = STEPS
    format: ClassVar[str] = FORMAT

    def pieces(self, recordings: Recordings) -> dict[Piece, Path]:
        """Return every method on every board, each with its file; a trial has few steps on one board."""
        from ..boards.lineup import METHODS

        integer("--steps", self.steps, 1, 100_000)
        tools = result(self.name, [])  # refused before minutes of work
        steps, trial = self._steps(recordings)
        boards = self.boards[:1] if trial else self.boards
        about = [tools["tcuq"], tools["compiler"], tools["emulator"], recordings.weights, steps, PROTOCOL]
        rows = product(self.tasks, boards, METHODS)
        pieces = [Piece(f"{task} {name} {on}", (task, name, on)) for task, on, name in rows]
        return self.places(recordings, pieces, about)

    def _steps(self, recordings: Recordings) -> tuple[int, bool]:
        trial = recordings.setting.name == "trial"
        return min(TRIAL, self.steps) if trial else self.steps, trial

    def measured(self, piece: Piece, recordings: Recordings, place: Path) -> dict[str, Any]:
        """Return what one method takes."""
        task, method, on = piece.of
        up = _lined_up(task, recordings.weights, *self._steps(recordings))
        entry = method_cost(task, up.firmwares[method], up.firmwares["base"], on, up.inputs)
        return {"entry": entry, "accuracy": up.accuracy[method], "examples": up.examples}

    def gathered(self, found: Mapping[Piece, Any]) -> Outcome:
        """Return all entries, and how often each method is right."""
        accuracy: dict[str, dict[str, float]] = {}
        for piece, each in found.items():
            accuracy.setdefault(piece.of[0], {})[piece.of[1]] = each["accuracy"]
        examples = {piece.of[0]: each["examples"] for piece, each in found.items()}
        content = result("table", [each["entry"] for each in found.values()])
        lines = content.pop("measured")
        return Outcome(lines, {**content, "accuracy": accuracy, "examples": examples})

    def shown(self, outcome: Outcome) -> str:
        """Return a line of text for each method on a board."""
        return "\n".join(map(_line, outcome.lines))

    def sizes(self, setting: RunSize) -> dict[str, Any]:
        """Return how many steps were counted."""
        return {"steps": self.steps}

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
