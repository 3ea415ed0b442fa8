"""Labels that come late: which steps get one, and a method that is told."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from tcuq.metrics.inputs import Floats

from .declare import Late, Play
from .types import Answers, Outputs, Truth

SPREAD = 0.02
"""Least standard deviation of an error that a step is asked by, so that sure steps are asked too."""


class Told(Protocol):
    """A method that takes labels while it watches one stretch."""

    def told(self, seen: Outputs, label: Callable[[int, Answers], int | None], delay: int) -> Answers:
        """Watch a stretch; `label` gives the class of an earlier step where it comes, or None."""


def labeled_steps(truth: Truth, name: str, late: Late, unsure: Floats | None = None) -> set[int]:
    """Return the steps that get a label; the draws are the same for all methods.

    Those of a higher rate hold those of a lower one.
    """
    draws = np.random.default_rng([19, zlib.crc32(name.encode())]).random(len(truth))
    chance: Any = 0.1 if late.how == "wrong" else late.rate
    if unsure is not None:
        spread = np.sqrt(unsure * (1 - unsure)) + SPREAD
        chance = np.minimum(1, late.rate * spread / spread.mean())
    return set(np.flatnonzero((draws < chance) & truth.judged).tolist())


def watched_late(method: Told, seen: Outputs, truth: Truth, play: Play, name: str) -> Answers:
    """Return what a method says to a stream as a whole, while labels of some steps come late."""
    late = play.late
    assert late is not None
    unsure = None
    if late.how == "asked":
        unsure = np.asarray(method.told(seen, lambda step, said: None, late.delay).risk)
    steps = labeled_steps(truth, name, late, unsure)

    def label(step: int, said: Answers) -> int | None:
        if step not in steps:
            return None
        true = int(truth.labels[step])
        if late.how == "wrong" and not (said.accept and said.answer != true):
            return None
        return true

    return method.told(seen, label, late.delay)
