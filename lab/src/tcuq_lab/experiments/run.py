"""Running experiments: piece by piece, each kept in a file, so that a run goes on where it was cut off."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import as_completed
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from tcuq.base.checks import known

from ..parallel import workers
from ..reproduce.recordings import Recordings
from ..reproduce.run_size import RunSize

Progress = Callable[[int, int, str], None]


class Outcome(NamedTuple):
    """What an experiment gives."""

    lines: list[dict[str, Any]]
    about: dict[str, Any]


class NoNetworks(ValueError):
    """No seed of an experiment has the networks that it measures."""


class Experiment(ABC):
    """What all experiments have, which are dataclasses; `registry` names them.

    What is measured at once and kept in one file is a piece. It has a `name`, as progress shows it.
    """

    name: str
    title: str
    tasks: tuple[str, ...]
    paper: str
    dwells: tuple[float, ...] = ()
    """Those that may be chosen from."""
    format: ClassVar[str]
    """Of its result file."""

    def narrowed(self, tasks: Sequence[str], dwells: Sequence[float]) -> Any:
        """Return the experiment with some of its tasks alone; all where none are given."""
        if dwells:
            raise ValueError(f"{self.name} has no dwells to choose from: leave out --dwell")
        found = tuple(dict.fromkeys(known(f"task of {self.name}", task, self.tasks) for task in tasks))
        return replace(self, tasks=found or self.tasks)  # type: ignore[type-var]

    def absent(self, recordings: Recordings) -> list[str]:
        """Return the tasks that are left out because networks are missing."""
        return []

    @abstractmethod
    def pieces(self, recordings: Recordings) -> Mapping[Any, Path]:
        """Return the pieces of all seeds of the setting, each with the file that keeps what it gave.

        The name of a file changes with all that decides what is in it.
        """

    @abstractmethod
    def keep(self, piece: Any, recordings: Recordings, place: Path) -> None:
        """Measure a piece and write what it gave."""

    @abstractmethod
    def outcome(self, kept: Mapping[Any, Path]) -> Outcome:
        """Return the figures from what all pieces gave."""

    @abstractmethod
    def shown(self, outcome: Outcome) -> str:
        """Return the figures as a person reads them."""

    @abstractmethod
    def head(self, setting: RunSize, outcome: Outcome) -> dict[str, Any]:
        """Return entries of the result file: `setting`, `paper`, `recording` and `notes` if it has any."""

    def prepare(self, todo: Sequence[Any], recordings: Recordings) -> None:  # noqa: B027
        """Make what several processes would otherwise each make."""


def run(
    experiment: Experiment, recordings: Recordings, progress: Progress | None = None, jobs: int = 1
) -> Outcome:
    """Return the figures of an experiment; pieces that are kept are not measured again."""
    places = experiment.pieces(recordings)
    for folder in {path.parent for path in places.values()}:
        folder.mkdir(parents=True, exist_ok=True)
    todo = {piece: path for piece, path in places.items() if not path.exists()}
    began = time.monotonic()

    def tell(done: int, what: str) -> None:
        if progress is not None:
            left = (len(todo) - done) * (time.monotonic() - began) / done / 60 if done else 0.0
            text = f"{what}, about {left:.0f} min left" if done and done < len(todo) else what
            progress(len(places) - len(todo) + done, len(places), text)

    experiment.prepare(list(todo), recordings)
    if jobs == 1 or len(todo) < 2:
        for number, (piece, path) in enumerate(todo.items()):
            tell(number, piece.name)
            experiment.keep(piece, recordings, path)
    else:
        tell(0, "")
        with workers(min(jobs, len(todo))) as pool:
            waiting = {
                pool.submit(experiment.keep, piece, recordings, path): piece.name
                for piece, path in todo.items()
            }
            for number, each in enumerate(as_completed(waiting)):
                each.result()
                tell(number + 1, waiting[each])
    if progress is not None:
        progress(len(places), len(places), "")
    return experiment.outcome(places)
