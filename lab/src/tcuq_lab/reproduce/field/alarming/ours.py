"""The monitor's own alarms: how they are fitted, what they say, and what their sums add at each step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from tcuq import FitOptions, Monitor, Params, fit
from tcuq.base.fixed import ONE
from tcuq.fitting.arrays import added_in_run, compared, novelty
from tcuq.fitting.clean import in_format
from tcuq.log.log import Log
from tcuq.metrics.inputs import Bools, Floats, Ints
from tcuq.monitor.monitor import run_over
from tcuq.monitor.signals import NUMBER
from tcuq.monitor.steps import Steps

from ....detection.switches import Limits, capped
from ..plan import CLEAN_OF
from ..units import Unit
from .limits import RUN_LENGTH


def _labeled(**options: Any) -> Callable[[Unit, str], Params]:
    def fitted(unit: Unit, role: str) -> Params:
        about: dict[str, Any] = {"clean": unit.clean_log(role), "run_length": RUN_LENGTH, **options}
        return fit(unit.log(role), force=True, options=FitOptions(explain=False), **about)

    return fitted


def _bare(unit: Unit, role: str) -> Params:
    """Return the monitor fitted without labels: to clean data where there is some, else to the clean steps.

    Without labels or marks nothing tells clean steps of a stream from others, so what is clean is given.
    """
    log = unit.log(role, labels=False)
    if role in CLEAN_OF:
        clean = unit.log(CLEAN_OF[role], labels=False)
    else:
        kept = unit.shown(role)
        clean = log.take(np.array([kept.names[each] == "clean" for each in kept.sources]))
    return fit(log, clean=clean, run_length=RUN_LENGTH, force=True, options=FitOptions(explain=False))


OURS: Mapping[str, Callable[[Unit, str], Params]] = MappingProxyType(
    {
        "tcuq": _labeled(about="prediction"),
        "tcuq no labels": _bare,
        "tcuq proved": _labeled(about="prediction", alarm="proved"),
    }
)
"""Rows, and how the monitor of each is fitted to a development stream."""


class Said(NamedTuple):
    """What an alarm does on a stream, and what its sum would take to do otherwise.

    Parameters
    ----------
    on : array (K, T)
        Of the core, at the limit that was fitted.
    added : array (K, T) of integers, optional
        What the rise side adds at each step, Q16.16; None where it sums risk.
    """

    on: Bools
    added: Ints | None


def said(params: Params, log: Log) -> Said:
    """Return what a fresh monitor says to each stretch of a stream.

    Parameters
    ----------
    params : Params
    log : Log
        With a segment for each stretch, all as long as each other.
    """
    on, added = [], []
    for piece in log.pieces():
        steps, signals = run_over(Monitor(params), log.take(piece), signals=True)
        on.append(np.asarray(steps["alarm"] > 0))
        if params.evidence is not None:
            added.append(_added(params, log.take(piece), steps, signals))
    return Said(np.stack(on), None if params.evidence is None else np.stack(added))


def _added(params: Params, log: Log, steps: Steps, signals: Floats) -> Ints:
    """Return what a fresh monitor adds to its sum at each step."""
    head, still = params.evidence, None
    assert head is not None
    if head.frozen:
        odds = np.round(signals[:, NUMBER["odds"]] * ONE).astype(np.uint16)
        values = compared(in_format(log, params), None if "distance" in params.signals else odds)
        _, stillness = novelty(values, head.reach, np.arange(len(log)) == 0)
        still = stillness > head.frozen
    return added_in_run(params, steps, signals, still)


def summed(params: Params, added: Ints) -> Callable[[Limits], Bools]:
    """Return what the alarm of a monitor does at any limits; it is held and cleared as that of the core."""
    found = params.alarm.integers()
    back = found["rise_limit"] - found["rise_clear"]
    return partial(capped, added, back=back, hold=found["least_raised"])


def fitted_limit(params: Params) -> int:
    """Return the limit of the rise side, Q16.16."""
    return int(params.alarm.integers()["rise_limit"])
