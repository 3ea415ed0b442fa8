"""Decisions that a device made itself: their checks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.base.errors import InputError, wrong_value
from tcuq.base.fixed import ONE
from tcuq.io.decision_files import LIMITS
from tcuq.monitor.signals import NUMBER, SIGNALS
from tcuq.monitor.steps import NO_REASON, STEP_DTYPE

FIELDS = STEP_DTYPE.names or ()
_FLAGS = ("flagged", "abstain", "warming_up", "low_mass")
_WHOLE = ("prediction", "answer", "alarm")
_WORDS = {True: 1, False: 0, "true": 1, "false": 0, "": 0}


def _reason(value: Any) -> int:
    if value in ("", None, NO_REASON):
        return NO_REASON
    code = NUMBER.get(value, value) if isinstance(value, str) else value
    if type(code) is not int or not 0 <= code < len(SIGNALS):
        raise wrong_value("reason", value, f"empty or one of {', '.join(SIGNALS)}")
    return code


def _flag(name: str) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        number = _WORDS.get(value, value) if isinstance(value, (bool, str, int)) else value
        if number not in (0, 1):
            raise wrong_value(name, value, "true or false")
        return int(number)

    return read


def _number(name: str, whole: bool) -> Callable[[Any], float]:
    low, high = LIMITS[name]

    def read(value: Any) -> float:
        if type(value) not in (int, float) or not low - 1e-6 <= value <= high + 1e-6:
            raise wrong_value(name, value, f"{low:g} to {high:g}")
        if whole:
            if value != int(value):
                raise wrong_value(name, value, "an integer")
            return int(value)
        return float(round(value * ONE)) / ONE

    return read


_READERS: dict[str, Callable[[Any], Any]] = {
    name: _reason if name == "reason" else _flag(name) if name in _FLAGS else _number(name, name in _WHOLE)
    for name in FIELDS
}


def decision_row(content: Mapping[str, Any]) -> npt.NDArray[Any]:
    """Return the decision of one line as one row of `tcuq.STEP_DTYPE`.

    A line needs `risk`, `threshold`, and `answer` or `prediction`; what else it lacks is 0, false or unknown.
    """
    for name in ("risk", "threshold"):
        if name not in content:
            raise InputError("missing", f"key {name!r} is missing, expected risk, threshold and answer")
    if content.get("answer") is None and content.get("prediction") is None:
        raise InputError("missing", "key 'answer' is missing, expected risk, threshold and answer")
    values: dict[str, Any] = dict.fromkeys(FIELDS, 0)
    values |= {"reason": NO_REASON, "expected_accuracy": math.nan}
    for name, read in _READERS.items():
        value = content.get(name)
        if value is not None and not (value == "" and name == "expected_accuracy"):
            values[name] = read(value)
    for name, other in (("answer", "prediction"), ("prediction", "answer")):
        if content.get(name) is None:
            values[name] = values[other]
    values["flagged"] = values["risk"] >= values["threshold"]
    return np.array([tuple(values[name] for name in FIELDS)], dtype=STEP_DTYPE)


def odd_steps(steps: npt.NDArray[Any]) -> dict[int, str]:
    """Return what is out of range in decisions, by row, as a line of them would be refused.

    Examples
    --------
    >>> steps = np.concatenate([decision_row({"risk": 0, "threshold": 0, "answer": 7})] * 2)
    >>> steps["alarm"] = 0, 9
    >>> odd_steps(steps)
    {1: 'alarm is 9, expected 0 to 3'}
    """
    problems: dict[int, str] = {}
    for name in FIELDS:
        values = steps[name].astype(np.float64)
        if name == "reason":
            low, high = 0.0, len(SIGNALS) - 1.0
            wrong = (values > high) & (values != NO_REASON)
        else:
            low, high = LIMITS.get(name, (0, 1))
            wrong = ~((values >= low - 1e-6) & (values <= high + 1e-6))
            if name == "expected_accuracy":
                wrong &= ~np.isnan(values)
        for row in np.flatnonzero(wrong).tolist():
            problems.setdefault(row, f"{name} is {values[row]:g}, expected {low:g} to {high:g}")
    return problems
