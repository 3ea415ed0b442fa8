"""Decisions that a device made itself: their checks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.base.errors import InputError, wrong_value
from tcuq.base.fixed import ONE
from tcuq.io.decision_files import LIMITS
from tcuq.monitor.signals import NUMBER, SIGNALS
from tcuq.monitor.steps import NO_REASON, STEP_DTYPE

FIELDS = STEP_DTYPE.names or ()
_BOUNDS = {name: LIMITS.get(name, (0, 1)) for name in FIELDS} | {"reason": (0, len(SIGNALS) - 1)}
_WORDS = {True: 1, False: 0, "true": 1, "false": 0}


def _value(name: str, value: Any) -> float:
    """Return a value of a decision as a number; words stand for flags and reasons."""
    low, high = _BOUNDS[name]
    number: Any = (
        _WORDS.get(value, value) if (low, high) == (0, 1) and isinstance(value, (bool, str)) else value
    )
    if name == "reason":
        number = NUMBER.get(value, value) if isinstance(value, str) else value
        if number == NO_REASON:
            return NO_REASON
    if type(number) not in (int, float) or not low - 1e-6 <= number <= high + 1e-6:
        words = f"empty or one of {', '.join(SIGNALS)}" if name == "reason" else ""
        raise wrong_value(name, value, words or f"{low:g} to {high:g}")
    if STEP_DTYPE[name].kind == "f":
        return float(round(number * ONE)) / ONE
    if number != int(number):
        raise wrong_value(name, value, "an integer")
    return int(number)


def decision_row(content: Mapping[str, Any]) -> npt.NDArray[Any]:
    """Return the decision of one line as one row of `tcuq.STEP_DTYPE`.

    A line needs `risk`, `threshold`, and `answer` or `prediction`; what else it lacks is 0, false or unknown.
    """
    told = {name: content[name] for name in FIELDS if content.get(name) not in (None, "")}
    for name in ("risk", "threshold", "answer"):
        if name not in told and not (name == "answer" and "prediction" in told):
            raise InputError("missing", f"key {name!r} is missing, expected risk, threshold and answer")
    values: dict[str, Any] = dict.fromkeys(FIELDS, 0)
    values |= {"reason": NO_REASON, "expected_accuracy": math.nan}
    values |= {name: _value(name, value) for name, value in told.items()}
    for name, other in (("answer", "prediction"), ("prediction", "answer")):
        if name not in told:
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
    for name, (low, high) in _BOUNDS.items():
        values = steps[name].astype(np.float64)
        wrong = ~((values >= low - 1e-6) & (values <= high + 1e-6))
        if name == "expected_accuracy":
            wrong &= ~np.isnan(values)
        if name == "reason":
            wrong &= values != NO_REASON
        for row in np.flatnonzero(wrong).tolist():
            problems.setdefault(row, f"{name} is {values[row]:g}, expected {low:g} to {high:g}")
    return problems
