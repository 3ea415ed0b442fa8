"""How much neighboring steps repeat each other, as the alarm weighs it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .signal_table import Floats

RATE = 1 / 32
LEAST = 1 / 16
"""As in the core (SPEC.md section 11)."""

LEAST_SPREAD, MOST_SPREAD = 1 / 256, 256.0
"""The latter is the most that the core holds; only a clip of 8 and more lets evidence jump that far."""


def find_spread(runs: Sequence[Floats]) -> float:
    """Return the mean square of the difference between the evidence of neighboring steps.

    Examples
    --------
    >>> find_spread([np.array([0.0, 2.0, 0.0]), np.array([5.0])])
    4.0
    """
    gaps = np.concatenate([np.diff(run) for run in runs])
    return min(max(LEAST_SPREAD, float(np.square(gaps).mean())), MOST_SPREAD) if len(gaps) else 1.0


def novelty(run: Floats, spread: float) -> Floats:
    """Return the weight of each step of a run, 1 where steps differ as much as those of `spread`.

    Parameters
    ----------
    run : array
        Evidence; what came before is taken to differ as much as `spread` says.
    """
    if not len(run):
        return np.ones(0)
    squares = np.square(np.diff(run, prepend=run[0]))
    out, level = [], spread
    for number, square in enumerate(squares.tolist()):
        if number:
            level += RATE * (square - level)
        out.append(level)
    return np.clip(np.array(out) / spread, LEAST, 1.0)


def weighed(runs: Sequence[Floats], weights: Sequence[Floats]) -> list[Floats]:
    """Return what the alarm adds: evidence for degradation by its weight, evidence against it in full."""
    return [np.where(run > 0, run * weight, run) for run, weight in zip(runs, weights, strict=True)]
