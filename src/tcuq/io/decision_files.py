"""Reading decisions in whatever format they are."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.checks import guess, note_unknown
from ..base.errors import InputError, located, wrong_value
from ..base.fixed import ONE
from ..base.limits import Limits, limits_given
from ..log.class_names import checked_name, checked_names
from ..monitor.made import WAS
from ..monitor.signals import NUMBER, REASONS, SIGNALS
from ..monitor.steps import ACTIONS, NO_REASON, NOT_MOVED, STEP_DTYPE, actions_of
from .decisions import COLUMNS, MOVED, NAME, OLD_COLUMNS, OWN_COLUMN, Decisions, fingerprint_number
from .rows import csv_rows, name_in_csv, parse_object, taken
from .sources import TABLES, format_of, read_bytes, read_lines, shown
from .tables import TableFile, arrays_of, cells_of
from .values import BESIDE, number_shown

Columns = dict[str, npt.NDArray[Any]]

_FRACTIONS = {*(name for name in STEP_DTYPE.names or () if STEP_DTYPE[name].kind == "f"), *SIGNALS}
_FLAGS = {"abstain", "warming_up", "changed", "low_mass"}
MAX_INT32 = 2**31 - 1
LIMITS: dict[str, tuple[float, float]] = {
    **dict.fromkeys(_FRACTIONS, (0, (ONE - 1) / ONE)),
    **dict.fromkeys(_FLAGS, (0, 1)),
    **dict.fromkeys(("prediction", "answer"), (0, 999)),
    "threshold": (-MAX_INT32 / ONE, MAX_INT32 / ONE),
    "degradation": (-256, 256),
    "step": (0, 2**53),
    "alarm": (0, 3),
    "action": (0, len(ACTIONS) - 1),
    "moved": (0, NOT_MOVED),
    "params": (0, 2**32 - 1),
}
"""Least and largest value of each column."""
_CODED: dict[str, Callable[[Any], Any]] = {
    "reason": lambda text: _code(text),
    "action": lambda text: _action(text),
    "params": fingerprint_number,
    "expected_accuracy": lambda text: math.nan if text in ("", None) else text,
}
"""Columns that text formats write as words, and what gives their number."""
_KNOWN = (*COLUMNS, "low_mass", *OWN_COLUMN, "params")
_WORDS = (NAME, MOVED)
"""Columns that say in words what a number says; that of what moved tells, besides, of sight."""
_WAS = {old: new for old, new in WAS.items() if new in _KNOWN}


def read_decisions(path: str | Path, format: str | None = None, *, limits: Limits | None = None) -> Decisions:
    """Read decisions that `write_decisions` wrote; anything else is refused.

    Parameters
    ----------
    path : path
        ``"-"`` is standard input.
    format : str, optional
        One of `FORMATS`; it overrides the extension.
    limits : Limits, optional
        How large the file may be, as of `read_log`.
    """
    kind, where, limits = format_of(path, format), shown(path), limits_given(limits)
    unit, numbers, names = "row", None, None
    columns: Columns
    if kind == "npz":
        needed = [(name, *(old for old, new in _WAS.items() if new == name)) for name in OLD_COLUMNS]
        arrays = arrays_of(read_bytes(path, limits), where, (*_KNOWN, *_WAS, "names", MOVED), needed, limits)
        columns = dict(zip(today(list(arrays)), arrays.values(), strict=True))
        given, told = columns.pop("names", None), columns.pop(MOVED, None)
        with located(where):
            _known_columns(list(columns), where)
        for name, values in columns.items():
            if values.ndim != 1 or values.dtype.kind not in "iufb" or len(values) != len(columns["step"]):
                shape = f"{values.dtype} of shape {values.shape}"
                raise InputError("value", f"{where}: {name} is {shape}, expected one number per step")
        with located(where):
            names = None if given is None else checked_names(given, given.size)
        if told is not None:
            columns[MOVED] = told
    elif kind in TABLES:
        columns = _from_table(TableFile(path, kind, limits), where)
    else:
        rows, unit = DecisionRows(kind, where), "line"
        for _ in taken(read_lines(path, limits, whole=True), rows, where):
            pass
        columns, numbers = rows.joined(), rows.numbers
    return _assemble(columns, numbers, where, unit, names)


def _from_table(file: TableFile, where: str) -> Columns:
    """Read decisions from a Parquet or Arrow file, whose columns are those of the text formats."""
    with located(where):
        theirs = dict(zip(today(file.names), file.names, strict=True))
        names = _known_columns(today(file.names), where)
    pieces = file.pieces([theirs[name] for name in names])
    parts = [{name: cells_of(piece, theirs[name]) for name in names} for piece in pieces]
    columns = {name: np.concatenate([part[name] for part in parts]) for name in names if parts}
    with located(where):
        for name, values in columns.items():
            words = name in ("reason", "action", "params")
            if values.dtype.kind not in ("OU" if words else "iufbOU" if name in _WORDS else "iufb"):
                expected = "text" if words else "numbers"
                raise InputError("value", f"column {name!r} holds {values.dtype}, expected {expected}")
            columns[name] = _numbers(name, values.tolist()) if words else values
    return columns


def _numbers(name: str, cells: list[Any]) -> npt.NDArray[np.float64]:
    """Return the numbers of a column; those that are words in text formats have one each."""
    if name in _CODED:
        cells = [_CODED[name](cell) for cell in cells]
    try:
        return np.array(cells, np.float64)
    except (ValueError, TypeError, OverflowError):
        raise wrong_value(name, cells[0], "a number") from None


def today(names: list[str]) -> list[str]:
    """Return columns of decisions by their names of today; files of version 0.3 have others."""
    return [_WAS[name] if name in _WAS and _WAS[name] not in names else name for name in names]


def _known_columns(names: list[str], where: str) -> list[str]:
    """Return the columns that are read, in the order of the file; note the others, refuse a missing one."""
    for name in OLD_COLUMNS:
        if name not in names:
            expected = f"expected {', '.join(COLUMNS)}{guess(names, name)}"
            raise InputError("missing", f"column {name!r} is missing, {expected}")
    known = [name for name in names if name in (*_KNOWN, *_WORDS)]
    if len(set(known)) != len(known):
        twice = next(name for name in known if known.count(name) > 1)
        raise InputError("conflict", f"column {twice!r} is there twice, expected once")
    if "low_mass" not in known and any(name in OWN_COLUMN for name in known):
        raise InputError("missing", "column 'low_mass' is missing, expected beside signals")
    note_unknown("column", [name for name in names if name not in BESIDE[1:]], (*_KNOWN, *_WORDS), where)
    return known


class DecisionRows:
    """Decisions as rows of text; the first line tells their columns."""

    def __init__(self, kind: str, where: str) -> None:
        self._read, self._where = self._csv if kind == "csv" else self._json, where
        self.begun, self.numbers = False, list[int]()
        self._columns: list[str] = []
        self._parts: list[Columns] = []

    def take(self, lines: list[str], numbers: list[int]) -> None:
        """Take some lines; see `tcuq.io.rows.Rows`."""
        cells = self._read(lines)
        if cells:
            named = {name: np.array(cells.pop(name), object) for name in _WORDS if name in cells}
            self._parts.append({name: _numbers(name, column) for name, column in cells.items()} | named)
            self.numbers += numbers

    def joined(self) -> Columns:
        """Return all columns."""
        if not self.begun:
            raise InputError(
                "missing", f"{self._where}: is empty, expected decisions, as `tcuq run` writes them"
            )
        names = self._columns if self._parts else []
        return {name: np.concatenate([part[name] for part in self._parts]) for name in names}

    def _csv(self, lines: list[str]) -> dict[str, list[Any]]:
        if not self.begun:
            self._header = today(lines[0].rstrip("\r\n").split(","))
            self._columns, self.begun = _known_columns(self._header, self._where), True
            return {}
        columns = list(zip(*csv_rows(lines, len(self._header)), strict=True))
        cells = {name: list(columns[self._header.index(name)]) for name in self._columns}
        if NAME in cells:
            cells[NAME] = list(map(name_in_csv, cells[NAME]))
        return cells

    def _json(self, lines: list[str]) -> dict[str, list[Any]]:
        objects = [parse_object(line) for line in lines]
        if objects[0].keys() & _WAS.keys():
            objects = [dict(zip(today(list(each)), each.values(), strict=True)) for each in objects]
        if not self.begun:
            self._columns, self.begun = _known_columns(list(objects[0]), self._where), True
            self._unread = {*(objects[0].keys() - {*self._columns}), *BESIDE[1:]}
        for content in objects:
            if content.keys() - self._unread - {*_WORDS} != {*self._columns} - {*_WORDS}:
                given = ", ".join(name for name in content if name not in self._unread)
                expected = f"expected {', '.join(self._columns)} as on the first line"
                raise InputError("value", f"keys are {given}, {expected}")
        cells = {name: [content.get(name) for content in objects] for name in self._columns}
        for name in self._columns:
            if name in (*_CODED, *_WORDS):
                continue
            kinds = {bool} if name in _FLAGS else {int, float} if name in _FRACTIONS else {int}
            if not {*map(type, cells[name])} <= kinds:
                odd = next(value for value in cells[name] if type(value) not in kinds)
                raise wrong_value(name, odd, "true or false" if name in _FLAGS else "a number")
        return cells


def _code(reason: Any) -> int:
    if reason == "":
        return NO_REASON
    reason = WAS.get(reason, reason) if isinstance(reason, str) else None
    if reason not in REASONS:
        raise wrong_value("reason", reason, f"empty or one of {', '.join(REASONS)}")
    return REASONS[reason]


def _action(name: Any) -> int:
    if name not in ACTIONS:
        raise wrong_value("action", name, f"one of {', '.join(ACTIONS)}")
    return ACTIONS.index(name)


def _names_told(
    answers: list[float], texts: list[Any], place: Callable[[int], str]
) -> tuple[str, ...] | None:
    """Return the names of classes as far as rows tell them; refuse one that changes or cannot be shown."""
    names: dict[int, str] = {}
    for row, (answer, text) in enumerate(zip(answers, texts, strict=True)):
        if text in ("", None) or names.get(int(answer)) == text:
            continue
        with located(place(row)):
            if not isinstance(text, str):
                raise wrong_value(NAME, text, "text")
            if int(answer) in names:
                raise wrong_value(NAME, text, f"{names[int(answer)]!r} as on a line before")
            names[int(answer)] = checked_name(text, int(answer))
    return tuple(names.get(number, "") for number in range(1 + max(names))) if names else None


def _assemble(
    columns: Columns, numbers: list[int] | None, where: str, unit: str, names: tuple[str, ...] | None
) -> Decisions:
    """Check every value against its range and put the columns together."""
    count = len(columns.get("step", ()))
    if not count:
        raise InputError("missing", f"{where}: holds no steps, expected at least one")

    def place(row: int) -> str:
        return f"{where}, {unit} {row if numbers is None else numbers[row]}"

    named, sighted = columns.pop(NAME, None), columns.pop(MOVED, None) is not None
    steps = np.zeros(count, dtype=STEP_DTYPE)
    signals = np.zeros((count, len(SIGNALS)))
    for name, given in columns.items():
        values = given.astype(np.float64)
        with np.errstate(invalid="ignore", over="ignore"):
            if name == "reason":
                wrong = ~np.isin(values, (*REASONS.values(), NO_REASON))
                accepted = f"0 to {len(SIGNALS) - 1}, {NO_REASON - 1} or {NO_REASON}"
            else:
                low, high = LIMITS[name]
                accepted = f"{number_shown(low)} to {number_shown(high)}"
                wrong = ~((values >= low - 1e-6) & (values <= high + 1e-6))
                if name == "expected_accuracy":
                    wrong &= ~np.isnan(values)
            if name in _FRACTIONS:
                # Six decimals leave at most 0.033 of a unit; more was not written by this package.
                exact = np.round(values * ONE)
                off = ~wrong & (np.abs(values * ONE - exact) > 0.04)
                if off.any() and not wrong.any():
                    accepted = "a multiple of 1/65536, to six decimals"
                wrong, values = wrong | off, exact / ONE
            else:
                wrong |= values != np.floor(values)
        if wrong.any():
            row = int(wrong.argmax())
            value = number_shown(float(given[row]))
            raise InputError("value", f"{name} is {value}, expected {accepted}", where=place(row))
        if name in OWN_COLUMN:
            signals[:, NUMBER[name]] = values
        elif name not in ("step", "params"):
            steps[name] = values
    steps["flagged"] = steps["risk"] >= steps["threshold"]
    # Files of version 0.3 tell no action, and its monitors saw no input.
    if "action" not in columns:
        steps["action"] = actions_of(steps)
    if "moved" not in columns:
        steps["moved"] = NOT_MOVED
    steps_taken = columns["step"].astype(np.int64)
    with_signals = "low_mass" in columns
    used = tuple(name for name in SIGNALS if name in columns)
    if "degradation" in used:
        slow = 32768 + (np.round(steps["degradation"] * ONE).astype(np.int64) >> 4)
        signals[:, NUMBER["degradation"]] = np.clip(slow, 0, ONE - 1) / ONE
        # No evidence, so no such signal; that of sight is another one, which is not read back.
        if sighted or not (with_signals and steps["novelty"].any()):
            used = tuple(name for name in used if name != "degradation")
            signals[:, NUMBER["degradation"]] = 0.0
    if named is not None:
        names = _names_told(columns["answer"].tolist(), named.tolist(), place)
    if names is not None:
        names += ("",) * (1 + int(steps["answer"].max()) - len(names))
    fingerprint = None
    if "params" in columns:
        fingerprints = [f"{int(value):08x}" for value in np.unique(columns["params"])]
        if len(fingerprints) > 1:
            both = " and ".join(fingerprints[:2])
            raise InputError("conflict", f"{where}: params is {both}, expected decisions of one monitor")
        fingerprint = fingerprints[0]
    shown_signals = signals if with_signals else None
    of = (steps, int(steps_taken[0]), shown_signals, used, steps_taken, fingerprint, names)
    return Decisions(*of, sighted=sighted)
