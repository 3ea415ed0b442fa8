"""How the standard profile does on the steps that no search saw, beside what `tune` chose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.fixed import ONE
from ..monitor.cost import Cost, cost
from ..monitor.log import Log
from .gated import learn_gated
from .options import FitOptions
from .search import CHECK_FOLD
from .signal_table import Floats
from .simple_rules import left_wrong
from .stages import Request, Signals, find_signals, fit_heads, read, set_alarm, set_threshold
from .unused import without_unused

ONE_HEAD = ("evidence", "evidence_clip", "calibrate", "explain", "drop_unused")
"""Options of `tune` that say nothing to a fit with two heads, or nothing to its score."""


@dataclass(frozen=True)
class Beside:
    """The standard profile on the same log.

    Parameters
    ----------
    left : float
        Share of wrong answers among the surest ones, on steps that its heads were not learned from.
    price : Cost
        Of its monitor.
    """

    left: float
    price: Cost


def standard_beside(
    log: Log, clean: Log | None, fold: npt.NDArray[np.int64], options: dict[str, Any]
) -> Beside | None:
    """Fit the standard profile without the fold that no search sees, and score it there.

    Parameters
    ----------
    log : Log
        With labels.
    clean : Log or None
    fold : array of integers
        Fold of each step.
    options : dict
        Keywords of `fit`; those of one head are left out.

    Returns
    -------
    Beside or None
        None where it cannot be fitted, such as without errors.
    """
    kept = {name: value for name, value in options.items() if name not in ONE_HEAD}
    told = FitOptions.of(**{**kept, "profile": "standard", "explain": False})
    try:
        signals = find_signals(read(Request(log, clean, told)))
        fitted = set_alarm(set_threshold(fit_heads(signals)))
        risk, wrong = _risk_elsewhere(signals, fold, told)
    except ValueError:
        return None
    held = fold == CHECK_FOLD
    return Beside(left_wrong(wrong[held], risk[held]), cost(without_unused(fitted.params)[0]))


def _risk_elsewhere(
    signals: Signals, fold: npt.NDArray[np.int64], told: FitOptions
) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Return the risk of every step from heads that did not see the fold, and which answers are wrong."""
    table, shuffle, wrong = signals.table, signals.shuffle, signals.errors
    assert shuffle is not None and wrong is not None
    seen = fold != CHECK_FOLD
    rows, mixed = table.settled & seen, shuffle.table.settled & seen[shuffle.order]
    if wrong[rows].all() or not wrong[rows].any():
        raise ValueError("the searched part of the log has errors alone, or none")
    parts = [(table, wrong, rows), (shuffle.table, shuffle.errors, mixed)]
    logits = learn_gated(signals.params.signals, parts, told.head.l2, told.head.nonnegative).logits(table)
    blend = signals.params.blend
    uncertainty = 1 / (1 + np.exp(-np.clip(logits, -50, 50)))
    return np.asarray(blend * uncertainty + (1 - blend) * table.anchor / ONE), wrong
