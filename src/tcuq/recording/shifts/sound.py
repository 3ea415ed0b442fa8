"""What befalls sound: each takes samples in [-1, 1], a severity in (0, 1] and numbers.

The sampling rate of an array is not known, so times are parts of the clip and tones parts of the band.
"""

from __future__ import annotations

import numpy as np

from ..model import Floats

QUIETEST = 1e-4  # loudness below which a clip counts as silent, so that noise is added to it as well


def _loudness(x: Floats) -> float:
    return max(QUIETEST, float(np.sqrt(np.mean(x * x))))


def noise(x: Floats, severity: float, rng: np.random.Generator) -> Floats:
    """Add noise of a random color, from white to brown, 18 to -3 dB below the sound."""
    white = np.fft.rfft(rng.standard_normal(len(x)))
    tones = np.maximum(1, np.arange(len(white)))
    colored = np.fft.irfft(white * tones ** -rng.uniform(0, 1), len(x))
    loudness = _loudness(x) * 10 ** (-(18 - 21 * severity) / 20)
    return np.asarray(x + colored * (loudness / max(1e-12, float(np.sqrt(np.mean(colored**2))))))


def clipping(x: Floats, severity: float, rng: np.random.Generator) -> Floats:
    """Cut off what is louder than a part of the peak, then raise it to the peak: an overdriven microphone."""
    peak = max(QUIETEST, float(np.abs(x).max()))
    limit = peak * (0.4 - 0.36 * severity)
    return np.asarray(np.clip(x, -limit, limit) * (peak / limit))


def quiet(x: Floats, severity: float, rng: np.random.Generator) -> Floats:
    """Lower the sound by 6 to 36 dB: a speaker far away; the hiss of the microphone stays."""
    return np.asarray(x * 10 ** (-(6 + 30 * severity) / 20) + 3e-4 * rng.standard_normal(len(x)))


def muffled(x: Floats, severity: float, rng: np.random.Generator) -> Floats:
    """Dampen high tones, as a hand or a cloth over the microphone does."""
    lines = np.fft.rfft(x)
    place = np.arange(len(lines)) / max(1, len(lines) - 1)
    cut = 0.35 * 0.1**severity
    return np.asarray(np.fft.irfft(lines / (1 + (place / cut) ** 4), len(x)))


def reverb(x: Floats, severity: float, rng: np.random.Generator) -> Floats:
    """Add echoes that die away over 5 to 30 % of the clip: a bare room."""
    length = max(2, int(len(x) * (0.05 + 0.25 * severity)))
    echoes = rng.standard_normal(length) * 10 ** (-3 * np.arange(length) / length)
    echoes *= (0.4 + 1.2 * severity) / np.sqrt((echoes**2).sum())
    echoes[0] = 1.0
    whole = 1 << (len(x) + length - 1).bit_length()
    wet = np.fft.irfft(np.fft.rfft(x, whole) * np.fft.rfft(echoes, whole), whole)[: len(x)]
    return np.asarray(wet * (_loudness(x) / _loudness(wet)))


def gaps(x: Floats, severity: float, rng: np.random.Generator) -> Floats:
    """Silence three parts of the clip, 10 to 60 % of it in all: a bad connection."""
    width = max(1, int(len(x) * (0.1 + 0.5 * severity) / 3))
    out = x.copy()
    for part, place in enumerate(rng.random(3)):
        start = int((part + place) * (len(x) // 3) - place * width)
        out[start : start + width] = 0
    return out


def late(x: Floats, severity: float, rng: np.random.Generator) -> Floats:
    """Move the sound to an earlier or a later time by 5 to 40 % of the clip; the rest is silent."""
    by = max(1, int(len(x) * (0.05 + 0.35 * severity)))
    out = np.zeros_like(x)
    if rng.random() < 0.5:
        out[by:] = x[:-by]
    else:
        out[:-by] = x[by:]
    return out


def shaken(x: Floats, rng: np.random.Generator) -> Floats:
    """Return the sound as it comes again: a moment sooner or later, a little louder or softer, faint hiss."""
    by = int(rng.integers(-(len(x) // 50), len(x) // 50 + 1))
    hiss = 0.01 * _loudness(x) * rng.standard_normal(len(x))
    return np.asarray(np.roll(x, by) * rng.uniform(0.85, 1.15) + hiss)


KINDS = (noise, clipping, quiet, muffled, reverb, gaps, late)
