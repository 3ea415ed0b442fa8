"""What an estimate of accuracy is: it learns from labeled windows, and says how accurate others are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from ..scores import Doubles
from .windows import Development, Windows

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
