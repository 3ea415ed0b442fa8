"""Two heads at once, gated by the persistence: learned on the log and on its own shuffle.

z = (1 - s) * (bias + signals of one step) + s * (bias + all signals) is linear in its coefficients, so one
regression on products of s and the signals learns both heads. The shuffle shows what holds where time says
nothing; every log has one for free.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..base.fixed import ONE
from ..monitor.params import COEF_LIMIT
from .logistic import fit_logistic
from .signal_table import Flags, Floats, SignalTable

INSTANT = ("doubt", "odds", "magnitude", "distance")
"""Signals that a single step has; the instant head reads those in use."""


@dataclass(frozen=True, eq=False)
class Gated:
    """Both heads, as floats.

    Parameters
    ----------
    instant, steady : tuple of str
        Signals of each head.
    instant_coef, steady_coef : array
    instant_bias, steady_bias : float
    """

    instant: tuple[str, ...]
    steady: tuple[str, ...]
    instant_coef: Floats
    steady_coef: Floats
    instant_bias: float
    steady_bias: float

    def logits(self, table: SignalTable, rows: Floats | Flags | slice = slice(None)) -> Floats:
        """Return the logit of some steps."""
        share = table.persistence[rows] / ONE
        instant = table.of(self.instant, rows) / ONE @ self.instant_coef + self.instant_bias
        steady = table.of(self.steady, rows) / ONE @ self.steady_coef + self.steady_bias
        return np.asarray((1 - share) * instant + share * steady)


def learn_gated(
    names: Sequence[str],
    parts: Sequence[tuple[SignalTable, Flags, Flags]],
    l2: float,
    nonnegative: bool = False,
) -> Gated:
    """Learn both heads from the errors of some steps.

    Parameters
    ----------
    names : sequence of str
        Signals that the steady head weighs; the instant head weighs those of `INSTANT` among them.
    parts : sequence of (SignalTable, errors, rows)
        Errors are those of all steps of the table; rows say which are used.
    l2 : float
        Strength of the penalty on standardized columns.
    nonnegative : bool
        Keep coefficients at 0 or above.
    """
    instant = tuple(name for name in names if name in INSTANT)
    steady = tuple(names)
    x = np.concatenate([_columns(table, instant, steady, rows) for table, _, rows in parts])
    target = np.concatenate([errors[rows] for _, errors, rows in parts])
    low = 0.0 if nonnegative else -COEF_LIMIT
    coef, bias = fit_logistic(x, target, l2, low, balanced=False)
    cut = 1 + len(instant)
    # The first column is s itself: what the bias of the steady head has beyond that of the instant one.
    return Gated(instant, steady, coef[1:cut], coef[cut:], bias, bias + float(coef[0]))


def _columns(table: SignalTable, instant: Sequence[str], steady: Sequence[str], rows: Flags) -> Floats:
    share = table.persistence[rows][:, None] / ONE
    alone = (1 - share) * (table.of(instant, rows) / ONE)
    return np.concatenate([share, alone, share * (table.of(steady, rows) / ONE)], axis=1)
