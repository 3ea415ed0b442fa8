"""How likely a step is right: its own log-odds, how far clean data are, and their product."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .signal_table import Flags, Floats

PLAIN = np.array([0.283, 1.03, -0.522, -0.277])
"""Bias and coefficients without labels, from nine networks: pictures, words, motion, vibration, tables."""

CONFIDENCE = np.array([0.0, 1.0, 0.0, 0.0])
"""Those of the mean confidence."""

MOST_ODDS, LEAST_ODDS, MOST_FAR = 5.3, -4.6, np.log2(17)
"""Log-odds of confidences of .995 and .01, beyond which networks only seem sure; and of sixteen limits."""

SPARING = 0.003  # of the steps, as which coefficients without labels count beside what labels say
TURNS, LONGEST = 40, 0.3
"""Steps of the descent, and the longest: farther, a curve of chances has another shape."""
MOST = np.array([15.0, 5.0, 7.0, 0.7])  # that the core holds


def inputs(signals: Floats) -> Floats:
    """Return what the chance is made of, from odds and degradation: 1, log-odds, distance, product."""
    odds = np.clip(16 * np.log(2) * (0.5 - signals[:, 0]), LEAST_ODDS, MOST_ODDS)
    far = np.minimum(8 * signals[:, 1], MOST_FAR)
    return np.column_stack([np.ones(len(odds)), odds, far, odds * far])


def chance(x: Floats, coef: Floats) -> Floats:
    """Return the chance that each step is right."""
    return np.asarray(1 / (1 + np.exp(-np.clip(x @ coef, -50, 50))))


def learn(parts: Sequence[tuple[Floats, Flags]]) -> Floats:
    """Return coefficients that labels teach, leaning on those without labels."""
    x, right = (np.concatenate([part[at] for part in parts]) for at in (0, 1))
    spread = x.std(0)
    spread[0] = 0
    penalty = np.diag(SPARING * len(x) * np.square(spread))
    coef = PLAIN.copy()
    for _ in range(TURNS):
        p = chance(x, coef)
        slope = (x * (p * (1 - p) + 1e-6)[:, None]).T @ x + penalty + 1e-6 * np.eye(4)
        step = np.linalg.solve(slope, x.T @ (p - right) + penalty @ (coef - PLAIN))
        coef = coef - step / max(1.0, np.abs(step).max() / LONGEST)
    return np.asarray(np.clip(coef, -MOST, MOST))
