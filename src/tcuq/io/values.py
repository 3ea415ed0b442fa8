"""What the formats share: rows that cannot be right, and the shape that parameters ask for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..base.errors import InputError, located, wrong_value
from ..base.spelling import option
from ..log.class_names import classes_expected
from ..log.columns import ALIASES as ALIASES
from ..log.log import NO_LABEL, Log
from ..log.quantize import LEAST_TOLERANCE, other_outputs, sum_tolerances
from ..monitor.params import Params
from ..monitor.signals import FEATURE_BASED

BESIDE = ("step", "time", "boot", "seq", "label", "given_label", "given_segment", "at")
"""Keys that `tcuq live` writes beside those of a step or a decision. Other commands do not read them, and say
nothing of them."""

LOOKED_AT = 1 << 16
"""Rows that are checked at a time."""

MOST = float(np.finfo(np.float32).max)


def number_shown(value: float) -> str:
    """Return a number as a person wrote it."""
    return f"{value:.10g}"


def plausible(row: list[float], posteriors: bool) -> bool:
    """Tell whether a row of floats is certainly good; cheap, as nearly all rows are."""
    total = sum(row)  # NaN and infinity spread into it and fail every comparison
    if not posteriors:
        return abs(total) < 1e38 and min(row) > -1e38 and max(row) < 1e38
    sums = len(row) == 1 or abs(total - 1) < LEAST_TOLERANCE * 0.99
    return sums and min(row) >= 0 and max(row) <= 1


def logits_hint(row: npt.NDArray[Any]) -> str:
    """Return the question to add to the message about a bad row of posteriors."""
    other = other_outputs(row.reshape(1, -1))
    if other is not None:
        return f". {other}"
    return f" (are these logits? pass {option('logits', True)})" if np.isfinite(row).all() else ""


def first_bad(
    values: npt.NDArray[Any], posteriors: bool, names: Sequence[str] | None = None
) -> tuple[int, str] | None:
    """Return the first row of floats that the core would refuse, and what is wrong with it."""
    name, expected = ("probs", "0 to 1") if posteriors else ("features", "a finite number")
    with np.errstate(invalid="ignore", over="ignore"):
        single = values.astype(np.float32)
        outside = ~((single >= 0) & (single <= 1)) if posteriors else ~(np.abs(values) <= MOST)
        wrong = outside.any(axis=1)
        if posteriors and values.shape[1] > 1:  # a sigmoid output stands alone
            totals, tolerances = single.sum(axis=1, dtype=np.float64), sum_tolerances(values)
            wrong |= np.abs(totals - 1) > tolerances
    if not wrong.any():
        return None
    row = int(wrong.argmax())
    if not outside[row].any():
        return row, f"probs sum to {totals[row]:.6g}, expected 1.00 ± {tolerances[row]:.3g}"
    column = int(outside[row].argmax())
    called = names[column] if names else f"{name}[{column}]"
    return row, f"{called} is {number_shown(float(values[row, column]))}, expected {expected}"


def check_label(label: int, classes: int) -> None:
    """Refuse a label that is neither a class, nor -1, none of them, nor unknown."""
    if not -1 <= label < classes and label != NO_LABEL:
        raise wrong_value("label", label, classes_expected(label, classes))


def refuse_bad_rows(log: Log, where: str, start: int = 0) -> None:
    """Refuse a log without steps, and one with a row that the core would refuse; name the first."""
    if not len(log):
        raise InputError("missing", f"{where}: holds no steps, expected at least one row")
    tables = [(log.probs, True), *([] if log.features is None else [(log.features, False)])]
    for at in range(0, len(log), LOOKED_AT):  # the check takes several times the memory of its rows
        parts = [(values[at : at + LOOKED_AT], kind) for values, kind in tables if values.dtype.kind == "f"]
        found = [(*bad, each) for each in parts if (bad := first_bad(*each)) is not None]
        if found:
            row, message, (values, posteriors) = min(found, key=lambda bad: bad[0])
            message += logits_hint(values[row]) if posteriors else ""
            raise InputError("value", f"{where}, row {start + at + row}: {message}")


_SAID = "as the parameters say"


class Shape(NamedTuple):
    """What a log must be like; features are `needed` where a signal reads them."""

    classes: int
    features: int
    needed: bool
    names: tuple[str, ...] | None = None

    @classmethod
    def of(cls, params: Params) -> Shape:
        """Return the shape that parameters ask for."""
        needed = any(name in FEATURE_BASED for name in params.signals)
        return cls(params.classes, params.features, needed, params.names)

    def check_row(self, probs: int, features: int | None = None) -> None:
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
