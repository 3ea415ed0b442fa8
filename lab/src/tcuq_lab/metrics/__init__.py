"""Measures that the lab takes beyond those of `tcuq.metrics`, with numpy alone."""

from __future__ import annotations

from .calibration import brier, brier_per_class, ece, nll
from .classification import accuracy, macro_f1
from .ranking import average_precision, fpr_at_tpr, precision_lift, prevalence
from .selective import aurc, risk_at_coverage
from .streams import budget_utilization, exceedance_deviation, threshold_spread

__all__ = [
    "accuracy",
    "aurc",
    "average_precision",
    "brier",
    "brier_per_class",
    "budget_utilization",
    "ece",
    "exceedance_deviation",
    "fpr_at_tpr",
    "macro_f1",
    "nll",
    "precision_lift",
    "prevalence",
    "risk_at_coverage",
    "threshold_spread",
]
