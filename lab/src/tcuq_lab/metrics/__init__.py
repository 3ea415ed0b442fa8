"""Measures that the lab takes beyond those of `tcuq.metrics`, with numpy alone."""

from __future__ import annotations

from .classes import accuracy, brier, brier_per_class, ece, macro_f1, nll
from .ranking import (
    aurc,
    average_precision,
    precision_lift,
    prevalence,
    risk_at_coverage,
)

__all__ = ["accuracy", "aurc", "average_precision", "brier", "brier_per_class", "ece", "macro_f1", "nll",
           "precision_lift", "prevalence", "risk_at_coverage"]  # fmt: skip
