"""Reading logs and decisions in whatever format they are."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.fixed import ONE
from ..monitor.log import Log
from ..monitor.logits import paired, softmax
from ..monitor.monitor import NO_REASON, STEP_DTYPE
from ..monitor.params import Params
from ..monitor.signals import NUMBER, SIGNALS
from .csv import read_csv
from .decisions import COLUMNS, Decisions, fingerprint_number
from .jsonl import parse_object, read_jsonl
from .npz import arrays_of, read_npz
from .sources import MAX_BYTES, at_line, check_length, decode_lines, format_of, read_bytes, read_lines, shown
from .unknown import guess, note_unknown
from .values import Bad, Shape, number_shown

MAX_INT32 = 2**31 - 1
_LIMITS: dict[str, tuple[float, float]] = {
    "step": (0, 2**53),
    "label": (0, 999),
    "risk": (0, (ONE - 1) / ONE),
    "threshold": (-MAX_INT32 / ONE, MAX_INT32 / ONE),
    "uncertainty": (0, (ONE - 1) / ONE),
    "abstain": (0, 1),
    "alarm": (0, 3),
    "warming_up": (0, 1),
    "low_mass": (0, 1),
    "params": (0, 2**32 - 1),
    **dict.fromkeys(SIGNALS, (0, (ONE - 1) / ONE)),
}
_FRACTIONS = {"risk", "threshold", "uncertainty", *SIGNALS}
_FLAGS = {"abstain", "warming_up", "low_mass"}
_CODED = {"reason": lambda text: _code(text), "params": fingerprint_number}
"""Columns that text formats write as words, and what gives their number."""
_KNOWN = (*COLUMNS, "low_mass", *SIGNALS, "params")


def read_log(
    path: str | Path,
    format: str | None = None,
    on_bad: Bad | None = None,
    params: Params | None = None,
    *,
    logits: bool = False,
    logits_scale: float | None = None,
    max_bytes: int = MAX_BYTES,
) -> Log:
    """Read a log of a classifier's outputs.

    Parameters
    ----------
    path : path
        ``.csv``, ``.npz``, ``.jsonl`` or ``.ndjson``; ``"-"`` is standard input.
    format : str, optional
        One of `FORMATS`; it overrides the extension.
    on_bad : callable, optional
        Called with the message of each bad line of a text format, which is skipped. Without it, the
        first bad line is an error that names the line.
    params : Params, optional
        Of the monitor that will read the log: a log of another shape is refused.
    logits : bool
        What stands for posteriors in the file are logits: softmax is applied.
    logits_scale : float, optional
        What one unit of int8 logits is worth.
    max_bytes : int
        An NPZ file may take this much memory, 2 GiB by default; its headers tell before it is unpacked.
        A line of a text format may always have 1 MiB; a longer one is a bad line.

    Returns
    -------
    Log
        In the text formats, the first valid row tells whether posteriors and features are int8
        (written as integers) or float; see `tcuq.io.values.written_int8`.

    Warns
    -----
    InputNote
        Where the file has columns that are not read.
    """
    kind, where = format_of(path, format), shown(path)
    shape = None if params is None else Shape.of(params)
    apply = (lambda table: softmax(paired(table), logits_scale)) if logits else None
    if kind == "npz":
        log = read_npz(read_bytes(path, max_bytes), where, max_bytes, apply)
    elif kind == "csv":
        log = read_csv(decode_lines(read_lines(path)), where, on_bad, apply)
    else:
        log = read_jsonl(decode_lines(read_lines(path)), where, on_bad, shape, apply)
    if shape is not None:
        shape.check_log(log, where)
    return log


def read_decisions(path: str | Path, format: str | None = None) -> Decisions:
    """Read decisions that `write_decisions` wrote; anything else is refused.

    Parameters
    ----------
    path : path
        ``"-"`` is standard input.
    format : str, optional
        One of `FORMATS`; it overrides the extension.
    """
    kind, where = format_of(path, format), shown(path)
    if kind == "npz":
        columns = arrays_of(read_bytes(path), where, _KNOWN, COLUMNS)
        _known_columns(list(columns), where)
        for name, values in columns.items():
            if values.ndim != 1 or values.dtype.kind not in "iufb" or len(values) != len(columns["step"]):
                shape = f"{values.dtype} of shape {values.shape}"
                raise ValueError(f"{where}: {name} is {shape}, expected one number a step")
        lines = list(range(len(columns["step"])))
        return _assemble(columns, lines, where, "row")
    filled = []
    for number, text in enumerate(decode_lines(read_lines(path)), 1):
        try:
            check_length(text)
        except ValueError as error:
            raise ValueError(at_line(where, number, str(error))) from None
        if text.strip():
            filled.append((number, text.rstrip("\r\n")))
    names, rows = _csv_rows(filled, where) if kind == "csv" else _jsonl_rows(filled, where)
    numbers = [n for n, _ in filled[1:]] if kind == "csv" else [n for n, _ in filled]
    table = np.array(rows, dtype=np.float64).reshape(len(rows), len(names))
    return _assemble({name: table[:, i] for i, name in enumerate(names)}, numbers, where, "line")


def _known_columns(names: list[str], where: str) -> list[str]:
    """Return the columns that are read, in the order of the file; note the others, refuse a missing one."""
    for name in COLUMNS:
        if name not in names:
            raise ValueError(
                f"{where}: column {name!r} is missing, expected {', '.join(COLUMNS)}{guess(names, name)}"
            )
    found = [name for name in names if name in _KNOWN]
    if len(set(found)) != len(found):
        twice = next(name for name in found if found.count(name) > 1)
        raise ValueError(f"{where}: column {twice!r} is there twice, expected once")
    if "low_mass" not in found and any(name in NUMBER for name in found):
        raise ValueError(
            f"{where}: column 'low_mass' is missing, expected beside signals; run again with --signals"
        )
    note_unknown("column", names, _KNOWN, where)
    return found


def _csv_rows(lines: list[tuple[int, str]], where: str) -> tuple[list[str], list[list[float]]]:
    header = lines[0][1].split(",") if lines else []
    names = _known_columns(header, where)
    places = [header.index(name) for name in names]
    rows = []
    for number, text in lines[1:]:
        cells = text.split(",")
        if len(cells) != len(header):
            message = f"the row has {len(cells)} values, expected {len(header)} as in the header"
            raise ValueError(at_line(where, number, message))
        try:
            kept = [cells[place] for place in places]
            rows.append([_number(name, text) for name, text in zip(names, kept, strict=True)])
        except ValueError as error:
            raise ValueError(at_line(where, number, str(error))) from None
    return names, rows


def _number(name: str, text: str) -> float:
    if name in _CODED:
        return float(_CODED[name](text))
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{name} is {text!r}, expected a number") from None


def _code(reason: Any) -> int:
    if reason == "":
        return NO_REASON
    if not isinstance(reason, str) or reason not in NUMBER:
        raise ValueError(f"reason is {reason!r}, expected empty or one of {', '.join(SIGNALS)}")
    return NUMBER[reason]


def _jsonl_rows(lines: Iterable[tuple[int, str]], where: str) -> tuple[list[str], list[list[float]]]:
    names: list[str] = []
    extra: set[str] = set()
    rows = []
    for number, text in lines:
        try:
            content = parse_object(text)
            if not names:
                names = _known_columns(list(content), where)
                extra = content.keys() - set(names)
            content = {name: value for name, value in content.items() if name not in extra}
            if content.keys() != set(names):
                raise ValueError(
                    f"keys are {', '.join(content)}, expected {', '.join(names)} as on the first line"
                )
            content |= {name: _CODED[name](content[name]) for name in _CODED if name in content}
            for name, value in content.items():
                kinds = (bool,) if name in _FLAGS else (int, float) if name in _FRACTIONS else (int,)
                if type(value) not in kinds:
                    accepted = "true or false" if name in _FLAGS else "a number"
                    raise ValueError(f"{name} is {value!r}, expected {accepted}")
            rows.append([float(content[name]) for name in names])
        except (ValueError, OverflowError) as error:
            text = str(error)
            raise ValueError(text if text.startswith(where) else at_line(where, number, text)) from None
    return names, rows


def _assemble(columns: dict[str, npt.NDArray[Any]], lines: list[int], where: str, unit: str) -> Decisions:
    """Check every value against its range and put the columns together."""
    if not lines:
        raise ValueError(f"{where}: holds no steps, expected at least one")
    steps = np.zeros(len(lines), dtype=STEP_DTYPE)
    signals = np.zeros((len(lines), len(SIGNALS)))
    for name, given in columns.items():
        values = given.astype(np.float64)
        with np.errstate(invalid="ignore"):
            if name == "reason":
                wrong = ~np.isin(values, (*range(len(SIGNALS)), NO_REASON))
                accepted = f"0 to {len(SIGNALS) - 1} or {NO_REASON}"
            else:
                low, high = _LIMITS[name]
                accepted = f"{number_shown(low)} to {number_shown(high)}"
                wrong = ~((values >= low - 1e-6) & (values <= high + 1e-6))
            if name in _FRACTIONS:
                # Six decimals leave at most 0.033 of a unit; more was not written by this package.
                exact = np.round(values * ONE)
                off = ~wrong & (np.abs(values * ONE - exact) > 0.04)
                accepted = (
                    "a multiple of 1/65536, to six decimals" if off.any() and not wrong.any() else accepted
                )
                wrong, values = wrong | off, exact / ONE
            else:
                wrong |= values != np.floor(values)
        if wrong.any():
            row = int(wrong.argmax())
            value = number_shown(float(given[row]))
            raise ValueError(f"{where}, {unit} {lines[row]}: {name} is {value}, expected {accepted}")
        if name in NUMBER:
            signals[:, NUMBER[name]] = values
        elif name not in ("step", "params"):
            steps[name] = values
    steps["flagged"] = steps["risk"] >= steps["threshold"]
    numbers = columns["step"].astype(np.int64)
    with_signals = "low_mass" in columns
    used = tuple(name for name in SIGNALS if name in columns)
    named = None
    if "params" in columns:
        fingerprints = [f"{int(value):08x}" for value in np.unique(columns["params"])]
        if len(fingerprints) > 1:
            found = " and ".join(fingerprints[:2])
            raise ValueError(f"{where}: params is {found}, expected decisions of one monitor")
        named = fingerprints[0]
    return Decisions(steps, int(numbers[0]), signals if with_signals else None, used, numbers, named)
