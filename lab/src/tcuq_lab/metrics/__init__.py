"""Measures that the lab takes beyond those of `tcuq.metrics`, with numpy alone."""

from __future__ import annotations

from .classes import accuracy, brier, brier_per_class, ece, macro_f1, nll
from .ranking import (
    aurc,
    average_precision,
    budget_utilization,
    exceedance_deviation,
    precision_lift,
    prevalence,
    risk_at_coverage,
    threshold_spread,
)

__all__ = ["accuracy", "aurc", "average_precision", "brier", "brier_per_class", "budget_utilization", "ece",
           "exceedance_deviation", "macro_f1", "nll", "precision_lift", "prevalence", "risk_at_coverage",
           "threshold_spread"]  # fmt: skip
