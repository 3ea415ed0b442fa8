"""Two heads at once, gated by persistence: learned on the log and on its own shuffle.

With s, how far the past counts, z = (1 - s) * (bias + signals of one step) + s * (bias + all signals) is
linear in its coefficients, so one regression on products of s and the signals learns both heads. The shuffle
shows what holds where time says nothing; every log has one for free.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.fixed import ONE
from ..monitor.fixed_point import COEF_LIMIT
from .logistic import fit_in_place
from .signal_table import Flags, Floats, Ints, SignalTable, chunks

INSTANT = ("odds", "severity", "magnitude", "distance", "drift")
"""Signals that mean the same whether or not classes stay; the instant head reads those in use."""

HALF = ONE // 2
"""`SignalTable.past` counts in parts of it."""

LONG, THINNED = 500_000, 16
"""Rows beyond which a regression starts from that of every 16th of them."""


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


def learn_gated(names: Sequence[str], parts: Taught, l2: float, nonnegative: bool = False) -> Gated:
    """Learn both heads from the errors of some steps.

    The instant head weighs those of `INSTANT` among the names. Errors are those of all steps of a table;
    rows say which are used.
    """
    instant = tuple(name for name in names if name in INSTANT)
    steady = tuple(names)
    chosen = [(table, errors, np.arange(len(table))[rows]) for table, errors, rows in parts]
    low = 0.0 if nonnegative else -COEF_LIMIT

    def fitted(every: int, start: tuple[Floats, float] | None) -> tuple[Floats, float] | None:
        some = [(table, errors, rows[::every]) for table, errors, rows in chosen]
        target = np.concatenate([errors[rows] for _, errors, rows in some])
        if every > 1 and (target.all() or not target.any()):
            return None
        x = _columns([(table, rows) for table, _, rows in some], instant, steady)
        return fit_in_place(x, target, l2, low, balanced=False, start=start)

    long = sum(len(rows) for _, _, rows in chosen) > LONG
    solution = fitted(1, fitted(THINNED, None) if long else None)
    assert solution is not None
    coef, bias = solution
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
