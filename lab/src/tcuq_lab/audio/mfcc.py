"""The front end of the MLPerf Tiny keyword spotter: a second of sound as 49 x 10 cepstral coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import integer, number

CHUNK = 32  # clips that are worked on together; memory stays at some 10 MB
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class FrontEnd:
    """What turns sound into coefficients; the defaults are those of MLPerf Tiny.

    A clip is divided by its greatest sample (not its greatest magnitude: so does the reference). Frames under
    a periodic Hann window are padded with zeros to the FFT; magnitudes go through triangles that are even on
    the mel scale 1127 ln(1 + f / 700) and leave out 0 Hz; then logarithm and DCT-II, which is orthonormal
    but for coefficient 0, greater by the square root of 2.
    """

    rate: int = 16000
    window: int = 480
    stride: int = 320
    fft: int = 512
    mels: int = 40
    low: float = 20.0
    high: float = 4000.0
    offset: float = 1e-6
    coefficients: int = 10

    def __post_init__(self) -> None:
        integer("rate", self.rate, 1, 10**6)
        integer("window", self.window, 2, 1 << 16)
        integer("stride", self.stride, 1, 1 << 16)
        integer("fft", self.fft, self.window, 1 << 16)
        integer("mels", self.mels, 1, 1024)
        number("high", self.high, 0, self.rate / 2)
        number("low", self.low, 0, self.high)
        if self.low == self.high:
            raise ValueError(f"low is {self.low:g}, expected less than high, {self.high:g}")
        number("offset", self.offset, 1e-12, 1)
        integer("coefficients", self.coefficients, 1, self.mels)

    def frames(self, samples: int) -> int:
        """Return the number of whole frames in so many samples."""
        return max(0, 1 + (samples - self.window) // self.stride)

    def hann(self) -> Floats:
        """Return the window that every frame is multiplied with."""
        return np.asarray(0.5 - 0.5 * np.cos(2 * np.pi * np.arange(self.window) / self.window))

    def triangles(self) -> Floats:
        """Return the weight of each line of the spectrum in each mel bin."""
        lines = _mel(np.arange(self.fft // 2 + 1) * (self.rate / self.fft))[:, None]
        edges = np.linspace(_mel(self.low), _mel(self.high), self.mels + 2)
        up = (lines - edges[:-2]) / (edges[1:-1] - edges[:-2])
        down = (edges[2:] - lines) / (edges[2:] - edges[1:-1])
        weights = np.maximum(0, np.minimum(up, down))
        weights[0] = 0
        return np.asarray(weights)

    def cosines(self) -> Floats:
        """Return the DCT-II as a matrix."""
        angles = np.outer(np.arange(self.mels) + 0.5, np.arange(self.coefficients)) * (np.pi / self.mels)
        return np.asarray(np.cos(angles) * np.sqrt(2 / self.mels))


def mfcc(clips: npt.NDArray[Any], front: FrontEnd | None = None) -> npt.NDArray[np.float32]:
    """Return the coefficients of clips, each computed in float64 as if it were alone."""
    known = FrontEnd() if front is None else front
    sound = np.asarray(clips)
    if sound.ndim != 2 or sound.dtype.kind not in "if" or sound.shape[1] < known.window:
        wanted = f"expected numbers (n, samples) with at least {known.window} samples"
        raise ValueError(f"clips is {sound.dtype} {sound.shape}, {wanted}")
    if sound.dtype.kind == "f" and not np.isfinite(sound).all():
        raise ValueError("clips holds a NaN or an infinity, expected finite numbers")
    hann, triangles, cosines = known.hann(), known.triangles(), known.cosines()
    out = np.empty((len(sound), known.frames(sound.shape[1]), known.coefficients), np.float32)
    for at in range(0, len(sound), CHUNK):
        some = _scaled(sound[at : at + CHUNK].astype(np.float64))
        frames = np.lib.stride_tricks.sliding_window_view(some, known.window, axis=1)[:, :: known.stride]
        lines = np.fft.rfft(frames * hann, known.fft)
        # A stack of products, one a clip: a single large product could round by the number of clips.
        mels = np.sqrt(lines.real**2 + lines.imag**2) @ triangles
        out[at : at + CHUNK] = np.log(mels + known.offset) @ cosines
    return out


def _mel(hertz: npt.ArrayLike) -> Floats:
    return np.asarray(1127.0 * np.log1p(np.asarray(hertz, np.float64) / 700.0))


def _scaled(clips: Floats) -> Floats:
    peak = clips.max(axis=1, keepdims=True)
    peak = np.where(peak > 0, peak, np.abs(clips).max(axis=1, keepdims=True))
    return np.asarray(clips / np.where(peak > 0, peak, 1.0))
