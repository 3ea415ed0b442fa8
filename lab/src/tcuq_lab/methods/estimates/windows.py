"""What an estimate of accuracy may see: the outputs of a network, window by window."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ..method import Floats
from ..scores import Doubles, entropy, softmax, unsure
from ..temperature import fitted

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
SMALLEST = 1e-30
"""Of a posterior whose logarithm is taken."""


class Windows:
    """Outputs of n windows of equally many steps."""

    def __init__(self, probs: Floats, logits: Floats | None = None, other: Floats | None = None) -> None:
        if probs.ndim != 3:
            raise ValueError(f"probs has {probs.ndim} dimensions, expected 3: windows, steps and classes")
        if logits is not None and logits.shape != probs.shape:
            raise ValueError(f"logits have shape {logits.shape}, expected that of probs, {probs.shape}")
        self.probs, self.other = probs, other
        self.logits = np.log(np.maximum(probs, SMALLEST)) if logits is None else logits
        self._scaled: dict[float, Floats] = {1.0: probs}

    def __len__(self) -> int:
        return len(self.probs)

    def taken(self, rows: Any) -> Windows:
        """Return some of the windows."""
        return Windows(self.probs[rows], self.logits[rows], None if self.other is None else self.other[rows])

    def scaled(self, temperature: float) -> Floats:
        """Return posteriors at a temperature."""
        if temperature not in self._scaled:
            self._scaled[temperature] = softmax(self.logits, temperature)
        return self._scaled[temperature]

    def certainty(self, kind: str, temperature: float = 1.0) -> Doubles:
        """Return how sure each step is, (n, size); see `CERTAINTIES`."""
        probs = self.scaled(temperature)
        flat = CERTAINTIES[kind](probs.reshape(-1, probs.shape[-1]))
        return flat.reshape(probs.shape[:2])


def _gap(probs: Floats) -> Doubles:
    top = np.partition(np.asarray(probs, dtype=np.float64), -2, axis=1)[:, -2:]
    return np.asarray(top[:, 1] - top[:, 0])


def _squares(probs: Floats) -> Doubles:
    return np.asarray(np.square(probs, dtype=np.float64).sum(axis=1))


CERTAINTIES: dict[str, Callable[[Floats], Doubles]] = {
    "confidence": lambda probs: -unsure(probs),
    "entropy": lambda probs: -entropy(probs),
    "gap": _gap,
    "squares": _squares,
}
"""Minus one minus the largest posterior, which differs by one from it and keeps its digits; minus entropy;
the two largest posteriors' difference; the sum of squares."""


class Development:
    """Windows whose labels are known."""

    def __init__(
        self, windows: Windows, labels: Ints, stretches: Ints, temperature: float | None = None
    ) -> None:
        if labels.shape != windows.probs.shape[:2]:
            raise ValueError(f"labels have shape {labels.shape}, expected {windows.probs.shape[:2]}")
        if not len(windows):
            raise ValueError("development data has no whole window, expected one or more")
        self.windows, self.labels, self.stretches = windows, labels, stretches
        self.right: Bools = np.asarray(windows.probs.argmax(axis=2) == labels)
        self._temperature = temperature

    @property
    def accuracies(self) -> Doubles:
        """Share of right steps in each window."""
        return np.asarray(self.right.mean(axis=1))

    @property
    def accuracy(self) -> float:
        """Share of right steps."""
        return float(self.right.mean())

    @property
    def temperature(self) -> float:
        """Temperature of the least negative log-likelihood."""
        if self._temperature is None:
            logits = self.windows.logits
            self._temperature = fitted(logits.reshape(-1, logits.shape[-1]), self.labels.ravel())
        return self._temperature

    def halves(self) -> tuple[Development, Development] | None:
        """Return every other stretch, and the rest; None where there is but one.

        The temperature, one number of thousands of steps, is that of both together.
        """
        odd = np.unique(self.stretches, return_inverse=True)[1].ravel() % 2 == 1
        if not odd.any():
            return None
        first, second = (
            Development(self.windows.taken(rows), self.labels[rows], self.stretches[rows], self.temperature)
            for rows in (~odd, odd)
        )
        return first, second
