"""Evidence without labels: how far the signals of a step deviate from those of a clean log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base.fixed import ONE
from ..monitor.evidence_head import COEF_LIMIT, COEF_UNIT, OFFSET_LIMIT, EvidenceHead
from .learn_head import means_by_class
from .signal_table import SignalTable

WEIGHT = {"odds": 1.0, "distance": 1.0, "magnitude": -0.5}
"""Share of each signal. Degraded input is doubtful and far from its class; most networks answer it with
smaller features, some with larger ones, so that magnitude has half a say."""

LEAST_SPREAD = 1 / 256
"""Floor of a spread, for a signal that hardly moves on clean data."""


def deviation_head(
    classes: int, names: Sequence[str], table: SignalTable, runs: Sequence[slice], clip: float
) -> tuple[EvidenceHead, dict[str, Any]]:
    """Return a head that sums standardized deviations, and figures for the notes.

    Each signal is centered by its mean under the same class and divided by its spread on clean steps; the
    weighted mean of these is the evidence. Its clean mean is 0, so an alarm needs an allowance.

    Parameters
    ----------
    names : sequence of str
        Signals in use; those of `WEIGHT` are read.
    table : SignalTable
        Of the log that holds the clean steps.
    runs : sequence of slice
        Clean stretches.
    clip : float
        Most that one step adds or takes off.
    """
    used = [name for name in names if name in WEIGHT]
    if not used:
        raise ValueError(f"evidence needs one of the signals {', '.join(WEIGHT)}")
    rows = np.zeros(len(table), dtype=bool)
    for run in runs:
        rows[run] = True
    x = table.of(used, rows) / ONE
    subject = table.subject[rows].astype(np.int64)
    means = means_by_class(x, subject, classes)
    spread = np.maximum((x - means[subject]).std(0), LEAST_SPREAD)
    weights = np.array([WEIGHT[name] for name in used])
    coef = weights / spread / np.abs(weights).sum()
    coef = np.clip(np.round(coef * COEF_UNIT) / COEF_UNIT, -COEF_LIMIT, COEF_LIMIT - 1 / COEF_UNIT)
    offsets = np.clip(-(means @ coef), -OFFSET_LIMIT, OFFSET_LIMIT)
    head = EvidenceHead(dict(zip(used, coef.tolist(), strict=True)), offsets.tolist(), clip)
    return head, {"from": "deviations", "clean_steps": int(rows.sum()), "coef": dict(head.coef)}
