"""What both text formats share: telling int8 from floats, and finding the rows that cannot be right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ..log import Log
from ..quantize import two_classes
from .sources import at_line

Bad = Callable[[str], None]
"""Called with the message of a bad line, which is then skipped."""

LOW, HIGH = -128, 127
SUM_TOLERANCE = 0.01


def number_shown(value: float) -> str:
    """Return a number as a person wrote it.

    Examples
    --------
    >>> number_shown(300.0), number_shown(0.25)
    ('300', '0.25')
    """
    return f"{value:.10g}"


def is_raw(values: npt.NDArray[np.float64], posteriors: bool) -> bool:
    """Tell whether numbers of a text file are int8 rather than floats.

    All must be whole. Posteriors that are all 0 or 1 are floats (certain ones), not int8.

    Parameters
    ----------
    values : array
        Finite numbers.
    posteriors : bool
        Whether these are posteriors rather than features.

    Examples
    --------
    >>> is_raw(np.array([[-128.0, 127.0]]), True), is_raw(np.array([[0.0, 1.0]]), True)
    (True, False)
    """
    if values.size == 0 or not (values == np.floor(values)).all():
        return False
    if posteriors:
        return bool(((values < 0) | (values > 1)).any())
    return bool((values >= LOW).all() and (values <= HIGH).all())


def bad_posteriors(values: npt.NDArray[Any], raw: bool, names: list[str] | None = None) -> dict[int, str]:
    """Return what is wrong with each bad row of posteriors.

    Parameters
    ----------
    values : array of shape (T, L)
        As read, before any conversion.
    raw : bool
        Whether the numbers are int8.
    names : list of str, optional
        Name of each column, ``probs[c]`` by default.

    Returns
    -------
    dict
        Message by row.

    Examples
    --------
    >>> bad_posteriors(np.array([[0.5, 0.5], [0.5, 0.1]]), raw=False)
    {1: 'probs sum to 0.6; a sum within 0.01 of 1 is accepted'}
    """
    low, high = (LOW, HIGH) if raw else (0, 1)
    accepted = f"{low} to {high} is accepted, as the others are int8" if raw else "0 to 1 is accepted"
    bad = _outside(values, low, high, accepted, "probs", names)
    if raw or values.size == 0:
        return bad
    if values.shape[1] == 1:  # a sigmoid output stands alone
        return bad
    with np.errstate(invalid="ignore"):  # infinities are reported above, with the column that holds them
        totals = values.sum(axis=1, dtype=np.float64)
        off = np.abs(totals - 1) > SUM_TOLERANCE
    for row in np.flatnonzero(off).tolist():
        total = number_shown(float(totals[row]))
        bad.setdefault(row, f"probs sum to {total}; a sum within {SUM_TOLERANCE} of 1 is accepted")
    return bad


def bad_features(values: npt.NDArray[Any], raw: bool, names: list[str] | None = None) -> dict[int, str]:
    """Return what is wrong with each bad row of features.

    Parameters
    ----------
    values : array of shape (T, d)
    raw : bool
    names : list of str, optional

    Examples
    --------
    >>> bad_features(np.array([[1.0], [np.inf]]), raw=False)
    {1: 'features[0] is inf; a finite number is accepted'}
    """
    if raw:
        accepted = f"{LOW} to {HIGH} is accepted, as the others are int8"
        return _outside(values, LOW, HIGH, accepted, "features", names)
    most = float(np.finfo(np.float32).max)
    return _outside(values, -most, most, "a finite number is accepted", "features", names)


def _outside(
    values: npt.NDArray[Any], low: float, high: float, accepted: str, name: str, names: list[str] | None
) -> dict[int, str]:
    with np.errstate(invalid="ignore"):
        wrong = ~((values >= low) & (values <= high))
    found = {}
    for row in np.flatnonzero(wrong.any(axis=1)).tolist():
        column = int(wrong[row].argmax())
        called = names[column] if names else f"{name}[{column}]"
        found[row] = f"{called} is {number_shown(float(values[row, column]))}; {accepted}"
    return found


def bad_labels(labels: npt.NDArray[Any], classes: int) -> dict[int, str]:
    """Return what is wrong with each label that no class has; below 0 means unknown.

    Examples
    --------
    >>> bad_labels(np.array([0, 5, -1]), 3)
    {1: 'label is 5; at most 2 is accepted'}
    """
    rows = np.flatnonzero(labels >= classes).tolist()
    return {row: f"label is {int(labels[row])}; at most {classes - 1} is accepted" for row in rows}


def make_log(
    probs: npt.NDArray[Any],
    features: npt.NDArray[Any] | None = None,
    labels: npt.NDArray[Any] | None = None,
    segments: npt.NDArray[Any] | None = None,
    shifted: npt.NDArray[Any] | None = None,
) -> Log:
    """Return a log; one value a step is a sigmoid output and becomes two classes."""
    if probs.ndim == 1 or (probs.ndim == 2 and probs.shape[1] == 1):
        probs = two_classes(probs)
    return Log(probs, features, labels, segments, shifted)


def drop(
    bad: dict[int, str], count: int, lines: list[int], where: str, on_bad: Bad | None
) -> npt.NDArray[Any]:
    """Report bad rows and return the places of the others; without `on_bad` the first one is an error."""
    keep = np.ones(count, dtype=bool)
    for row in sorted(bad):
        refuse(at_line(where, lines[row], bad[row]), on_bad)
        keep[row] = False
    return np.flatnonzero(keep)


def refuse(message: str, on_bad: Bad | None) -> None:
    """Raise an error, or hand it to `on_bad` when bad lines are skipped."""
    if on_bad is None:
        raise ValueError(message)
    on_bad(message)
