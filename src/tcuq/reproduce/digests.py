"""Digests of what decides a result, for the names of files that are kept."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from ..data import Dataset

HOME = Path(__file__).parent.parent
RECORDING = ("audio", "corruptions", "data", "methods", "zoo")
"""Rooms whose code decides what is recorded."""
AFTERWARDS = "methods/temporal"
"""Methods that add a memory to what the plain network said: they record nothing of their own."""
APART = ("cli", "demo", "export", "report", "pages", "lab/plots", "reproduce")
"""Rooms that decide no result, or of whose files only those that a kind of measurement names do."""
SHARED = ("kinds/comparison.py", "kinds/fits.py", "kinds/programme.py", "kinds/unit.py")
"""Files below `reproduce` that decide the records of every kind of measurement."""


@cache  # what runs is the code as it was when the process began
def code(*rooms: str) -> str:
    """Return a digest of the code of some rooms, without what only comes after a recording.

    Examples
    --------
    >>> code("data") == code("data"), code("data") == code("zoo")
    (True, False)
    """
    return _digest(
        path for path in _sources() if _inside(path).split("/")[0] in rooms and not _in(path, (AFTERWARDS,))
    )


@cache
def deciding(*files: str) -> str:
    """Return a digest of all code that decides results, the built core and some files of this room included.

    Parameters
    ----------
    *files : str
        Paths below `reproduce`.

    Examples
    --------
    >>> deciding("kinds/comparison.py") == deciding("kinds/programme.py")
    False
    """
    return _digest(
        [
            *(path for path in _sources() if not _in(path, APART)),
            *(HOME / "reproduce" / each for each in files),
        ]
    )


def _sources() -> list[Path]:
    return sorted(
        [*HOME.rglob("*.py"), *HOME.rglob("*.json"), *HOME.rglob("*.[ch]"), *HOME.glob("_core*.so")]
    )


def _inside(path: Path) -> str:
    return path.relative_to(HOME).as_posix()


def _in(path: Path, rooms: Iterable[str]) -> bool:
    return any(_inside(path).startswith(f"{room}/") for room in rooms)


def _digest(paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def shown(data: Dataset) -> str:
    """Return a digest of labels and of every tenth example."""
    return hashlib.sha256(data.y.tobytes() + data.x[::10].tobytes()).hexdigest()[:8]
