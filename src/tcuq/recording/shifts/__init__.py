"""Degradations of inputs: small generic sets for each family of inputs, and functions of the user."""

from __future__ import annotations

from .chosen import Chosen, Kind, choose, listed

__all__ = ["Chosen", "Kind", "choose", "listed"]
