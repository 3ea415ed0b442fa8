"""Faults of a sensor, and a change that does no harm: on pictures in [0, 1] or sound in [-1, 1] alike."""

from __future__ import annotations

import numpy as np

from .draws import Draws, Floats


def attenuated(signal: Floats, draws: Draws, share: float) -> Floats:
    """Let a share of the light or of the sound through: too little is lost to cost accuracy."""
    return signal * share


def blank(signal: Floats, draws: Draws, setting: None) -> Floats:
    """Give zeros: a covered lens, a microphone that is unplugged."""
    return np.zeros_like(signal)


def saturated(signal: Floats, draws: Draws, setting: None) -> Floats:
    """Give the end of the scale everywhere."""
    return np.ones_like(signal)


def frozen(signal: Floats, draws: Draws, setting: None) -> Floats:
    """Refuse: which input stays depends on the step before, so only a stream can freeze."""
    raise ValueError("frozen input depends on the step before; use tcuq_lab.streams.inputs")
