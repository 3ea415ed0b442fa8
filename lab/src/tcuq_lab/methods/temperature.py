"""BASE-TS: one minus the largest posterior, after temperature scaling."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from .given import check_clean
from .method import Answer, Method, MethodCost, Observed, Recorded
from .scores import softmax, unsure

COLDEST, HOTTEST = 0.01, 100.0
GOLDEN = (5**0.5 - 1) / 2


class Temperature(Method):
    """The doubt of posteriors whose logits are divided by one temperature.

    The temperature has the least negative log-likelihood on clean development examples; there is nothing
    else to tune. Answers stay the same, posteriors do not.
    """

    name = "temperature"
    temperature: float | None = None

    def learn(self, clean: Recorded, y: npt.NDArray[np.int64]) -> None:
        """Fit the temperature."""
        check_clean(self.name, clean.probs, y)
        self.temperature = fitted(clean.extra["logits"], y)

    def score(self, seen: Observed, setting: Mapping[str, Any]) -> Answer:
        """Return scaled posteriors and their doubt."""
        if self.temperature is None:
            raise ValueError(
                "temperature is not fitted; learn() or ready() with clean development examples is needed"
            )
        probs = softmax(seen.extra["logits"], self.temperature)
        return Answer(probs, unsure(probs))

    def cost(self, shape: tuple[int, ...]) -> MethodCost:
        """Return one pass; the temperature is stored."""
        from .counting import counted

        return counted(self.loaded(), shape, stored=1)


def likelihood(logits: npt.NDArray[Any], y: npt.NDArray[np.int64], temperature: float) -> float:
    """Return the mean negative log-likelihood of classes."""
    scaled = np.asarray(logits, dtype=np.float64) / temperature
    top = scaled.max(axis=1)
    total = top + np.log(np.exp(scaled - top[:, None]).sum(axis=1))
    return float((total - scaled[np.arange(len(scaled)), y]).mean())


def fitted(logits: npt.NDArray[Any], y: npt.NDArray[np.int64]) -> float:
    """Return the temperature, 0.01 to 100, of the least negative log-likelihood.

    The likelihood is convex in the inverse temperature, so it has one valley, and a golden section finds it.
    """
    if not len(y):
        raise ValueError("no examples; a temperature is fitted to one or more")
    low, high = np.log(COLDEST), np.log(HOTTEST)
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = (likelihood(logits, y, float(np.exp(each))) for each in (left, right))
    while high - low > 1e-6:
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - GOLDEN * (high - low)
            at_left = likelihood(logits, y, float(np.exp(left)))
        else:
            low, left, at_left = left, right, at_right
            right = low + GOLDEN * (high - low)
            at_right = likelihood(logits, y, float(np.exp(right)))
    return float(np.exp((low + high) / 2))
