"""The core's step over whole columns, in its integers: SPEC.md sections 6 to 8 and 11."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..base.fixed import ONE
from ..log.log import Log
from ..monitor.codec import COEF_UNIT
from ..monitor.heads import BLOCKS, EvidenceHead
from ..monitor.params import Params
from ..monitor.signals import NUMBER, SIGNALS, SLOW
from ..monitor.steps import Steps
from .signal_table import Flags, Floats, Ints, SignalTable, Units, chunks

_SHIFT = COEF_UNIT.bit_length() - 1
_TABLE = np.minimum(ONE - 1, np.floor(ONE / (1 + np.exp(-np.arange(97) / 8)) + 0.5)).astype(np.int64)


Whole = npt.NDArray[Any]
"""Integers of any width."""


def leaky_mean(values: npt.NDArray[Any], rates: Any) -> Floats:
    """Return a mean that closes a share of the gap to each value, its rate; blocks go side by side."""
    count, length = len(values), math.isqrt(len(values)) + 1
    laid = np.zeros((2, -(-count // length) * length))
    laid[0, :count], laid[1, :count] = values, rates
    means, leaks = laid.reshape(2, -1, length).transpose(0, 2, 1).copy()
    total, left = np.zeros(means.shape[1]), np.ones(means.shape[1])
    for step in range(length):
        total = means[step] = total + (means[step] - total) * leaks[step]
        left = leaks[step] = left * (1 - leaks[step])
    begin = 0.0
    for block in range(means.shape[1]):
        means[:, block] += leaks[:, block] * begin
        begin = means[-1, block]
    return means.T.ravel()[:count]


class Scores(NamedTuple):
    """What a monitor says of each step of a log, in [0, 1)."""

    uncertainty: Floats
    risk: Floats


def scores(params: Params, table: SignalTable) -> Scores:
    """Return uncertainty and risk of each step of a table that was read under the same anchor."""
    p = params.integers()
    names, instant = params.signals, p["instant"]
    result = Scores(np.empty(len(table)), np.empty(len(table)))
    for part in chunks(len(table)):
        z = np.full(part.stop - part.start, p["bias"], dtype=np.int64)
        half = table.past[part].astype(np.int64)
        if instant is not None:
            z = instant["bias"] + ((((z - instant["bias"]) >> 10) * half) >> 5)
        for name, column in zip(names, table.columns(names), strict=True):
            weight: Any = p["coef"][NUMBER[name]]
            if instant is not None:
                start = instant["coef"][NUMBER[name]]
                weight = start + (((weight - start) * half) >> 15)
            z += (weight * table.units[part, column].astype(np.int64)) >> _SHIFT
        uncertainty = _logistic(z)
        mixed = uncertainty * p["blend"] + table.anchor[part].astype(np.int64) * (ONE - p["blend"])
        result.uncertainty[part] = uncertainty / ONE
        result.risk[part] = ((mixed + ONE // 2) >> 16) / ONE
    return result


def _logistic(z: Ints) -> Ints:
    size = np.abs(z)
    at = np.minimum(size >> 13, 95)
    low = _TABLE[at]
    value = low + ((_TABLE[at + 1] - low) * (size & 8191) >> 13)
    value[size >= 12 * ONE] = ONE - 1
    return np.asarray(np.where(z < 0, ONE - value, value))


LEAST, MOST = 32, 256  # of a novelty, in 1/256
STILL_RATE = 1 / 16


def compared(log: Log, odds: Units | None) -> Ints:
    """Return what tells how new a step is: the odds, or eight sums of neighboring int8 features."""
    if odds is not None:
        return odds.astype(np.int64)[:, None]
    assert log.features is not None
    edges = [(block * log.width) >> 3 for block in range(BLOCKS + 1)]
    out = np.zeros((len(log), BLOCKS), dtype=np.int64)
    for part in chunks(len(log)):
        rows = np.asarray(log.features[part], dtype=np.int64)
        for block in range(BLOCKS):
            out[part, block] = rows[:, edges[block] : edges[block + 1]].sum(1)
    return out


def novelty(values: Ints, reach: int, starts: Flags) -> tuple[Ints, Floats]:
    """Return the novelty of each step in 1/256, and its stillness, in floats within 0.0002 of the core's."""
    gaps = np.square(np.diff(values, axis=0, prepend=values[:1])).sum(1)
    novelty = np.where(starts, MOST, np.clip(gaps // (reach >> 8), LEAST, MOST))
    return novelty, leaky_mean(doublings(values, reach, starts), np.where(starts, 1.0, STILL_RATE))


def doublings(values: Ints, reach: int, starts: Flags) -> Ints:
    """Return how often the movement of each step must be doubled to be new."""
    gaps = np.square(np.diff(values, axis=0, prepend=values[:1])).sum(1)
    short = reach.bit_length() - np.frexp(gaps.astype(np.float64))[1]
    return np.where(starts | (gaps // (reach >> 8) >= MOST), 0, short)


def evidence(
    head: EvidenceHead, names: Sequence[str], units: Whole, subject: Whole, frozen: Flags | None = None
) -> Ints:
    """Return the evidence of each step itself, Q16.16; all there can be where the input stands still."""
    p = head.integers()
    own = _clipped(p, 256 * np.array(p["offset"], dtype=np.int64)[subject], names, units, slow=False)
    return own if frozen is None else np.where(frozen, p["clip"], own)


def added(
    head: EvidenceHead,
    names: Sequence[str],
    units: Whole,
    subject: Whole,
    novelty: Whole,
    frozen: Flags | None = None,
) -> Ints:
    """Return what the rise side adds to its sum at each step, Q16.16, but for a baseline."""
    p = head.integers()
    if p["bet_slope"]:
        value = _bet(p["bet_base"], p["bet_slope"], evidence(head, names, units, subject, frozen))
    else:
        value = _clipped(p, np.full(len(units), p["bias"], dtype=np.int64), names, units, slow=True)
    loss = value < 0 if p["bet_slope"] else False  # which counts whole, however new the step
    return np.asarray(np.where(loss, value, (value * novelty.astype(np.int64)) >> 8) - p["allowance"])


def added_in_run(params: Params, steps: Steps, signals: Floats, frozen: Flags | None = None) -> Ints:
    """Return the same of what `Monitor.run` gives with its signals."""
    assert params.evidence is not None
    units = np.round(signals * ONE).astype(np.int64)
    novelty = np.round(steps["novelty"] * MOST).astype(np.int64)
    return added(params.evidence, SIGNALS, units, steps[params.about], novelty, frozen)


def _clipped(p: dict[str, Any], start: Ints, names: Sequence[str], units: Whole, slow: bool) -> Ints:
    for column, name in enumerate(names):
        if (name in SLOW) == slow:
            start = start + ((p["coef"][NUMBER[name]] * units[:, column].astype(np.int64)) >> _SHIFT)
    return np.asarray(np.clip(start, -p["clip"], p["clip"]))


def _bet(base: int, slope: int, evidence: Ints) -> Ints:
    """Return the natural logarithm of what a bet multiplies the stake by."""
    factor = base + ((slope * (evidence >> 8)) >> 8)
    bits = np.frexp(factor.astype(np.float64))[1].astype(np.int64)
    f = np.where(bits > 16, factor >> np.maximum(bits - 16, 0) << 1, factor << np.maximum(17 - bits, 0)) - ONE
    g = (f * (ONE - f)) >> 16
    h = 28752 - ((f * (15667 - ((5383 * f) >> 16))) >> 16)
    log = f + ((g * h) >> 16) + ONE * (bits - 17)
    return np.asarray((((log - 12) >> 4) * 45426) >> 12)


def alarm_on(added: Floats, limit: float, clear: float = 0.0, least_raised: int = 0) -> Flags:
    """Return where a one-sided sum has raised its alarm; its cap is the limit."""
    total, raised, left, out = 0.0, -1, 0, np.zeros(len(added), dtype=bool)
    for step, value in enumerate(added.tolist()):
        total += value
        if total < 0:
            total = 0.0
        elif total > limit:
            total = limit
        if raised < 0:
            if total >= limit:
                raised, left = step, least_raised
        elif left:
            left -= 1
        elif total <= clear:
            out[raised:step] = True
            raised, total = -1, 0.0
    if raised >= 0:
        out[raised:] = True
    return out
