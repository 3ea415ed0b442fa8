"""Boards: their limits, the machine that stands in for them, and what is known of their cycles and energy."""

from __future__ import annotations

from .board import Board, Chip, Cycles, Emulated, Energy, board, names

__all__ = ["Board", "Chip", "Cycles", "Emulated", "Energy", "board", "names"]
