"""Bytes of the arena that are needed for a time."""

from __future__ import annotations

from dataclasses import dataclass

SCRATCH = "scratch of step "
"""Begins the name of a place that is no tensor; no tensor's name has a blank."""


@dataclass(frozen=True)
class Place:
    """Bytes that are needed from one step to another.

    Parameters
    ----------
    name : str
        A tensor, or SCRATCH and the number of the step.
    size : int
        Bytes, a multiple of four.
    first, last : int
        Numbers of steps, both included.
    """

    name: str
    size: int
    first: int
    last: int
