"""Columns of a data frame by name, as in the CSV format; pandas is recognized, never imported."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

ALIASES = {"labels": "label", "segments": "segment"}
KNOWN = ("label", "segment", "shifted", "step")
EXPECTED = "p0, p1, ... (and f0, f1, ..., label, segment, shifted)"


class Columns(NamedTuple):
    """The arrays of a log, and the columns that are none of its."""

    probs: npt.NDArray[Any]
    features: npt.NDArray[Any] | None
    label: npt.NDArray[Any] | None
    segment: npt.NDArray[Any] | None
    shifted: npt.NDArray[Any] | None
    unknown: list[str]


def is_frame(value: Any) -> bool:
    """Tell whether something is a data frame: a table with named columns that are arrays.

    Examples
    --------
    >>> is_frame(np.zeros((2, 2))), is_frame({"p0": [0.5]})
    (False, False)
    """
    return hasattr(value, "columns") and hasattr(value, "__getitem__") and hasattr(value, "shape")


def names_of(frame: Any) -> list[str]:
    """Return the names of the columns, as text."""
    return [str(name) for name in frame.columns]


def mixes(frame: Any) -> bool:
    """Tell whether a frame holds other columns of a log beside posteriors."""
    others = {*KNOWN, *ALIASES}
    return any(name in others or re.fullmatch(r"f\d+", name) for name in names_of(frame))


def read_frame(frame: Any) -> Columns:
    """Take the columns of a log out of a data frame.

    Parameters
    ----------
    frame : pandas.DataFrame or alike
        Columns p0, p1, ... are posteriors, f0, f1, ... features; label, segment and shifted are optional.
        Other columns are left alone and named in `Columns.unknown`.
    """
    given = names_of(frame)
    names = [ALIASES.get(name, name) for name in given]
    for place, name in enumerate(names):
        if name in names[:place]:
            raise ValueError(f"column {name!r} is there twice, expected it once")
    source = dict(zip(names, frame.columns, strict=True))
    probs, features = _numbered(names, "p"), _numbered(names, "f")
    if not probs:
        shown = ", ".join(given[:8]) + (", ..." if len(given) > 8 else "")
        raise ValueError(f"the data frame has no column p0, expected {EXPECTED}, got {shown}")

    def column(name: str) -> npt.NDArray[Any] | None:
        return np.asarray(frame[source[name]]) if name in source else None

    def table(columns: list[str]) -> npt.NDArray[Any]:
        found = np.stack([np.asarray(frame[source[name]]) for name in columns], axis=1)
        if found.dtype.kind not in "iufb":
            raise ValueError(f"columns {columns[0]} to {columns[-1]} hold {found.dtype}, expected numbers")
        return _narrow(found, columns is probs)

    return Columns(
        table(probs),
        table(features) if features else None,
        column("label"),
        column("segment"),
        column("shifted"),
        [name for name in names if name not in {*probs, *features, *KNOWN}],
    )


def _narrow(table: npt.NDArray[Any], posteriors: bool) -> npt.NDArray[Any]:
    """Return integers of any width as the int8 that a runtime wrote; one-hot posteriors are floats."""
    if table.dtype.kind == "f" or table.dtype in (np.int8, np.uint8):
        return table
    one_hot = posteriors and bool(np.isin(table, (0, 1)).all() and (table.sum(axis=1) == 1).all())
    fits = table.size == 0 or (table.min() >= -128 and table.max() <= 127)
    return table.astype(np.int8 if fits and not one_hot else np.float64)


def _numbered(names: list[str], letter: str) -> list[str]:
    """Return the columns p0, p1, ... or f0, f1, ... in order; refuse a gap."""
    found = {int(name[1:]) for name in names if re.fullmatch(rf"{letter}(0|[1-9]\d*)", name)}
    last = max(found, default=-1)
    for number in range(last + 1):
        if number not in found:
            raise ValueError(
                f"column '{letter}{number}' is missing, expected {letter}0 to {letter}{last} without a gap"
            )
    return [f"{letter}{number}" for number in range(last + 1)]
