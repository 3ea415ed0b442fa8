"""Figures: a stream over time, methods compared, severity, risk and coverage. Needs matplotlib.

Figures are made without pyplot, so nothing global changes and no display is needed. The same input gives the
same bytes with the same version of matplotlib.
"""

from __future__ import annotations

from .comparison import comparison_figure, risk_coverage_figure, severity_figure
from .over_time import stream_figure
from .style import save_figure

__all__ = ["comparison_figure", "risk_coverage_figure", "save_figure", "severity_figure", "stream_figure"]
