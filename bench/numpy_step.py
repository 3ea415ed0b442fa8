"""The paper's step written down with numpy, float64, no tricks: what most people would run."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


class NumpyStep:
    """One step at a time: four signals, logistic, quantile tracking, token bucket."""

    def __init__(self, classes: int, features: int, lags: tuple[int, ...] = (1, 2, 4)) -> None:
        self.lags = lags
        self.weights = np.array([1 / lag for lag in lags])
        self.weights /= self.weights.sum()
        self.probs = np.zeros((max(lags), classes))
        self.features = np.zeros((max(lags), features))
        self.predictions = np.full(max(lags), -1)
        self.coef = np.array([1.5, -1.0, 1.0, 3.0])
        self.bias = -2.5
        self.threshold, self.credit, self.t = 0.5, 0.0, 0

    def step(self, probs: Floats, features: Floats) -> tuple[int, float, bool]:
        """Return prediction, risk and abstention."""
        depth = len(self.predictions)
        prediction = int(np.argmax(probs))
        top = np.sort(probs)[-2:]
        doubt = 0.5 * (1 - top[1]) + 0.5 * (1 - (top[1] - top[0]))
        divergence = similarity = same = 0.0
        for lag, weight in zip(self.lags, self.weights, strict=True):
            at = (self.t - lag) % depth
            past, other = self.probs[at], self.features[at]
            middle = (probs + past) / 2 + 1e-12
            divergence += (
                weight
                * 0.5
                * (
                    np.sum(probs * np.log2((probs + 1e-12) / middle))
                    + np.sum(past * np.log2((past + 1e-12) / middle))
                )
            )
            similarity += features @ other / (np.linalg.norm(features) * np.linalg.norm(other) + 1e-12)
            same += prediction == self.predictions[at]
        count = len(self.lags)
        signals = np.array([divergence, 1 - similarity / count, 1 - same / count, doubt])
        uncertainty = 1 / (1 + np.exp(-(self.coef @ signals + self.bias)))
        risk = float(0.7 * uncertainty + 0.3 * (1 - top[1]))
        flagged = risk >= self.threshold
        self.threshold += 0.02 * (flagged - 0.1)
        self.credit = min(8.0, self.credit + 0.15)
        abstain = bool(flagged and self.credit >= 1)
        self.credit -= abstain
        at = self.t % depth
        self.probs[at], self.features[at], self.predictions[at] = probs, features, prediction
        self.t += 1
        return prediction, risk, abstain
