"""Rivals made of others: an ensemble under a Bayes filter, and a regression of seven numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tcuq.fitting.logistic import fit_logistic
from tcuq.metrics.inputs import Floats

from ..detection.feature_scores import Centers, centers_of
from .belief import BYTES, STAYS, BeliefStay, beliefs, redraw_of
from .confidence import L2, LEAST, calibrated_bias
from .ensembles import GRID, Deep
from .method import Answer, Labeled, Observed
from .rules import least_area
from .scores import unsure

if TYPE_CHECKING:
    from .passes import MethodCost

RATE = 1 / 16
"""Of the exponential means."""


class DeepBelief(Deep):
    """The mean posterior of five networks under a Bayes filter with a fixed stay, the best of eight."""

    name = "deep_belief"
    grid = STAYS
    columns = GRID

    def score(self, seen: Observed, setting: Mapping[str, Any]) -> Answer:
        """Answer with the belief."""
        found = beliefs(seen, redraw_of(setting, seen.probs.shape[1]))
        return Answer(found, unsure(found))

    def fit(self, dev: Labeled) -> None:
        """Keep the stay with the least area under risk and coverage."""
        self.setting = least_area(self, dev)

    def cost(self, shape: tuple[int, ...]) -> MethodCost:
        """Return all passes, the stay and a belief a class."""
        from ..zoo.outputs import core
        from .passes import counted

        return counted(self.loaded(), shape, stored=1, state=BYTES * core(self.network).classes)


class Stacked(BeliefStay):
    """A Bayes filter with a fixed stay answers; a logistic regression of seven numbers says its errors.

    The numbers: log odds of the filter and of the network, whether they agree, the Mahalanobis distance of
    the features from the clean mean of the predicted class, and exponential means of the last three.
    """

    name = "stacked"
    calibrated = True
    centers: Centers
    coef: Floats | None = None
    """Of the seven numbers in development standard deviations from their means."""
    usual: tuple[Floats, Floats]
    bias: float = 0.0

    def fit(self, dev: Labeled) -> None:
        """Choose the stay, then learn from the errors that are left."""
        super().fit(dev)
        seen, clean = dev.observed, dev.kinds == 0
        features, predictions = _features(seen), seen.probs.argmax(axis=1)
        self.centers = centers_of(features[clean], predictions[clean], seen.probs.shape[1])
        found = beliefs(seen, self._redraw(self.setting, seen.probs.shape[1]))
        values, wrong = self.values(seen, found), found.argmax(axis=1) != dev.labels
        spread = values.std(axis=0)
        self.usual = values.mean(axis=0), np.where(spread > 0, spread, 1.0)
        x = (values - self.usual[0]) / self.usual[1]
        share = (wrong.sum() + 0.5) / (len(wrong) + 1)  # neither 0 nor 1
        self.coef = fit_logistic(x, wrong, L2)[0] if 0 < wrong.sum() < len(wrong) else np.zeros(x.shape[1])
        self.bias = calibrated_bias(x @ self.coef, float(share))

    def score(self, seen: Observed, setting: Mapping[str, Any]) -> Answer:
        """Answer with the belief; the score is the chance of an error."""
        found = beliefs(seen, self._redraw(setting, seen.probs.shape[1]))
        if self.coef is None:  # while the stay is chosen
            return Answer(found, unsure(found))
        x = (self.values(seen, found) - self.usual[0]) / self.usual[1]
        logit = (x * self.coef).sum(axis=1) + self.bias
        return Answer(found, 1 / (1 + np.exp(-np.clip(logit, -500, 500))))

    def values(self, seen: Observed, found: Floats) -> Floats:
        """Return the seven numbers of each step."""
        predictions = seen.probs.argmax(axis=1)
        agree = (found.argmax(axis=1) == predictions).astype(np.float64)
        distance = self.centers.distances(_features(seen), predictions)
        now = np.stack([_odds(seen.probs), agree, distance], axis=1)
        means = now.copy()
        for piece in seen.pieces():
            for at in range(piece.start + 1, piece.stop):
                means[at] = means[at - 1] + RATE * (now[at] - means[at - 1])
        return np.concatenate([_odds(found)[:, None], now, means], axis=1)

    def state(self) -> int:
        """Return the bytes of a belief a class and of three means."""
        return super().state() + 3 * BYTES

    def stored(self) -> int:
        """Return the constants: those of the regression, the centers and what whitens."""
        return super().stored() + 3 * 7 + 1 + self.centers.means.size + self.centers.whitens.size


def _features(seen: Observed) -> Any:
    """Return features; posteriors where there are none."""
    return seen.probs if seen.features is None else seen.features


def _odds(probs: Any) -> Floats:
    doubt = np.maximum(unsure(probs), LEAST)
    return np.asarray(np.log(np.maximum(probs.max(axis=1).astype(np.float64), LEAST)) - np.log(doubt))
