"""How likely a step is right: its own log-odds, how far clean data are, and their product."""

from __future__ import annotations

import numpy as np

from .signal_table import Flags, Floats

PLAIN = np.array([0.283, 1.03, -0.522, -0.277])
"""Bias and coefficients without labels, from nine networks: pictures, words, motion, vibration, tables."""

CALIBRATED = np.array([0.599, 0.952, -0.629, -0.261])
"""The same where the log-odds are those that labels of clean steps give."""

MOST_FAR = np.log2(17)  # of sixteen limits

FEW = 20.0  # steps, as which log-odds as they are count beside labels of clean steps
TURNS, LONGEST = 40, 0.3
"""Steps of the descent, and the longest: farther, a curve of chances has another shape."""


def inputs(signals: Floats) -> Floats:
    """Return what the chance is made of, from odds and degradation: 1, log-odds, distance, product."""
    odds = 16 * np.log(2) * (0.5 - signals[:, 0])
    far = np.minimum(8 * signals[:, 1], MOST_FAR)
    return np.column_stack([np.ones(len(odds)), odds, far, odds * far])


def chance(x: Floats, coef: Floats) -> Floats:
    """Return the chance that each step is right."""
    return np.asarray(1 / (1 + np.exp(-np.clip(x @ coef, -50, 50))))


def calibrated(x: Floats, right: Flags) -> Floats:
    """Return coefficients whose log-odds are those that labels of clean steps give."""
    x, own, start = x[:, :2], np.array([0.0, 1.0]), np.array([0.0, 1.0])
    for _ in range(TURNS):
        p = chance(x, own)
        slope = (x * (p * (1 - p))[:, None]).T @ x + FEW * np.eye(2)
        step = np.linalg.solve(slope, x.T @ (p - right) + FEW * (own - start))
        own = own - step / max(1.0, np.abs(step).max() / LONGEST)
    shift, scale = np.clip(own, [-3.0, 0.2], [3.0, 3.0])
    bias, odds, far, both = CALIBRATED
    return np.array([bias + odds * shift, odds * scale, far + both * shift, both * scale])
