"""Fits of variants by what `tcuq.fit` may be told, and what each of them decided, in a few words."""

from __future__ import annotations

from typing import Any

import numpy as np

from tcuq import InputError
from tcuq.fitting import FitOptions, fit
from tcuq.log.log import Log
from tcuq.monitor.params import Params

from ..plan import CLEAN_DEV, DEV
from ..units import Unit

RUN_LENGTH = 2000
"""Clean steps per false alarm that every fit is asked for: more than that 16,000 steps cannot show."""
OPTIONS = {"l2", "lags", "signals", "use_features"}
"""What is told by `FitOptions`."""
CURVE = (250, 500, 1000, 2000, 4000, 8000, 16_000)
"""Steps of the fits of a learning curve."""


def fitted(log: Log, **told: Any) -> Params:
    """Return the standard monitor of the prediction, or what else is asked for."""
    inside = {name: told.pop(name) for name in OPTIONS & set(told)}
    options = FitOptions(explain=False, **inside)
    return fit(log, **{"about": "prediction", "run_length": RUN_LENGTH, **told}, force=True, options=options)


class Logs:
    """The development logs of one network.

    Parameters
    ----------
    unit : Unit
    """

    def __init__(self, unit: Unit) -> None:
        self.dev = unit.log(DEV)
        self.clean = unit.log(CLEAN_DEV)

    @property
    def bare(self) -> tuple[Log, Log]:
        """The same two without labels and marks."""
        return bare(self.dev), bare(self.clean)


def bare(log: Log) -> Log:
    """Return a log without labels and marks of shifts."""
    return Log(log.probs, log.features, segments=log.segments)


def on_first(log: Log, steps: int) -> tuple[Params, str]:
    """Return a fit to the first steps of a labeled log, and a remark.

    Where there are too few errors to learn from, it is made without labels, as the message of the fit
    advises.

    Parameters
    ----------
    log : Log
    steps : int
    """
    part = log.take(slice(0, steps))
    try:
        return fitted(part), ""
    except InputError as error:
        if error.name != "labels" or error.value is None:
            raise
        errors, correct = error.value
        assert part.shifted is not None
        clean = part.take(np.flatnonzero(~part.shifted)) if (~part.shifted).any() else part
        has = f"the log has {errors} errors and {correct} correct steps"
        return fitted(bare(part), clean=bare(clean)), f"without labels: {has}; "


def decided(params: Params) -> str:
    """Return what a fit decided, in a few words.

    Examples
    --------
    >>> decided(Params(classes=3, signals=("odds",), coef={"odds": 2.0}))
    'weighs odds 2; no alarm'
    """
    assert params.coef is not None
    weights = {name: value for name, value in params.coef.items() if value}
    text = "weighs " + ", ".join(f"{name} {value:.3g}" for name, value in weights.items())
    if params.instant is not None and dict(params.instant.coef) != dict(params.coef):
        alone = {name: value for name, value in params.instant.coef.items() if value}
        text += "; single steps " + ", ".join(f"{name} {value:.3g}" for name, value in alone.items())
    return f"{text}; {_alarm(params)}"


def _alarm(params: Params) -> str:
    rise = params.alarm.rise
    if rise is None:
        return "no alarm"
    if params.evidence is None:
        return f"alarm on risk, limit {rise.limit:.3g}"
    names = " ".join(params.evidence.coef)
    found = (params.notes.get("fit") or {}).get("evidence") or {}
    how = "deviations" if "from" in found else "learned"
    return f"alarm on {names} ({how}), limit {rise.limit:.3g}"
