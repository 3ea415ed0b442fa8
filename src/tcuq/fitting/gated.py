"""Two heads at once, gated by persistence, learned on a log and its own shuffle; their uncertainty and risk.

With s, how far the past counts, z = (1 - s) * (bias + signals of one step) + s * (bias + all signals) is
linear in its coefficients, so one regression on products of s and the signals learns both heads. The shuffle
shows what holds where time says nothing; every log has one for free.

Uncertainty and risk are sections 7 and 8 of SPEC.md over whole columns: the same integers as in the core, so
that a fit need not run the monitor again for new coefficients.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.fixed import ONE
from ..monitor.codec import COEF_LIMIT, COEF_UNIT
from ..monitor.params import Params
from ..monitor.signals import NUMBER
from .logistic import fit_in_place
from .signal_table import Flags, Floats, Ints, SignalTable, Units, chunks

_SHIFT = COEF_UNIT.bit_length() - 1
_TABLE = np.minimum(ONE - 1, np.floor(ONE / (1 + np.exp(-np.arange(97) / 8)) + 0.5)).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Scores:
    """What a monitor says of each step of a log, in 1/65536."""

    uncertainty_units: Units
    risk_units: Units

    @property
    def uncertainty(self) -> Floats:
        """Uncertainty in [0, 1)."""
        return self.uncertainty_units / ONE

    @property
    def risk(self) -> Floats:
        """Risk in [0, 1)."""
        return self.risk_units / ONE


def _logistic(z: Ints) -> Ints:
    size = np.abs(z)
    at = np.minimum(size >> 13, 95)
    low = _TABLE[at]
    value = low + ((_TABLE[at + 1] - low) * (size & 8191) >> 13)
    value[size >= 12 * ONE] = ONE - 1
    return np.asarray(np.where(z < 0, ONE - value, value))


def scores(params: Params, table: SignalTable) -> Scores:
    """Return uncertainty and risk of each step.

    The table is read under the same anchor, with the clean means of the parameters.
    """
    held = params.integers()
    numbers = [NUMBER[name] for name in params.signals]
    coef, instant = [held["coef"][n] for n in numbers], held["instant"]
    columns = table.columns(params.signals)
    result = Scores(*(np.empty(len(table), dtype=np.uint16) for _ in range(2)))
    for part in chunks(len(table)):
        z = np.full(part.stop - part.start, held["bias"], dtype=np.int64)
        half = table.past[part].astype(np.int64)
        if instant is not None:
            z = instant["bias"] + ((((z - instant["bias"]) >> 10) * half) >> 5)
        for number, factor, column in zip(numbers, coef, columns, strict=True):
            weight: Any = factor
            if instant is not None:
                start = instant["coef"][number]
                weight = start + (((factor - start) * half) >> 15)
            z += (weight * table.units[part, column].astype(np.int64)) >> _SHIFT
        uncertainty = _logistic(z)
        mixed = uncertainty * held["blend"] + table.anchor[part].astype(np.int64) * (ONE - held["blend"])
        result.uncertainty_units[part] = uncertainty
        result.risk_units[part] = (mixed + ONE // 2) >> 16
    return result


INSTANT = ("odds", "severity", "magnitude", "distance", "drift")
"""Signals that mean the same whether or not classes stay; the instant head reads those in use."""

HALF = ONE // 2
"""`SignalTable.past` counts in parts of it."""


@dataclass(frozen=True, eq=False)
class Gated:
    """Both heads, as floats."""

    instant: tuple[str, ...]
    steady: tuple[str, ...]
    instant_coef: Floats
    steady_coef: Floats
    instant_bias: float
    steady_bias: float

    def logits(self, table: SignalTable, rows: Any = slice(None)) -> Floats:
        """Return the logit of some steps, given as a slice, as flags or by number."""
        chosen = np.arange(len(table))[rows]
        out = np.empty(len(chosen))
        for part in chunks(len(chosen)):
            at = chosen[part]
            share = table.past[at] / HALF
            instant = table.of(self.instant, at) / ONE @ self.instant_coef + self.instant_bias
            steady = table.of(self.steady, at) / ONE @ self.steady_coef + self.steady_bias
            out[part] = (1 - share) * instant + share * steady
        return out


Taught = Sequence[tuple[SignalTable, Flags, Flags | Ints]]
"""Tables, where each is wrong, and which of its rows teach."""


def learn_gated(
    names: Sequence[str], parts: Taught, l2: float, nonnegative: bool = False, near: Gated | None = None
) -> Gated:
    """Learn both heads from the errors of some steps.

    The instant head weighs those of `INSTANT` among the names. Errors are those of all steps of a table;
    rows say which are used. Heads of the same signals that are `near` save passes.
    """
    instant = tuple(name for name in names if name in INSTANT)
    steady = tuple(names)
    chosen = [(table, errors, np.arange(len(table))[rows]) for table, errors, rows in parts]
    low, start = 0.0 if nonnegative else -COEF_LIMIT, None
    if near is not None:
        more = near.steady_bias - near.instant_bias
        start = np.concatenate([[more], near.instant_coef, near.steady_coef]), near.instant_bias
    target = np.concatenate([errors[rows] for _, errors, rows in chosen])
    x = _columns([(table, rows) for table, _, rows in chosen], instant, steady)
    coef, bias = fit_in_place(x, target, l2, low, balanced=False, start=start)
    cut = 1 + len(instant)
    # The first column is s itself: what the bias of the steady head has beyond that of the instant one.
    return Gated(instant, steady, coef[1:cut], coef[cut:], bias, bias + float(coef[0]))


def _columns(parts: list[tuple[SignalTable, Ints]], instant: Sequence[str], steady: Sequence[str]) -> Floats:
    """Return the products of s and the signals, and a column for ones, in one array."""
    cut, width = 1 + len(instant), 1 + len(instant) + len(steady)
    x = np.empty((sum(len(rows) for _, rows in parts), width + 1))
    done = 0
    for table, rows in parts:
        for part in chunks(len(rows)):
            at, out = rows[part], x[done : done + part.stop - part.start]
            share = table.past[at][:, None] / HALF
            out[:, :1] = share
            out[:, 1:cut] = (1 - share) * (table.of(instant, at) / ONE)
            out[:, cut:width] = share * (table.of(steady, at) / ONE)
            done += len(at)
    return x
