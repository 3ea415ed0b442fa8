"""From a development log to `Params`: the fit, the search over settings, and what they found."""

from __future__ import annotations

from .fit import fit
from .sentences import fit_findings, tune_findings
from .tune import tune

__all__ = ["fit", "fit_findings", "tune", "tune_findings"]
