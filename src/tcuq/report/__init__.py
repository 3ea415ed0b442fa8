"""A report of a monitored stream: one HTML file that opens anywhere, offline."""

from __future__ import annotations

from .page import render, write_report

__all__ = ["render", "write_report"]
