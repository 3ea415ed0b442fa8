"""Noise of a sensor: every function takes pictures (n, h, w, c) in [0, 1], draws and the setting."""

from __future__ import annotations

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
