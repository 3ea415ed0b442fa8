"""`Levels`: files of one lane, such that a commit costs what has changed and an opening reads few files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.base.errors import InputError
from tcuq.monitor.params import Params

from .lane import Changes, Lane
from .order import Touched
from .store import read_arrays, write_arrays


@dataclass(frozen=True)
class Level:
    """One file: rows of a lane that had changed when it was written."""

    name: str
    bytes: int
    changes: Changes

    @property
    def weight(self) -> int:
        """Rows, about."""
        return _weight(self.changes.touched)


def _weight(touched: Touched) -> int:
    return len(touched.slots) + len(touched.cells) // 4


class Levels:
    """The files of a lane, oldest first; the first has all devices, and each has twice the rows of the next.

    A commit takes files of about its own size into the new one: what it writes is in proportion to what has
    changed, times the logarithm of the fleet's size, and there are never more files than that.
    """

    def __init__(self, levels: list[Level] | None = None) -> None:
        self.levels: list[Level] = levels or []

    @property
    def named(self) -> list[dict[str, Any]]:
        """What HEAD keeps of them."""
        return [{"name": each.name, "bytes": each.bytes} for each in self.levels]

    def written(self, folder: Path, name: str, lane: Lane) -> Levels:
        """Write a file with what has changed; return the files that then make up the lane."""
        changes, kept = lane.changed(), list(self.levels)
        while kept and kept[-1].weight < 2 * _weight(changes.touched):
            older = kept.pop()
            if kept:  # else all is written anyway
                changes = changes.united(older.changes)
        if not kept:
            rows = lane.arrays()
            changes = _changes(rows)
        else:
            rows = lane.rows(changes)
        return Levels([*kept, Level(name, write_arrays(folder / name, rows), changes)])


def _changes(arrays: dict[str, npt.NDArray[Any]]) -> Changes:
    numbers = (arrays[name].astype(np.int64) for name in ("slots", "berths", "cells"))
    return Changes(int(arrays["count"][0]), Touched(*numbers))


def read_lane(
    folder: Path, named: list[dict[str, Any]], version: str, params: Params, **options: Any
) -> tuple[Lane, Levels]:
    """Return a lane from its files, and the files."""
    levels, parts = [], []
    for each in named:
        parts.append(read_arrays(folder / each["name"], each["bytes"]))
    try:
        for each, arrays in zip(named, parts, strict=True):
            levels.append(Level(each["name"], each["bytes"], _changes(arrays)))
        return Lane.restored(version, params, parts, **options), Levels(levels)
    except MemoryError:
        raise
    except Exception as error:  # arrays of other shapes or types lead to errors of all kinds
        place = folder / named[-1]["name"] if named else folder
        why = f"{type(error).__name__}: {error}" if isinstance(error, LookupError) else str(error)
        said = f"{place} or one before it does not fit version {version!r}: {why}"
        raise InputError("damaged", said) from None
