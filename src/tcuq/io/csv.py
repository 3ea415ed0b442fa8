"""Logs as CSV: one row a step, columns by name."""

from __future__ import annotations

import csv
import re
from array import array
from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from ..log import Log
from .sources import at_line
from .values import (
    Bad,
    bad_features,
    bad_labels,
    bad_posteriors,
    drop,
    is_raw,
    make_log,
    number_shown,
    refuse,
)

PLAIN = ("label", "segment", "shifted", "step")
ACCEPTED = "p0, p1, ..., f0, f1, ..., label, segment, shifted, step"
_WORDS = {"true": 1.0, "false": 0.0}


def numbered(names: Sequence[str], letter: str) -> list[str]:
    """Return the columns p0, p1, ... or f0, f1, ... in order; refuse a gap.

    Examples
    --------
    >>> numbered(["p1", "label", "p0"], "p")
    ['p0', 'p1']
    >>> numbered(["p0", "p2"], "p")
    Traceback (most recent call last):
    ...
    ValueError: column 'p1' is missing; p0 to p2 without a gap are accepted
    """
    found = {name for name in names if re.fullmatch(rf"{letter}(0|[1-9][0-9]*)", name)}
    last = max((int(name[1:]) for name in found), default=-1)
    if len(found) <= last:
        gap = next(f"{letter}{i}" for i in range(last + 1) if f"{letter}{i}" not in found)
        raise ValueError(f"column {gap!r} is missing; {letter}0 to {letter}{last} without a gap are accepted")
    return [f"{letter}{i}" for i in range(last + 1)]


def _columns(header: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """Return the names of a header, and those of its posteriors and features in order."""
    names = [name.strip() for name in header]
    if "p" in names and "p0" not in names:
        names[names.index("p")] = "p0"
    probs, features = numbered(names, "p"), numbered(names, "f")
    known = {*probs, *features, *PLAIN}
    for place, name in enumerate(names):
        if name not in known:
            raise ValueError(f"column {name!r} is unknown; {ACCEPTED} are accepted")
        if name in names[:place]:
            raise ValueError(f"column {name!r} stands twice")
    if not probs:
        raise ValueError(f"column 'p0' is missing; {ACCEPTED} are accepted")
    return names, probs, features


def _cell(name: str, text: str) -> float:
    word = text.strip().lower()
    if name == "shifted" and word in _WORDS:
        return _WORDS[word]
    accepted = "0 to 255" if name == "shifted" else "an integer" if name in PLAIN else "a number"
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if "_" in text or not np.isfinite(value):
        raise ValueError(f"{name} is {text!r}; {accepted} is accepted")
    return value


def _table(
    lines: Iterable[str], where: str, on_bad: Bad | None
) -> tuple[list[str], list[str], list[str], npt.NDArray[np.float64], list[int]]:
    """Return the used names, those of posteriors and features, the finite numbers, and each row's line."""
    reader = csv.reader(lines, strict=True)
    try:
        header = next(reader, None)
        if header is None:
            raise ValueError(f"{where}: is empty; a header with {ACCEPTED} is accepted")
        names, probs, features = _columns(header)
    except csv.Error as error:
        raise ValueError(at_line(where, reader.line_num, str(error))) from None
    except ValueError as error:
        raise error if str(error).startswith(where) else ValueError(at_line(where, 1, str(error))) from None
    used = [place for place, name in enumerate(names) if name != "step"]
    pick = itemgetter(*used) if 1 < len(used) < len(names) else None
    kept = [names[place] for place in used]
    numbers, at = array("d"), []
    while True:
        try:
            row = next(reader, None)
            if row is None:
                break
            if not row:
                continue
            if len(row) != len(names):
                raise ValueError(
                    f"the row has {len(row)} values; {len(names)} are accepted, as in the header"
                )
            cells: Sequence[str] = pick(row) if pick else [row[place] for place in used]
            numbers.extend(_row(kept, cells))
            at.append(reader.line_num)
        except (ValueError, csv.Error) as error:
            refuse(at_line(where, reader.line_num, str(error)), on_bad)
    return kept, probs, features, np.frombuffer(numbers, dtype=np.float64).reshape(-1, len(kept)), at


def _row(names: Sequence[str], cells: Sequence[str]) -> list[float]:
    try:
        values = list(map(float, cells))
        # sum() is NaN or infinite when a value is; float() also takes 1_000, which no writer means.
        if abs(sum(values)) < np.inf and "_" not in "".join(cells):
            return values
    except ValueError:
        pass
    return [_cell(name, text) for name, text in zip(names, cells, strict=True)]


def read_csv(lines: Iterable[str], where: str, on_bad: Bad | None = None) -> Log:
    """Read a log from the lines of a CSV file.

    Parameters
    ----------
    lines : iterable of str
        The first is the header.
    where : str
        Name of the file in messages.
    on_bad : callable, optional
        Called with the message of each bad line, which is skipped; without it, a bad line is an error.

    Examples
    --------
    >>> log = read_csv(["p0,p1,label", "0.75,0.25,0", "0.5,0.5,1"], "log.csv")
    >>> log.labels.tolist()
    [0, 1]
    >>> read_csv(["p0,p1", "0.75,x"], "log.csv")
    Traceback (most recent call last):
    ...
    ValueError: log.csv, line 2: p1 is 'x'; a number is accepted
    """
    names, prob_names, feature_names, table, at = _table(lines, where, on_bad)
    place = {name: i for i, name in enumerate(names)}
    classes = max(2, len(prob_names))
    probs = table[:, [place[name] for name in prob_names]]
    features = table[:, [place[name] for name in feature_names]]
    raw = is_raw(probs, posteriors=True)
    raw_features = is_raw(features, posteriors=False)
    bad = bad_plain(table, place, classes)
    bad.update(bad_features(features, raw_features, feature_names))
    bad.update(bad_posteriors(probs, raw, prob_names))
    keep = drop(bad, len(table), at, where, on_bad)
    if not len(keep):
        raise ValueError(f"{where}: holds no steps; at least one row is needed")

    def column(name: str) -> npt.NDArray[Any] | None:
        return table[keep, place[name]].astype(np.int64) if name in place else None

    return make_log(
        probs[keep].astype(np.int8) if raw else probs[keep],
        (features[keep].astype(np.int8) if raw_features else features[keep]) if feature_names else None,
        column("label"),
        column("segment"),
        column("shifted"),
    )


def bad_plain(table: npt.NDArray[np.float64], place: dict[str, int], classes: int) -> dict[int, str]:
    """Return what is wrong with each row whose label, segment or shifted is.

    Examples
    --------
    >>> bad_plain(np.array([[0.0], [0.5]]), {"label": 0}, classes=2)
    {1: 'label is 0.5; an integer is accepted'}
    """
    bad: dict[int, str] = {}
    for name in ("shifted", "segment", "label"):
        if name not in place:
            continue
        values = table[:, place[name]]
        if name == "shifted":
            wrong, accepted = ~np.isin(values, np.arange(256)), "0 to 255"
        else:
            wrong, accepted = (values != np.floor(values)) | (np.abs(values) > 2**53), "an integer"
        if name == "label":
            bad.update(bad_labels(values, classes))
        for row in np.flatnonzero(wrong).tolist():
            bad[row] = f"{name} is {number_shown(float(values[row]))}; {accepted} is accepted"
    return bad
