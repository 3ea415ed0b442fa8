"""The monitor's own alarms: how they are fitted, what they say, and what their sums add at each step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tcuq import FitOptions, Monitor, Params, fit
from tcuq.base.fixed import ONE
from tcuq.metrics.inputs import Bools, Ints
from tcuq.monitor.log import Log, watch

from ..plan import CLEAN_OF
from ..units import Unit
from .limits import RUN_LENGTH

GAP_MOST, WEIGHT_LEAST = 32767, 256
"""As in the core (SPEC.md section 11)."""


def _labeled(**options: Any) -> Callable[[Unit, str], Params]:
    def fitted(unit: Unit, role: str) -> Params:
        about: dict[str, Any] = {"clean": unit.clean_log(role), "run_length": RUN_LENGTH, **options}
        return fit(unit.log(role), options=FitOptions(explain=False), **about)

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
    return fit(log, clean=clean, run_length=RUN_LENGTH, options=FitOptions(explain=False))


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
        steps, signals = watch(Monitor(params), log.take(piece), signals=True)
        on.append(np.asarray(steps["alarm"] > 0))
        if params.evidence is not None:
            subject = steps["answer"] if params.about == "answer" else steps["prediction"]
            added.append(evidence_units(params, signals, np.asarray(subject, dtype=np.int64)))
    if params.evidence is None:
        return Said(np.stack(on), None)
    return Said(np.stack(on), sum_units(params, np.stack(added)))


def evidence_units(params: Params, signals: npt.NDArray[np.float64], subject: Ints) -> Ints:
    """Return the clipped evidence of each step, Q16.16, as the core has it.

    Parameters
    ----------
    params : Params
    signals : array (T, signals)
    subject : array of T integers
        Labels, or answers, whichever the monitor speaks of.
    """
    assert params.evidence is not None
    head = params.evidence.integers()
    units = np.round(signals * ONE).astype(np.int64)
    value = ((units * np.array(head["coef"], dtype=np.int64)) >> 9).sum(axis=1)
    value += 256 * np.array(head["offset"], dtype=np.int64)[subject]
    return np.asarray(np.clip(value, -head["clip"], head["clip"]))


def sum_units(params: Params, evidence: Ints) -> Ints:
    """Return what the alarm adds at each step: bet, allowance and novelty as SPEC.md section 11 has them.

    Parameters
    ----------
    params : Params
    evidence : array (K, T)
        Of K runs from a fresh monitor.
    """
    assert params.evidence is not None
    head = params.evidence.integers()
    x = evidence
    if head["bet_slope"]:
        factor = head["bet_base"] + ((head["bet_slope"] * (evidence >> 8)) >> 8)
        x = (((_log2(factor) - 12) >> 4) * 45426) >> 12
    x = x - head["allowance"]
    spread = head["spread"]
    if not spread:
        return np.asarray(x)
    added = np.empty(x.shape, dtype=np.int64)
    level = np.full(len(x), spread, dtype=np.int64)
    for step in range(x.shape[1]):
        if step:
            gap = np.minimum(np.abs(evidence[:, step] - evidence[:, step - 1]) >> 8, GAP_MOST)
            level = level + ((gap * gap - level + 16) >> 5)
        now = x[:, step]
        weight = np.maximum((level << 8) // (spread >> 4), WEIGHT_LEAST)
        added[:, step] = np.where((now > 0) & (level < spread), ((now >> 6) * weight) >> 6, now)
    return added


def _log2(factor: Ints) -> Ints:
    """Return log2(factor / 65536) in Q16.16, as the core's integers have it."""
    scale = np.zeros_like(factor)
    while ((factor >> scale) > 65535).any():
        scale = np.where((factor >> scale) > 65535, scale + 1, scale)
    value = factor >> scale
    shift = np.zeros_like(factor)
    while (value << shift < ONE).any():
        shift = np.where(value << shift < ONE, shift + 1, shift)
    part = (value << shift) - ONE
    bend = (part * (ONE - part)) >> 16
    bend = bend * (28752 - ((part * (15667 - ((5383 * part) >> 16))) >> 16))
    return np.asarray(part + (bend >> 16) - ONE * shift + ONE * scale)


def fitted_limit(params: Params) -> int:
    """Return the limit of the rise side, Q16.16."""
    return int(params.alarm.integers()["rise_limit"])
