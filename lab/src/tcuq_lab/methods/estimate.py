"""What an estimate of accuracy sees, window by window, and how it is fitted to labeled windows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from .confidence import fitted
from .method import Floats
from .scores import Doubles, entropy, softmax, unsure

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


Curve = Callable[[npt.NDArray[Any]], Doubles]


def line(x: npt.ArrayLike, y: npt.ArrayLike) -> Curve:
    """Return the straight line of the least squares; a constant where x has one value."""
    given, target = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    middle, level = float(given.mean()), float(target.mean())
    spread = float(np.square(given - middle).sum())
    slope = float(((given - middle) * (target - level)).sum()) / spread if spread > 1e-18 else 0.0
    return lambda values: np.asarray(level + slope * (np.asarray(values, dtype=np.float64) - middle))


def monotone(x: npt.ArrayLike, y: npt.ArrayLike) -> Curve:
    """Return the isotonic regression: rising, of the least squares, straight between what was seen.

    Values beyond what was seen get what its ends have.
    """
    given, target = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    places, number = np.unique(given, return_inverse=True)
    counts = np.bincount(number.ravel()).astype(np.float64)
    sums = np.bincount(number.ravel(), target)
    blocks: list[list[float]] = []  # sum, steps and places of each level
    for total, count in zip(sums.tolist(), counts.tolist(), strict=True):
        blocks.append([total, count, 1])
        while len(blocks) > 1 and blocks[-2][0] * blocks[-1][1] >= blocks[-1][0] * blocks[-2][1]:
            last = blocks.pop()
            blocks[-1] = [a + b for a, b in zip(blocks[-1], last, strict=True)]
    levels = np.repeat([total / count for total, count, _ in blocks], [int(wide) for *_, wide in blocks])
    return lambda values: np.asarray(np.interp(values, places, levels))


CURVES: dict[str, Callable[[npt.ArrayLike, npt.ArrayLike], Curve]] = {"line": line, "monotone": monotone}


Rule = Callable[[Windows], Doubles]
"""Gives the accuracy of each of some windows."""
SCALES = (1.0, 0.5, 0.71, 0.84, 1.19, 1.41, 2.0)
"""Multiples of the fitted temperature that are tried, itself first."""


class Estimate(ABC):
    """An estimate of the accuracy of a network's own answers.

    A window is judged by itself: what is said of it depends on no other.
    """

    name: ClassVar[str]
    grid: ClassVar[tuple[Mapping[str, Any], ...]] = ({},)
    """Settings that are tried on development windows: one where there is nothing to tune, else `TRIALS`."""

    def __init__(self) -> None:
        self.setting: Mapping[str, Any] = self.grid[0]
        self.trials: list[float] = []
        self._rule: Rule | None = None

    @abstractmethod
    def learn(self, dev: Development, setting: Mapping[str, Any]) -> Rule:
        """Return what a setting makes of development windows."""

    def fit(self, dev: Development) -> None:
        """Keep the setting that is nearest to the truth on development windows, and learn from all of them.

        Where there are several stretches, each half is judged by what the other half taught. `trials` holds
        the mean absolute errors.
        """
        halves = dev.halves()
        pairs = [(dev, dev)] if halves is None else [halves, halves[::-1]]
        self.trials = []
        if len(self.grid) > 1:
            for setting in self.grid:
                gaps = [
                    np.abs(self.learn(one, setting)(other.windows) - other.accuracies) for one, other in pairs
                ]
                self.trials.append(float(np.concatenate(gaps).mean()))
            self.setting = self.grid[int(np.argmin(self.trials))]  # the first of a tie
        self._rule = self.learn(dev, self.setting)

    def of(self, windows: Windows) -> Doubles:
        """Return the accuracy of each window, as far as it can be told."""
        if self._rule is None:
            raise ValueError(f"{self.name} is not fitted, expected fit() first")
        return np.clip(self._rule(windows), 0.0, 1.0)


def temperature_of(dev: Development, scale: float | None) -> float:
    """Return a multiple of the fitted temperature, or 1 where none is asked for."""
    return 1.0 if scale is None else scale * dev.temperature
