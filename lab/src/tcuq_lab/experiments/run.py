"""Running experiments: piece by piece, each kept in a file, so that a run goes on where it was cut off."""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import as_completed
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from tcuq.base.atomic_files import write_whole
from tcuq.base.checks import known

from ..parallel import workers
from ..reproduce.recordings import Recordings
from ..reproduce.run_size import RunSize
from ..reproduce.versions import digest_of

Progress = Callable[[int, int, str], None]


class Outcome(NamedTuple):
    """What an experiment gives."""

    lines: list[dict[str, Any]]
    about: dict[str, Any]


class Piece(NamedTuple):
    """What is measured at once and kept in one file."""

    name: str  # as progress shows it
    of: tuple[Any, ...]


class NoNetworks(ValueError):
    """No seed of an experiment has the networks that it measures."""


class Experiment(ABC):
    """What all experiments have, which are dataclasses; `registry` names them."""

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

    def prepare(self, todo: Sequence[Any], recordings: Recordings, jobs: int) -> None:  # noqa: B027
        """Make what several processes would otherwise each make, in as many processes."""


class SmallExperiment(Experiment):
    """An experiment whose pieces are files of JSON, of a few figures each."""

    def sizes(self, setting: RunSize) -> dict[str, Any]:
        """Return what the result file says of sizes, beside the name of the setting."""
        return {}

    def head(self, setting: RunSize, outcome: Outcome) -> dict[str, Any]:
        """Return what the result file says about how figures were made."""
        return {"setting": {"name": setting.name, **self.sizes(setting)}, "paper": self.paper}

    def places(self, recordings: Recordings, pieces: Sequence[Piece], about: Any) -> dict[Piece, Path]:
        """Return pieces with their files, which are others where `about` is."""
        home, digest = recordings.folder / "cells" / self.name, digest_of(about)
        return {each: home / f"{each.name.replace(' ', '-')}-{digest}.json" for each in pieces}

    @abstractmethod
    def measured(self, piece: Any, recordings: Recordings, place: Path) -> Any:
        """Return what a piece gives; other files of it may lie beside `place`."""

    @abstractmethod
    def gathered(self, found: Mapping[Any, Any]) -> Outcome:
        """Return the figures from what all pieces gave."""

    def keep(self, piece: Any, recordings: Recordings, place: Path) -> None:
        """Measure a piece and write what it gave."""
        write_whole(place, json.dumps(self.measured(piece, recordings, place), allow_nan=False))

    def outcome(self, kept: Mapping[Any, Path]) -> Outcome:
        """Return the figures from what all pieces gave."""
        return self.gathered({piece: json.loads(path.read_text("utf-8")) for piece, path in kept.items()})


def run(
    experiment: Experiment, recordings: Recordings, progress: Progress | None = None, jobs: int = 1
) -> Outcome:
    """Return the figures of an experiment; pieces that are kept are not measured again."""
    places = experiment.pieces(recordings)
    for folder in {path.parent for path in places.values()}:
        folder.mkdir(parents=True, exist_ok=True)
    todo = {piece: path for piece, path in places.items() if not path.exists()}
    experiment.prepare(list(todo), recordings, jobs)
    began = time.monotonic()  # what was recorded first says nothing about how long the pieces take

    def tell(done: int, what: str) -> None:
        if progress is not None:
            left = (len(todo) - done) * (time.monotonic() - began) / done / 60 if done else 0.0
            text = f"{what}, about {left:.0f} min left" if done and done < len(todo) else what
            progress(len(places) - len(todo) + done, len(places), text)

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
