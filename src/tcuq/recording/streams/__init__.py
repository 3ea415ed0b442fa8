"""Streams made of plain examples: which one is shown when, at which pace, clean or shifted."""

from __future__ import annotations

from .plan import Pace, Plan, arrange, joined, make_plan, paces_of

__all__ = ["Pace", "Plan", "arrange", "joined", "make_plan", "paces_of"]
