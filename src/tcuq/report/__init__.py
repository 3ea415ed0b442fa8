"""A report of a monitored stream: one HTML file that opens anywhere, offline."""

from __future__ import annotations

from .page import render, write_report
from .plot import StepsFigure, plot_steps

__all__ = ["StepsFigure", "plot_steps", "render", "write_report"]
