"""Measures of scores, posteriors, decisions and alarms, with numpy alone, for the monitor and its peers."""

from __future__ import annotations

from .calibration import (
    Reliability,
    adaptive_ece,
    brier,
    brier_per_class,
    ece,
    nll,
    reliability,
    static_calibration_error,
)
from .classification import accuracy, macro_f1
from .intervals import Interval, block_bootstrap, paired_difference, wilson
from .ranking import (
    PrecisionRecallCurve,
    RocCurve,
    auroc,
    average_precision,
    fpr_at_tpr,
    precision_lift,
    precision_recall_curve,
    prevalence,
    roc_curve,
)
from .selective import RiskCoverage, aurc, coverage_at_risk, excess_aurc, risk_at_coverage, risk_coverage
from .streams import (
    Detection,
    budget_excess,
    budget_utilization,
    detection,
    exceedance_deviation,
    threshold_spread,
    worst_excess,
    worst_window,
)

__all__ = [
    "Detection",
    "Interval",
    "PrecisionRecallCurve",
    "Reliability",
    "RiskCoverage",
    "RocCurve",
    "accuracy",
    "adaptive_ece",
    "aurc",
    "auroc",
    "average_precision",
    "block_bootstrap",
    "brier",
    "brier_per_class",
    "budget_excess",
    "budget_utilization",
    "coverage_at_risk",
    "detection",
    "ece",
    "exceedance_deviation",
    "excess_aurc",
    "fpr_at_tpr",
    "macro_f1",
    "nll",
    "paired_difference",
    "precision_lift",
    "precision_recall_curve",
    "prevalence",
    "reliability",
    "risk_at_coverage",
    "risk_coverage",
    "roc_curve",
    "static_calibration_error",
    "threshold_spread",
    "wilson",
    "worst_excess",
    "worst_window",
]
