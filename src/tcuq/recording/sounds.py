"""Sounds as inputs: WAV files as mono waveforms of the length that the model takes."""

from __future__ import annotations

import struct
import wave
from pathlib import Path

import numpy as np

from ..base.errors import InputError
from ..io.sources import shown
from .model import Array

SOUNDS = (".wav",)
"""Extensions of the files that are read."""


class SoundReader:
    """Reads a WAV file as float32 in [-1, 1), the mean of its channels, cut or filled at its end."""

    def __init__(self, shape: tuple[int | None, ...] | None, where: str) -> None:
        long = [each for each in shape or () if each != 1]
        if len(long) != 1 or long[0] is None:
            taken = "does not say its input" if shape is None else f"takes {shape}"
            raise InputError(
                "value",
                f"{where}: the model {taken}, expected one length for waveforms; give it with `input_shape`, "
                "or compute the model's own features and pass them as NPZ",
            )
        self._length = long[0]
        self._shape = tuple(each or 0 for each in shape or ())
        self._rate: tuple[int, Path] | None = None

    def __call__(self, path: Path) -> Array:
        """Return the waveform of a file."""
        try:
            with wave.open(str(path), "rb") as file:
                width, channels, rate = file.getsampwidth(), file.getnchannels(), file.getframerate()
                raw = file.readframes(self._length)
                raw = raw[: len(raw) // (width * channels) * width * channels]  # of a file that is cut short
        # A chunk that claims to be longer than the file comes as an error of seeking or of the number.
        except (wave.Error, EOFError, RuntimeError, ValueError, OverflowError, struct.error):
            raise InputError(
                "damaged", f"{shown(path)}: is no WAV file of plain PCM, or is damaged"
            ) from None
        first, other = self._rate or (rate, path)
        if rate != first:
            raise InputError(
                "conflict",
                f"{shown(path)}: has {rate} samples per second, {shown(other)} {first}; resample them first",
            )
        self._rate = first, other
        if not channels or width not in (1, 2, 3, 4):
            raise InputError("unsupported", f"{shown(path)}: has samples of {width} bytes, expected 1 to 4")
        samples = waveform(raw, width).reshape(-1, channels).mean(axis=1)
        full = np.zeros(self._length, np.float32)
        full[: len(samples)] = samples[: self._length]
        return full.reshape(self._shape)


def waveform(raw: bytes, width: int) -> Array:
    r"""Return PCM samples as float32 in [-1, 1).

    Examples
    --------
    >>> waveform(b"\x00\x80\xff\x7f", 2).tolist()
    [-1.0, 0.999969482421875]
    >>> waveform(b"\x80\x00", 1).tolist()
    [0.0, -1.0]
    """
    if width == 1:
        values = np.frombuffer(raw, np.uint8).astype(np.int64) - 128
    elif width == 3:
        padded = np.zeros((len(raw) // 3, 4), np.uint8)
        padded[:, 1:] = np.frombuffer(raw, np.uint8).reshape(-1, 3)
        values, width = padded.reshape(-1).view("<i4").astype(np.int64), 4
    else:
        values = np.frombuffer(raw, f"<i{width}").astype(np.int64)
    return np.asarray(values / 2.0 ** (8 * width - 1), np.float32)
