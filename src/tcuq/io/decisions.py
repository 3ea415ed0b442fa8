"""Decisions of a run: what is kept of them, and writing them."""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.errors import InputError, wrong_type, wrong_value
from ..monitor.heads import Sight
from ..monitor.params import Params
from ..monitor.signals import NUMBER, SIGNALS
from ..monitor.steps import ACTIONS, STEP_DTYPE, moved_names, reason_names
from .rows import csv_name
from .sources import TABLES, format_of, put
from .tables import decision_table, table_pieces

_JUDGED = ("risk", "threshold", "uncertainty", "abstain", "alarm", "warming_up", "reason")
_LEARNED = ("persistence", "novelty", "degradation", "expected_accuracy")
OLD_COLUMNS = ("step", "prediction", "answer", *_JUDGED, *_LEARNED)
"""Those of version 0.3 and before, under their names of today."""

SEEN = ("action", "changed", "moved")
COLUMNS = (*OLD_COLUMNS, *SEEN)
"""Columns of every decision file, in order. Where they are known, `answer_name` and `moved_name` follow, with
signals `low_mass` and one column a signal, and `params`, the fingerprint of the parameters, is the last."""

NAME, MOVED = "answer_name", "moved_name"

OWN_COLUMN = tuple(name for name in SIGNALS if name not in (STEP_DTYPE.names or ()))
"""Signals with a column of their own; the column `degradation` of a step tells the signal of that name."""


def decision_columns(
    used: Sequence[str] | None, fingerprint: bool, names: bool = False, sight: bool = False
) -> tuple[str, ...]:
    """Return the columns of a decision file in a text format."""
    more = () if used is None else ("low_mass", *(name for name in used if name in OWN_COLUMN))
    words = (*((NAME,) if names else ()), *((MOVED,) if sight else ()))
    return (*COLUMNS, *words, *more, *(("params",) if fingerprint else ()))


def fingerprint_number(text: Any) -> int:
    """Return the number of a fingerprint, eight hexadecimal digits as `Params.fingerprint` gives them."""
    if not isinstance(text, str) or not re.fullmatch("[0-9a-f]{8}", text):
        raise wrong_value("params", text, "a fingerprint of eight hexadecimal digits")
    return int(text, 16)


@dataclass(frozen=True, eq=False)
class Decisions:
    """What a monitor said, step by step.

    Parameters
    ----------
    steps : array of `tcuq.STEP_DTYPE`
        As `Monitor.run` gives them.
    first : int, default 0
        Number of the first step: 0 for a fresh monitor, else the steps that it had taken before.
    signals : array of shape (T, 10), optional
        As `Monitor.run` gives them, 0 where unused.
    used : sequence of str, optional
        Names of the signals that are kept; empty without signals.
    numbers : array of T integers, optional
        Step numbers as a file gives them; by default they count up from `first`.
    fingerprint : str, optional
        `Params.fingerprint` of the monitor.
    names : sequence of str, optional
        Names of the classes; "" for a class whose name a file does not tell.
    sight : Sight, optional
        `Params.sight` of the monitor: text formats and tables then tell in words what moved most.
    sighted : bool, default False
        Whether the monitor is known to have had one, as a file tells that has these words.
    """

    steps: npt.NDArray[Any]
    first: int = 0
    signals: npt.NDArray[np.float64] | None = None
    used: tuple[str, ...] = ()
    numbers: npt.NDArray[np.int64] | None = None
    fingerprint: str | None = None
    names: tuple[str, ...] | None = None
    sight: Sight | None = None
    sighted: bool = False

    def __post_init__(self) -> None:
        if getattr(self.steps, "dtype", None) != STEP_DTYPE or self.steps.ndim != 1:
            raise wrong_type("steps", self.steps, "a row of tcuq.STEP_DTYPE per step")
        if self.signals is not None and self.signals.shape != (len(self.steps), len(SIGNALS)):
            expected = f"expected {(len(self.steps), len(SIGNALS))}"
            raise InputError("value", f"signals have shape {self.signals.shape}, {expected}")
        if self.numbers is not None and self.numbers.shape != (len(self.steps),):
            raise InputError("value", f"numbers have shape {self.numbers.shape}, expected {len(self.steps)}")
        if self.fingerprint is not None:
            fingerprint_number(self.fingerprint)

    def __len__(self) -> int:
        return len(self.steps)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that are written."""
        used = None if self.signals is None else self.used
        return decision_columns(
            used, self.fingerprint is not None, self.names is not None, self.sight is not None
        )

    def check_params(self, params: Params) -> None:
        """Refuse parameters that these decisions were not made with; those that name none are accepted."""
        if self.fingerprint not in (None, params.fingerprint, params.old_fingerprint):
            expected = f"expected {params.fingerprint}, the fingerprint of the parameters given"
            raise InputError("conflict", f"made with parameters {self.fingerprint}, {expected}")

    def step_numbers(self) -> npt.NDArray[np.int64]:
        """Return the number of each step."""
        if self.numbers is not None:
            return self.numbers
        return np.arange(self.first, self.first + len(self), dtype=np.int64)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the columns as arrays of numbers, `reason` 255 for none, and `names` of all classes."""
        columns: dict[str, npt.NDArray[Any]] = {"step": self.step_numbers()}
        for name in self.columns[1:]:
            if name == "params":
                number = fingerprint_number(self.fingerprint or "")
                columns[name] = np.full(len(self), number, dtype=np.uint32)
            elif name == NAME:
                columns["names"] = np.array(self.names, dtype=str)
            elif name == MOVED:
                columns[name] = np.array(moved_names(self.steps["moved"], self.sight), dtype=str)
            elif self.signals is not None and name in OWN_COLUMN:
                columns[name] = np.ascontiguousarray(self.signals[:, NUMBER[name]])
            else:
                columns[name] = np.ascontiguousarray(self.steps[name])
        return columns

    def worded(self) -> dict[str, Any]:
        """Return the columns as a person reads them: names and words instead of their numbers."""
        columns: dict[str, Any] = dict(self.arrays())
        columns.pop("names", None)
        columns["reason"] = reason_names(self.steps["reason"])
        columns["action"] = [ACTIONS[code] for code in self.steps["action"].tolist()]
        if self.fingerprint is not None:
            columns["params"] = [self.fingerprint] * len(self)
        if self.names is not None:
            columns[NAME] = [self.names[answer] for answer in columns["answer"].tolist()]
        return {name: columns[name] for name in self.columns}

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield the columns of each step; as `worded` has them, an unknown accuracy as None."""
        columns = {
            name: values.tolist() if isinstance(values, np.ndarray) else values
            for name, values in self.worded().items()
        }
        accuracy = columns["expected_accuracy"]
        columns["expected_accuracy"] = [None if math.isnan(value) else value for value in accuracy]
        return zip(*columns.values(), strict=True)


class RowText:
    """Turn rows of decisions into lines of CSV or JSON."""

    # Six decimals are within 5e-7 of a multiple of 1/65536: rounding gives back the integer of the core.

    def __init__(self, columns: Sequence[str], format: str) -> None:
        csv = format == "csv"
        parts = []
        for place, name in enumerate(columns):
            whole = name in _WHOLE or (csv and name in _FLAGS)
            text = "{%d:d}" if whole else "{%d}" if name in _WORDED else "{%d:.6f}"
            parts.append(text % place if csv else f"{json.dumps(name)}: {text % place}")
        self.header = ",".join(columns) + "\n" if csv else ""
        self._pattern = ",".join(parts) + "\n" if csv else "{{" + ", ".join(parts) + "}}\n"
        self._word = _csv_word if csv else _json_word
        odd = _WORDED - _FLAGS - {"reason", "params", "action"} if csv else _WORDED
        self._words = [place for place, name in enumerate(columns) if name in odd]

    def lines(self, decisions: Decisions) -> str:
        """Return the lines of all steps."""
        return "".join(map(self.line, decisions.rows()))

    def line(self, row: tuple[Any, ...]) -> str:
        """Return the line of one step."""
        cells = list(row)
        for place in self._words:
            cells[place] = self._word(cells[place])
        return self._pattern.format(*cells)


_WHOLE = {"step", "prediction", "answer", "alarm", "moved"}
_FLAGS = {"abstain", "warming_up", "changed", "low_mass"}
_WORDED = {*_FLAGS, "reason", "action", "params", NAME, MOVED, "expected_accuracy"}
"""Columns that are not numbers, or need not be."""


def _json_word(value: Any) -> str:
    return f"{value:.6f}" if isinstance(value, float) else _quoted(value)


@lru_cache(maxsize=4096)
def _quoted(value: str | bool | None) -> str:
    """Return a word as JSON has it; there are few, and each stands on many lines."""
    return json.dumps(value, ensure_ascii=False)


def _csv_word(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6f}"
    name = csv_name(value)
    # A name is printable, so only commas and quotes could be taken for something else.
    return '"' + name.replace('"', '""') + '"' if "," in name or '"' in name else name


def decision_pieces(parts: Iterable[Decisions], format: str) -> Iterator[bytes]:
    """Yield decisions, given in parts that follow each other, as the bytes of one file; NPZ is made whole."""
    if format in TABLES:
        yield from table_pieces((decision_table(part.worded()) for part in parts), format)
    elif format == "npz":
        file = io.BytesIO()
        kept = list(parts)
        whole = replace(kept[0], steps=np.concatenate([part.steps for part in kept]))
        np.savez_compressed(file, **whole.arrays())  # type: ignore[arg-type]
        yield file.getvalue()
    else:
        text = None
        for part in parts:
            header, text = ("", text) if text else ((made := RowText(part.columns, format)).header, made)
            yield (header + text.lines(part)).encode()


def encode_decisions(decisions: Decisions, format: str) -> bytes:
    """Return decisions as the bytes of a file."""
    return b"".join(decision_pieces([decisions], format))


def write_decisions(path: str | Path, decisions: Decisions, format: str | None = None) -> None:
    """Write decisions, whole or not at all.

    Parameters
    ----------
    path : path
        ``"-"`` is standard output.
    decisions : Decisions
        What a monitor said; ``Decisions(steps)`` where you have steps.
    format : str, optional
        One of `FORMATS`; by default the extension tells.

    Examples
    --------
    >>> import tempfile
    >>> from tcuq import Monitor, Params
    >>> from tcuq.io import Decisions, read_decisions
    >>> steps = Monitor(Params(classes=2)).run([[0.75, 0.25], [0.5, 0.5]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_decisions(f"{folder}/decisions.csv", Decisions(steps))
    ...     read_decisions(f"{folder}/decisions.csv").steps["prediction"].tolist()
    [0, 0]
    """
    put(path, decision_pieces([decisions], format_of(path, format)))
