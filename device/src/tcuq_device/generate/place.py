"""Bytes of the arena that are needed for a time."""

from __future__ import annotations

from dataclasses import dataclass

SCRATCH = "scratch of step "
"""Begins the name of a place that is no tensor; no tensor's name has a blank."""


@dataclass(frozen=True)
class Place:
    """Bytes, a multiple of four, that a tensor, or a step's scratch, needs from step `first` to `last`."""

    name: str
    size: int
    first: int
    last: int
