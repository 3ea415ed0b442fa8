"""Noise and faults of a sensor: every function takes examples as numbers, draws and the setting."""

from __future__ import annotations

import numpy as np

from .draws import Draws, Floats


def gaussian_noise(images: Floats, draws: Draws, spread: float) -> Floats:
    """Add normal noise of a standard deviation, as in low light."""
    return images + spread * draws.normal(images.shape[1:])


def shot_noise(images: Floats, draws: Draws, photons: float) -> Floats:
    """Count photons; a white pixel expects so many."""
    return draws.poisson(images * photons) / photons


def impulse_noise(images: Floats, draws: Draws, share: float) -> Floats:
    """Turn a share of the values black or white, each channel on its own."""
    chance = draws.uniform(0, 1, images.shape[1:])
    noisy = images.copy()
    noisy[chance < share / 2] = 0.0
    noisy[chance >= 1 - share / 2] = 1.0
    return noisy


def speckle_noise(images: Floats, draws: Draws, spread: float) -> Floats:
    """Add normal noise that grows with the brightness."""
    return images + images * (spread * draws.normal(images.shape[1:]))


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
