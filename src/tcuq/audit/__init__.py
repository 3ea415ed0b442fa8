"""Decisions derived again from a log, in plain integers, without the core."""

from __future__ import annotations

from .derive import audit, checked_state
from .verdict import Audit, Check

__all__ = ["Audit", "Check", "audit", "checked_state"]
