"""An experiment: what it measures piece by piece, and how its figures are made from what the pieces gave."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol

from .recordings import Recordings
from .run_size import RunSize


class Piece(Protocol):
    """What is measured at once and kept in one file: networks and streams of one seed."""

    @property
    def task(self) -> str:
        """Name of the dataset."""

    @property
    def seed(self) -> int:
        """Of the networks."""

    @property
    def name(self) -> str:
        """As it stands in file names."""


class Outcome(NamedTuple):
    """What an experiment gives."""

    lines: list[dict[str, Any]]
    about: dict[str, Any]


class NoNetworks(ValueError):
    """No seed of an experiment has the networks that it measures."""


class Experiment(ABC):
    """What all experiments have; `tcuq_lab.reproduce.run` runs them, `registry` names them."""

    name: str
    title: str
    tasks: tuple[str, ...]
    paper: str
    format: ClassVar[str]
    """Of its result file."""
    names_torch: ClassVar[bool] = False
    """Whether the result file names the version of PyTorch."""

    @abstractmethod
    def narrowed(self, tasks: Sequence[str], dwells: Sequence[float]) -> Experiment:
        """Return the experiment with some of its tasks and dwells alone; all where none are given."""

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
