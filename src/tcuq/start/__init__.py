"""All in one: record, fit, judge, report, export."""

from __future__ import annotations

from .run import start

__all__ = ["start"]
