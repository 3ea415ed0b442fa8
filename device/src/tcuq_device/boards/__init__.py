"""Boards: memory limits, the emulated machine, and published cycle counts and currents."""

from __future__ import annotations

from .board import Board, Chip, Cycles, Emulated, Energy, board, names

__all__ = ["Board", "Chip", "Cycles", "Emulated", "Energy", "board", "names"]
