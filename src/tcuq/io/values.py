"""What the formats share: int8 or float, rows that cannot be right, and the shape that parameters ask for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from ..base.errors import InputError, located, placed, wrong_value
from ..log.class_names import classes_expected
from ..log.columns import ALIASES as ALIASES
from ..log.log import NO_LABEL, Log
from ..log.quantize import LEAST_TOLERANCE, ONE_OUTPUT, other_outputs, sigmoid_pairs, sum_tolerances
from ..monitor.params import Params
from ..monitor.signals import FEATURE_BASED

Bad = Callable[[str], None]
"""Called with the message of a bad line, which is then skipped."""

Softmax = Callable[[npt.NDArray[Any]], npt.NDArray[Any]]
"""Makes posteriors of logits; given to a reader when its numbers are logits."""

BESIDE = ("step", "time", "boot", "seq", "label", "given_label", "given_segment", "at")
"""Keys that `tcuq live` writes beside those of a step or a decision. Other commands do not read them, and say
nothing of them."""

LOW, HIGH = -128, 127
BLOCK = 1 << 10
"""Lines that are taken together, as far as they are all good."""

LOOKED_AT = 1 << 16
"""Rows that are checked at a time."""

MOST = float(np.finfo(np.float32).max)

_INTEGERS = re.compile(r"[\s,+\-0-9]*")


def number_shown(value: float) -> str:
    """Return a number as a person wrote it."""
    return f"{value:.10g}"


def written_whole(cells: Sequence[str] | Sequence[float]) -> bool:
    """Tell whether every number is written as an integer: without a point and without an exponent."""
    if isinstance(cells[0], str):
        return _INTEGERS.fullmatch(",".join(map(str, cells))) is not None
    return set(map(type, cells)) == {int}


def written_int8(values: Sequence[float], cells: Sequence[str] | Sequence[float], posteriors: bool) -> bool:
    """Tell int8 from float by how one row is written; the one rule of all text formats.

    Integers in -128 to 127 are int8. A one-hot row of posteriors is float: many programs write a certain
    1.0 as 1. A lone 0 or 1 is a sigmoid output, which makes a one-hot row of two classes. `cells` are the
    same row as it is written.
    """
    if not written_whole(cells) or min(values) < LOW or max(values) > HIGH:
        return False
    certain = min(values) >= 0 and max(values) <= 1 and (len(values) == 1 or sum(values) == 1)
    return not (posteriors and certain)


class Kind:
    """Whether the posteriors, or the features, of one stream are int8 or float.

    The first valid row settles it; every row is then judged by that. Logits are any finite numbers.
    """

    def __init__(self, name: str, columns: Sequence[str] | None = None, logits: bool = False) -> None:
        self._name, self._columns = name, columns
        self._posteriors = name == "probs" and not logits
        self._what = "features" if name == "features" else "logits" if logits else "posteriors"
        self._raw: bool | None = None
        self._line = 0

    def judge(self, values: Sequence[float], cells: Sequence[str] | Sequence[float]) -> bool:
        """Return whether a row is int8; refuse one that cannot be right or contradicts the first."""
        raw = self._raw
        if raw is None:
            raw = written_int8(values, cells, self._posteriors)
        if raw:
            self._judge_int8(values, cells)
        elif not _plausible(values, self._posteriors):
            self._judge_float(values, cells)
        return raw

    def certain(self, rows: npt.NDArray[np.float64], whole: bool) -> bool:
        """Tell whether many rows are certainly good; `whole` where all are written as integers."""
        if self._raw:
            return whole and bool(rows.min() >= LOW and rows.max() <= HIGH)
        return not (bad_posteriors if self._posteriors else bad_features)(rows)

    def settle(self, raw: bool, line: int) -> None:
        """Keep what the first valid row is; later calls change nothing."""
        if self._raw is None:
            self._raw, self._line = raw, line

    def _judge_int8(self, values: Sequence[float], cells: Sequence[str] | Sequence[float]) -> None:
        if not written_whole(cells):
            at = next(i for i in range(len(cells)) if not written_whole(cells[i : i + 1]))
            expected = f"an integer in {LOW} to {HIGH}{self._since('int8')}"
            shown = str(cells[at]).strip()
            name = self._column(at)
            raise InputError("value", f"{name} is {shown}, expected {expected} (write 1 as 1.0)", name)
        if min(values) < LOW or max(values) > HIGH:
            at = next(i for i, value in enumerate(values) if not LOW <= value <= HIGH)
            expected = f"{LOW} to {HIGH}{self._since('int8')}"
            raise wrong_value(self._column(at), float(values[at]), expected)

    def _judge_float(self, values: Sequence[float], cells: Sequence[str] | Sequence[float]) -> None:
        table = np.array([values], dtype=np.float64)
        bad = bad_posteriors if self._posteriors else bad_features
        problems = bad(table, self._columns)
        if not problems:
            return
        hint = logits_hint(table[0]) if self._posteriors else ""
        if written_whole(cells):
            hint = (f", or int8 {LOW} to {HIGH}" if self._raw is None else self._since("float")) + hint
        raise InputError("value", problems[0] + hint)

    def _column(self, at: int) -> str:
        return self._columns[at] if self._columns else f"{self._name}[{at}]"

    def _since(self, kind: str) -> str:
        return f", as {self._what} were read as {kind} from line {self._line} on"


def _plausible(values: Sequence[float], posteriors: bool) -> bool:
    """Tell whether a row of floats is certainly good; cheap, as nearly all rows are."""
    total = sum(values)  # NaN and infinity spread into it and fail every comparison
    if not posteriors:
        return abs(total) < 1e38 and min(values) > -1e38 and max(values) < 1e38
    if min(values) < 0 or max(values) > 1:
        return False
    return abs(total - 1) < LEAST_TOLERANCE * 0.99 or (len(values) == 1 and total >= 0)


def logits_hint(row: npt.NDArray[Any]) -> str:
    """Return the question to add to the message about a bad row of posteriors."""
    other = other_outputs(row.reshape(1, -1))
    if other is not None:
        return f". {other}"
    return " (are these logits? pass `logits=True`)" if np.isfinite(row).all() else ""


def bad_posteriors(values: npt.NDArray[Any], names: Sequence[str] | None = None) -> dict[int, str]:
    """Return what is wrong with each bad row of float posteriors, as the core will judge it."""
    with np.errstate(invalid="ignore", over="ignore"):
        single = values.astype(np.float32)
        wrong = ~((single >= 0) & (single <= 1))
    bad = _first_wrong(wrong, values, "0 to 1", "probs", names)
    if values.size == 0 or values.shape[1] == 1:  # a sigmoid output stands alone
        return bad
    with np.errstate(invalid="ignore"):  # infinities are reported above, with the column that holds them
        totals = single.sum(axis=1, dtype=np.float64)
        tolerances = sum_tolerances(values)
        off = np.abs(totals - 1) > tolerances
    for row in np.flatnonzero(off).tolist():
        expected = f"expected 1.00 ± {tolerances[row]:.3g}"
        bad.setdefault(row, f"probs sum to {totals[row]:.6g}, {expected}")
    return bad


def bad_features(values: npt.NDArray[Any], names: Sequence[str] | None = None) -> dict[int, str]:
    """Return what is wrong with each bad row of float features."""
    with np.errstate(invalid="ignore"):
        wrong = ~(np.abs(values) <= MOST)
    return _first_wrong(wrong, values, "a finite number", "features", names)


def _first_wrong(
    wrong: npt.NDArray[np.bool_], values: npt.NDArray[Any], expected: str, name: str, names: Any
) -> dict[int, str]:
    """Return a message of the first wrong value of each row that has one."""
    problems = {}
    for row in np.flatnonzero(wrong.any(axis=1)).tolist():
        column = int(wrong[row].argmax())
        called = names[column] if names else f"{name}[{column}]"
        problems[row] = f"{called} is {number_shown(float(values[row, column]))}, expected {expected}"
    return problems


def check_label(label: int, classes: int) -> None:
    """Refuse a label that is neither a class, nor -1, none of them, nor unknown."""
    if not -1 <= label < classes and label != NO_LABEL:
        raise wrong_value("label", label, classes_expected(label, classes))


def make_log(
    probs: npt.NDArray[Any],
    features: npt.NDArray[Any] | None = None,
    label: npt.NDArray[Any] | None = None,
    segment: npt.NDArray[Any] | None = None,
    shifted: npt.NDArray[Any] | None = None,
    softmax: Softmax | None = None,
    names: Any = None,
    feature_scale: Any = None,
    feature_zero_point: Any = None,
    shift_names: Any = None,
) -> Log:
    """Return a log; one value a step is a sigmoid output and becomes two classes."""
    notes: tuple[str, ...] = ()
    if softmax is not None:
        probs = softmax(probs.reshape(-1, 1) if probs.ndim == 1 else probs)
    else:
        given, probs = probs, sigmoid_pairs(probs)
        notes = () if probs is given else (ONE_OUTPUT,)
    format = {"feature_scale": feature_scale, "feature_zero_point": feature_zero_point}
    for name, value in format.items():
        if value is not None:
            array = np.asarray(value)
            if array.size != 1:
                raise InputError("value", f"{name} has {array.size} values, expected one")
            format[name] = array.reshape(-1)[0].item()
    return Log(probs, features, label, segment, shifted, notes, names, shift_names=shift_names, **format)


def refuse_bad_rows(log: Log, where: str, start: int = 0) -> None:
    """Refuse a log without steps, and one with a row that the core would refuse; name the first."""
    if not len(log):
        raise InputError("missing", f"{where}: holds no steps, expected at least one row")
    for at in range(0, len(log), LOOKED_AT):  # the check takes several times the memory of its rows
        bad: dict[int, str] = {}
        probs, features = log.probs[at : at + LOOKED_AT], log.features
        if features is not None and features.dtype.kind == "f":
            bad.update(bad_features(features[at : at + LOOKED_AT]))
        if probs.dtype.kind == "f":
            for row, message in bad_posteriors(probs).items():
                bad[row] = message + logits_hint(probs[row])
        if bad:
            row = min(bad)
            raise InputError("value", f"{where}, row {start + at + row}: {bad[row]}")


class _Steps(Protocol):
    """Takes lines of a text format and makes logs of them; a bad line is an error and leaves no trace."""

    rows: int

    def add(self, line: str, number: int) -> None: ...

    def add_all(self, lines: list[str]) -> bool: ...  # False, and nothing taken, where one may be bad

    def log(self) -> Log: ...


def log_parts(
    lines: Iterator[tuple[int, str]], steps: _Steps, where: str, on_bad: Bad | None, size: int | None
) -> Iterator[Log]:
    """Read a log from lines with their numbers, about `size` steps at a time; blank lines are skipped.

    `on_bad` is called with the message of each bad line, which is skipped; without it, it is an error.
    """

    def made() -> Log:
        with located(where):
            return steps.log()

    begun = False
    while block := list(islice(lines, BLOCK)):
        block = [(number, line) for number, line in block if line.strip()]
        if not steps.add_all([line for _, line in block]):
            for number, line in block:
                try:
                    steps.add(line, number)
                except ValueError as error:
                    refuse(placed(error, f"{where}, line {number}"), on_bad)
        if size is not None and steps.rows >= size:
            begun = True
            yield made()
    if not steps.rows and not begun:
        raise InputError("missing", f"{where}: holds no steps, expected at least one row")
    if steps.rows:
        yield made()


def refuse(error: InputError, on_bad: Bad | None) -> None:
    """Raise an error, or hand its text to `on_bad` when bad lines are skipped."""
    if on_bad is None:
        raise error from None
    on_bad(str(error))


_SAID = "as the parameters say"


class Shape(NamedTuple):
    """Number of classes and features that a log must have.

    Features are `needed` where a signal reads them. A log that names other classes, or the same in another
    order, is of another classifier.
    """

    classes: int
    features: int
    needed: bool
    names: tuple[str, ...] | None = None

    @classmethod
    def of(cls, params: Params) -> Shape:
        """Return the shape that parameters ask for."""
        needed = any(name in FEATURE_BASED for name in params.signals)
        return cls(params.classes, params.features, needed, params.names)

    def check_row(self, probs: int, features: int | None) -> None:
        """Refuse a row with another number of values; one sigmoid output stands for two classes."""
        if max(2, probs) != self.classes:
            raise InputError("value", f"probs has {probs} values, expected {self.classes} {_SAID}")
        if features is None and self.needed:
            raise InputError("missing", f"features are missing, expected {self.features} {_SAID}")
        if features is not None and self.features and features != self.features:
            raise InputError("value", f"features has {features} values, expected {self.features} {_SAID}")

    def check_names(self, names: tuple[str, ...] | None) -> None:
        """Refuse names of classes that are not those of the parameters."""
        for number, (given, own) in enumerate(zip(names or (), self.names or (), strict=False)):
            if given != own:
                raise wrong_value(f"names[{number}]", given, f"{own!r} {_SAID}")

    def check_log(self, log: Log, where: str) -> None:
        """Refuse a log of another shape; `where` is its name in messages."""
        if log.classes != self.classes:
            raise InputError("value", f"{where}: has {log.classes} classes, expected {self.classes} {_SAID}")
        given = self.needed or log.features is not None
        if self.features and given and log.width != self.features:
            raise InputError("value", f"{where}: has {log.width} features, expected {self.features} {_SAID}")
        with located(where):
            self.check_names(log.names)
