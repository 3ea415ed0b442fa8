"""Measures of scores, posteriors, decisions and alarms, with numpy alone, for the monitor and its peers."""

from __future__ import annotations

from .calibration import (
    Reliability,
    brier,
    brier_per_class,
    ece,
    nll,
    reliability,
)
from .classification import accuracy, macro_f1
from .intervals import Interval, block_bootstrap, paired_difference, wilson
from .ranking import (
    RocCurve,
    auroc,
    average_precision,
    fpr_at_tpr,
    precision_lift,
    prevalence,
    roc_curve,
)
from .selective import RiskCoverage, aurc, risk_at_coverage, risk_coverage
from .streams import (
    Detection,
    budget_utilization,
    detection,
    exceedance_deviation,
    threshold_spread,
    worst_window,
)

__all__ = [
    "Detection",
    "Interval",
    "Reliability",
    "RiskCoverage",
    "RocCurve",
    "accuracy",
    "aurc",
    "auroc",
    "average_precision",
    "block_bootstrap",
    "brier",
    "brier_per_class",
    "budget_utilization",
    "detection",
    "ece",
    "exceedance_deviation",
    "fpr_at_tpr",
    "macro_f1",
    "nll",
    "paired_difference",
    "precision_lift",
    "prevalence",
    "reliability",
    "risk_at_coverage",
    "risk_coverage",
    "roc_curve",
    "threshold_spread",
    "wilson",
    "worst_window",
]
