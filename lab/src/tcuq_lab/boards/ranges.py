"""What values a tensor takes on development examples, and the scale that serves them best."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
SAMPLE = 1 << 16
"""Values of a tensor that a scale is chosen by."""
SHARES = tuple(np.linspace(0.1, 1.0, 46).tolist())
"""Shares of the observed range that are tried."""


class Scale(NamedTuple):
    """How real values become int8: (q - zero) * scale.

    Examples
    --------
    >>> Scale(0.5, -128).quantized(np.array([-3.0, 1.2, 500.0])).tolist()
    [-128, -126, 127]
    """

    scale: float
    zero: int

    def quantized(self, values: npt.NDArray[Any]) -> npt.NDArray[np.int8]:
        """Return the nearest int8 values; a tie goes up."""
        q = np.floor(np.asarray(values, dtype=np.float64) / self.scale + 0.5) + self.zero
        return np.asarray(np.clip(q, -128, 127), dtype=np.int8)

    def real(self, q: npt.NDArray[np.int8]) -> Floats:
        """Return what int8 values stand for."""
        return np.asarray((q.astype(np.float64) - self.zero) * self.scale)

    def wider(self, times: float) -> Scale:
        """Return a scale whose upper end is so many times as far from 0, the lower end as it is.

        Examples
        --------
        >>> Scale(0.5, -128).wider(2.0), Scale(1.0, 0).wider(3.0)
        (Scale(scale=1.0, zero=-128), Scale(scale=1.996078431372549, zero=-64))
        """
        low, high = (float((end - self.zero) * self.scale) for end in (-128, 127))
        return self if times == 1 else spanning(low, high * times)


@dataclass
class Seen:
    """What was seen of one tensor."""

    shape: tuple[int, ...]  # channels last
    low: float = 0.0
    high: float = 0.0
    highest: Floats = field(default_factory=lambda: np.zeros(0))
    mean: Floats = field(default_factory=lambda: np.zeros(0))
    parts: list[npt.NDArray[np.float32]] = field(default_factory=list)
    count: int = 0

    def add(
        self, values: npt.NDArray[np.float32], share: float, random: np.random.Generator | None = None
    ) -> None:
        """Take note of a batch."""
        self.low = min(self.low, float(values.min()))
        self.high = max(self.high, float(values.max()))
        axes = tuple(range(values.ndim - 1))
        highest, mean = np.abs(values).max(axis=axes), values.mean(axis=axes, dtype=np.float64)
        self.highest = np.maximum(self.highest, highest) if self.count else highest.astype(np.float64)
        self.mean = (self.mean if self.count else 0) + share * mean
        self.count += len(values)
        flat = values.reshape(-1)
        most = max(1, int(SAMPLE * share))
        if random is not None and len(flat) > most:
            flat = flat[random.integers(0, len(flat), most)]
        self.parts.append(flat)

    def sample(self) -> npt.NDArray[np.float32]:
        """Return the values that were kept."""
        return np.concatenate(self.parts)


def spanning(low: float, high: float) -> Scale:
    """Return a scale that covers a range and represents 0.

    Examples
    --------
    >>> spanning(-1.0, 254.0)
    Scale(scale=1.0, zero=-127)
    """
    low, high = min(low, 0.0), max(high, 0.0)
    scale = (high - low) / 255 or 1.0
    return Scale(scale, int(np.clip(round(-128 - low / scale), -128, 127)))


def rectified(seen: Seen, top: float, clip: bool) -> Scale:
    """Return the scale of a rectified tensor, whose zero is -128."""
    high = min(seen.high, top)
    if not high > 0:
        return Scale(1.0, -128)
    if not clip:
        return Scale(high / 255, -128)
    values = seen.sample().astype(np.float64)
    return min((Scale(high * share / 255, -128) for share in SHARES), key=lambda each: _error(each, values))


def signed(seen: Seen, clip: bool) -> Scale:
    """Return the scale of a tensor with values of either sign."""
    best = spanning(seen.low, seen.high)
    if not clip:
        return best
    values = seen.sample().astype(np.float64)
    low = high = 1.0
    for _ in range(2):  # an end at a time, then both once more beside what the other became
        low = min(SHARES, key=lambda share: _error(spanning(seen.low * share, seen.high * high), values))
        high = min(SHARES, key=lambda share: _error(spanning(seen.low * low, seen.high * share), values))
    return spanning(seen.low * low, seen.high * high)


def of_logits(logits: Floats) -> Scale:
    """Return the scale of logits that changes posteriors least: low ones, which add nothing, are cut off."""
    wanted = _softmax(logits)
    low, high = float(logits.min()), float(logits.max())
    shares = np.linspace(0.0, 1.0, 21)
    tried = [spanning(low * a, high * b) for a in shares for b in shares if a * low < b * high or not a + b]
    return min(
        tried, key=lambda each: float(((_softmax(each.real(each.quantized(logits))) - wanted) ** 2).sum())
    )


def _error(scale: Scale, values: Floats) -> float:
    return float(((scale.real(scale.quantized(values)) - values) ** 2).mean())


def _softmax(logits: Floats) -> Floats:
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(e / e.sum(axis=1, keepdims=True))
