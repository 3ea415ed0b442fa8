"""Degradations of inputs: small generic sets for pictures, sound and signals, and functions of the user."""

from __future__ import annotations

from .chosen import Chosen, Kind, choose, listed

__all__ = ["Chosen", "Kind", "choose", "listed"]
