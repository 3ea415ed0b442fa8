"""How likely a step is right: its own log-odds, how far clean data are, and their product."""

from __future__ import annotations

import numpy as np

from .signal_table import Floats

COEF = np.array([-0.1, 0.95, -0.4, -0.25])
"""Bias and coefficients, from nine networks: pictures, words, motion, vibration, tables. Labels of a log
say how much the distance counts; taught the rest, it does worse on kinds and examples not shown."""

WEIGHTS = (1.0, 0.5, 1.5, 0.0)
"""Of the distance, that labels of shifts choose from; there are networks that a change costs nothing."""

MOST_FAR = np.log2(17)  # of sixteen limits


def log_odds(wrong: Floats) -> Floats:
    """Return log-odds of being right, as far as the core tells them."""
    few = 1 / 512
    return np.asarray(np.log((1 - wrong + few) / (wrong + few)))


def weighed(weight: float) -> Floats:
    """Return the coefficients with such a weight of the distance."""
    return np.asarray(COEF * [1, 1, weight, weight])


def chance(uncertainty: Floats, leant_on: Floats, degradation: Floats, weight: float) -> Floats:
    """Return the chance that each step is right: by the head, by what risk leans on, and by the distance."""
    odds = (log_odds(uncertainty) + log_odds(leant_on)) / 2
    far = np.minimum(np.log2(1 + degradation), MOST_FAR)
    z = np.column_stack([np.ones(len(odds)), odds, far, odds * far]) @ weighed(weight)
    return np.asarray(1 / (1 + np.exp(-np.clip(z, -50, 50))))
