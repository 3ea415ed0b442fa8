"""Sound as pictures: short-time spectra on a logarithmic scale."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

WINDOW, HOP = 512, 160  # samples of a column, and from one to the next: 100 columns to a second
FLOOR = 70  # decibels below what is drawn white that are drawn black


def spectrogram(
    sound: npt.NDArray[np.int16], loudest: npt.NDArray[np.float64] | float
) -> npt.NDArray[np.uint8]:
    """Return sound (n, samples) as pictures (n, height, width): time to the right, frequency upwards.

    Parameters
    ----------
    sound : array (n, samples)
    loudest : array (n, 1, 1) or float
        Magnitude that is drawn white.
    """
    levels = 20 * np.log10(np.maximum(magnitude(sound), 1e-9) / loudest)
    return np.rint(255 * np.clip(1 + levels / FLOOR, 0, 1)).astype(np.uint8)


def magnitude(sound: npt.NDArray[np.int16]) -> npt.NDArray[np.float64]:
    """Return short-time magnitudes (n, 64, columns) of sound (n, samples), four bins to a row.

    Examples
    --------
    >>> tone = 9000 * np.sin(2 * np.pi * 2000 * np.arange(16000) / 16000)
    >>> found = magnitude(tone[None].astype(np.int16))
    >>> found.shape, int(found[0, :, 60].argmax())  # 2000 of 8000 Hz: a quarter from below
    ((1, 64, 100), 47)
    """
    framed = np.pad(sound, ((0, 0), (WINDOW // 2, WINDOW // 2)))
    starts = np.arange(0, max(1, sound.shape[1]), HOP)
    frames = framed[:, starts[:, None] + np.arange(WINDOW)] * np.hanning(WINDOW)
    bins = np.abs(np.fft.rfft(frames, axis=2))[:, :, : WINDOW // 2]
    found: npt.NDArray[np.float64] = bins.reshape(*bins.shape[:2], -1, 4).mean(axis=3)
    return found.transpose(0, 2, 1)[:, ::-1]
