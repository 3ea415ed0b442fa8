"""Reading decisions in whatever format they are."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.checks import guess, note_unknown
from ..base.errors import InputError, located, placed, wrong_value
from ..base.fixed import ONE
from ..base.limits import Limits, limits_given
from ..log.class_names import checked_name, checked_names
from ..monitor.signals import NUMBER, REASONS, SIGNALS
from ..monitor.steps import NO_REASON, STEP_DTYPE
from .decisions import COLUMNS, NAME, NEWER, OWN_COLUMN, Decisions, fingerprint_number
from .jsonl import parse_object
from .rows import name_in_csv
from .sources import TABLES, check_length, decode_lines, format_of, read_bytes, read_lines, shown
from .tables import TableFile, arrays_of, cells_of
from .values import BESIDE, number_shown

Told = dict[int, str]
"""Names of classes, as far as a file tells them."""

_FRACTIONS = {*(name for name in STEP_DTYPE.names or () if STEP_DTYPE[name].kind == "f"), *SIGNALS}
_FLAGS = {"abstain", "warming_up", "low_mass"}
MAX_INT32 = 2**31 - 1
LIMITS: dict[str, tuple[float, float]] = {
    **dict.fromkeys(_FRACTIONS, (0, (ONE - 1) / ONE)),
    **dict.fromkeys(_FLAGS, (0, 1)),
    **dict.fromkeys(("prediction", "answer"), (0, 999)),
    "threshold": (-MAX_INT32 / ONE, MAX_INT32 / ONE),
    "severity": (-256, 256),
    "step": (0, 2**53),
    "alarm": (0, 3),
    "params": (0, 2**32 - 1),
}
"""Least and largest value of each column."""
_CODED: dict[str, Callable[[Any], Any]] = {
    "reason": lambda text: _code(text),
    "params": fingerprint_number,
    "expected_accuracy": lambda text: math.nan if text in ("", None) else text,
}
"""Columns that text formats write as words, and what gives their number."""
_KNOWN = (*COLUMNS, *NEWER, "low_mass", *OWN_COLUMN, "params")


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
    if kind == "npz":
        columns = arrays_of(read_bytes(path, limits), where, (*_KNOWN, "names"), COLUMNS, limits)
        names = columns.pop("names", None)
        _known_columns(list(columns), where)
        for name, values in columns.items():
            if values.ndim != 1 or values.dtype.kind not in "iufb" or len(values) != len(columns["step"]):
                shape = f"{values.dtype} of shape {values.shape}"
                raise InputError("value", f"{where}: {name} is {shape}, expected one number per step")
        lines = list(range(len(columns["step"])))
        with located(where):
            told = {} if names is None else dict(enumerate(checked_names(names, names.size) or ()))
        return _assemble(columns, lines, where, "row", told)
    if kind in TABLES:
        return _from_table(TableFile(path, kind, limits), where)
    filled = []
    for number, text in enumerate(decode_lines(read_lines(path, limits, whole=True)), 1):
        with located(f"{where}, line {number}"):
            check_length(text)
        if text.strip():
            filled.append((number, text.rstrip("\r\n")))
    told = {}
    read, rows = (_csv_rows if kind == "csv" else _jsonl_rows)(filled, where, told)
    lines = [number for number, _ in filled[kind == "csv" :]]
    table = np.array(rows, dtype=np.float64).reshape(len(rows), len(read))
    return _assemble({name: table[:, i] for i, name in enumerate(read)}, lines, where, "line", told)


def _from_table(file: TableFile, where: str) -> Decisions:
    """Read decisions from a Parquet or Arrow file, whose columns are those of the text formats."""
    names = _known_columns(file.names, where)
    if NAME in file.names:
        names = [*names, NAME]
    parts = [{name: cells_of(piece, name) for name in names} for piece in file.pieces(names)]
    if not sum(len(part["step"]) for part in parts):
        raise InputError("missing", f"{where}: holds no steps, expected at least one")
    columns = {name: np.concatenate([part[name] for part in parts]) for name in names}
    lines = list(range(len(columns["step"])))
    named = columns.pop(NAME, None)
    with located(where):
        for name, values in columns.items():
            if name in ("reason", "params"):
                values = np.array(_coded(name, values))
            if values.dtype.kind not in "iufb":
                raise InputError("value", f"column {name!r} holds {values.dtype}, expected numbers")
            columns[name] = values
        told: Told = {}
        if named is not None and "answer" in columns:
            texts = ["" if text is None else text for text in named.tolist()]
            if odd := [text for text in texts if not isinstance(text, str)]:
                raise wrong_value(NAME, odd[0], "text")
            for answer, text in sorted(set(zip(columns["answer"].tolist(), texts, strict=True))):
                _told(told, answer, text)
    return _assemble(columns, lines, where, "row", told)


def _coded(name: str, values: npt.NDArray[Any]) -> list[int]:
    """Return the numbers of words, of which there are few kinds."""
    if values.dtype.kind not in "OU":
        raise InputError("value", f"column {name!r} holds {values.dtype}, expected text")
    texts = values.tolist()
    if odd := [text for text in texts if not isinstance(text, str)]:
        raise wrong_value(name, odd[0], "text")
    numbers = {text: int(_CODED[name](text)) for text in set(texts)}
    return [numbers[text] for text in texts]


def _known_columns(names: list[str], where: str) -> list[str]:
    """Return the columns that are read, in the order of the file; note the others, refuse a missing one."""
    if not names:
        raise InputError("missing", f"{where}: is empty, expected decisions, as `tcuq run` writes them")
    for name in COLUMNS:
        if name not in names:
            expected = f"expected {', '.join(COLUMNS)}{guess(names, name)}"
            raise InputError("missing", f"{where}: column {name!r} is missing, {expected}")
    known = [name for name in names if name in _KNOWN]
    if len(set(known)) != len(known):
        twice = next(name for name in known if known.count(name) > 1)
        raise InputError("conflict", f"{where}: column {twice!r} is there twice, expected once")
    if "low_mass" not in known and any(name in OWN_COLUMN for name in known):
        raise InputError("missing", f"{where}: column 'low_mass' is missing, expected beside signals")
    note_unknown("column", [name for name in names if name not in BESIDE[1:]], (*_KNOWN, NAME), where)
    return known


def _told(told: Told, answer: float, name: Any) -> None:
    """Keep the name of a class; refuse one that cannot be shown, and a second one."""
    if name == "" or not float(answer).is_integer():  # such an answer is refused with all others out of range
        return
    if told.setdefault(int(answer), name) != name:
        raise wrong_value(NAME, name, f"{told[int(answer)]!r} as on a line before")
    checked_name(name, int(answer))


def _cells(text: str) -> list[str]:
    # A name may hold commas, and then stands in quotes.
    if '"' not in text:
        return text.split(",")
    try:
        return next(csv.reader([text]))
    except csv.Error as error:
        raise InputError("damaged", str(error)) from None


def _csv_rows(lines: list[tuple[int, str]], where: str, told: Told) -> tuple[list[str], list[list[float]]]:
    header = lines[0][1].split(",") if lines else []
    names = _known_columns(header, where)
    places = [header.index(name) for name in names]
    named = header.index(NAME) if NAME in header and "answer" in names else None
    rows = []
    for number, text in lines[1:]:
        try:
            cells = _cells(text)
            if len(cells) != len(header):
                raise InputError("value", f"the row has {len(cells)} values, the header has {len(header)}")
            kept = [cells[place] for place in places]
            rows.append([_number(name, text) for name, text in zip(names, kept, strict=True)])
            if named is not None:
                _told(told, rows[-1][names.index("answer")], name_in_csv(cells[named]))
        except ValueError as error:
            raise placed(error, f"{where}, line {number}") from None
    return names, rows


def _number(name: str, text: str) -> float:
    if name in ("reason", "params"):
        return float(_CODED[name](text))
    try:
        return float(_CODED[name](text) if name in _CODED else text)
    except ValueError:
        raise wrong_value(name, text, "a number") from None


def _code(reason: Any) -> int:
    if reason == "":
        return NO_REASON
    if not isinstance(reason, str) or reason not in REASONS:
        raise wrong_value("reason", reason, f"empty or one of {', '.join(REASONS)}")
    return REASONS[reason]


def _jsonl_rows(
    lines: Iterable[tuple[int, str]], where: str, told: Told
) -> tuple[list[str], list[list[float]]]:
    names: list[str] = []
    extra: set[str] = set()
    rows = []
    for number, text in lines:
        try:
            content = parse_object(text)
            if not names:
                names = _known_columns(list(content), where)
                extra = content.keys() - set(names)
            named = content.get(NAME, "") if NAME in extra else ""
            unread = {*extra, *BESIDE[1:]}
            content = {name: value for name, value in content.items() if name not in unread}
            if content.keys() != set(names):
                expected = f"expected {', '.join(names)} as on the first line"
                raise InputError("value", f"keys are {', '.join(content)}, {expected}")
            content |= {name: _CODED[name](content[name]) for name in _CODED if name in content}
            for name, value in content.items():
                kinds = (bool,) if name in _FLAGS else (int, float) if name in _FRACTIONS else (int,)
                if type(value) not in kinds:
                    raise wrong_value(name, value, "true or false" if name in _FLAGS else "a number")
            rows.append([float(content[name]) for name in names])
            if named and "answer" in content:
                _told(told, float(content["answer"]), named)
        except (ValueError, OverflowError) as error:
            raise placed(error, f"{where}, line {number}") from None
    return names, rows


def _assemble(
    columns: dict[str, npt.NDArray[Any]], lines: list[int], where: str, unit: str, told: Told
) -> Decisions:
    """Check every value against its range and put the columns together."""
    if not lines:
        raise InputError("missing", f"{where}: holds no steps, expected at least one")
    steps = np.zeros(len(lines), dtype=STEP_DTYPE)
    steps["expected_accuracy"] = np.nan
    signals = np.zeros((len(lines), len(SIGNALS)))
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
            raise InputError("value", f"{where}, {unit} {lines[row]}: {name} is {value}, expected {accepted}")
        if name in OWN_COLUMN:
            signals[:, NUMBER[name]] = values
        elif name not in ("step", "params"):
            steps[name] = values
    steps["flagged"] = steps["risk"] >= steps["threshold"]
    missing = tuple(name for name in NEWER if name not in columns)
    if "answer" in missing:  # as in version 0.1, which named a reason on every step
        steps["answer"] = steps["prediction"]
        steps["reason"][~steps["flagged"]] = NO_REASON
    numbers = columns["step"].astype(np.int64)
    with_signals = "low_mass" in columns
    used = tuple(name for name in SIGNALS if name in columns)
    if "severity" in used:
        slow = 32768 + (np.round(steps["severity"] * ONE).astype(np.int64) >> 4)
        signals[:, NUMBER["severity"]] = np.clip(slow, 0, ONE - 1) / ONE
        if not (with_signals and steps["look"].any()):  # no evidence, so no signal
            used = tuple(name for name in used if name != "severity")
            signals[:, NUMBER["severity"]] = 0.0
    named = None
    if "params" in columns:
        fingerprints = [f"{int(value):08x}" for value in np.unique(columns["params"])]
        if len(fingerprints) > 1:
            both = " and ".join(fingerprints[:2])
            raise InputError("conflict", f"{where}: params is {both}, expected decisions of one monitor")
        named = fingerprints[0]
    names = tuple(told.get(number, "") for number in range(1 + max(told))) if told else None
    if names is not None and "answer" in columns:
        names += ("",) * (1 + int(steps["answer"].max()) - len(names))
    shown_signals = signals if with_signals else None
    return Decisions(steps, int(numbers[0]), shown_signals, used, numbers, named, names, missing)
