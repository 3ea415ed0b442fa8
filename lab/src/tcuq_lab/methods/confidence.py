"""Scores of single steps: doubt, entropy, temperature, rarity, and doubt beside the norm of features."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.fitting.logistic import fit_logistic

from ..detectors.scores import Centers, Doubles, centers_of, entropy, softmax, unsure
from ..harness.types import Outputs
from .belief import BYTES, BeliefStay, believed
from .method import Answer, Labeled, Method, check_clean


class Base(Method):
    """The network's own doubt, 1 - max p; nothing is tuned, nothing is remembered."""

    name = "base"

    def score(self, seen: Outputs, setting: Mapping[str, Any]) -> Answer:
        """Return 1 - max p of every step."""
        return Answer(seen.probs, unsure(seen.probs))


class Entropy(Base):
    """The entropy of the posterior over the log of the number of classes; nothing is tuned."""

    name = "entropy"

    def score(self, seen: Outputs, setting: Mapping[str, Any]) -> Answer:
        """Return the entropy of every step, in [0, 1]."""
        return Answer(seen.probs, entropy(seen.probs))


COLDEST, HOTTEST = 0.01, 100.0
GOLDEN = (5**0.5 - 1) / 2


class Temperature(Method):
    """The doubt of posteriors at the temperature of the least clean negative log-likelihood."""

    name = "temperature"
    temperature: float | None = None
    needs = MappingProxyType({"stored": 1})

    def learn(self, clean: Outputs, y: npt.NDArray[np.int64]) -> None:
        """Fit the temperature."""
        check_clean(self.name, clean.probs, y)
        self.temperature = fitted(clean.extra["logits"], y)

    def score(self, seen: Outputs, setting: Mapping[str, Any]) -> Answer:
        """Return scaled posteriors and their doubt."""
        if self.temperature is None:
            raise ValueError(
                "temperature is not fitted; learn() or ready() with clean development examples is needed"
            )
        probs = softmax(seen.extra["logits"], self.temperature)
        return Answer(probs, unsure(probs))


def likelihood(logits: npt.NDArray[Any], y: npt.NDArray[np.int64], temperature: float) -> float:
    """Return the mean negative log-likelihood of classes."""
    scaled = np.asarray(logits, dtype=np.float64) / temperature
    top = scaled.max(axis=1)
    total = top + np.log(np.exp(scaled - top[:, None]).sum(axis=1))
    return float((total - scaled[np.arange(len(scaled)), y]).mean())


def fitted(logits: npt.NDArray[Any], y: npt.NDArray[np.int64]) -> float:
    """Return the temperature, 0.01 to 100, of the least negative log-likelihood, which has one valley."""
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


class Conformal(Method):
    """Split conformal on the doubt 1 - max p; the score is 1 minus the p-value.

    The p-value is (1 + clean development examples with at least its doubt) / (1 + all of them): among
    examples like them it is at most a level with at most that chance. As a ranking it is BASE up to ties.
    """

    name = "conformal"
    clean: Doubles | None = None
    """Doubts of clean examples, rising."""

    def learn(self, clean: Outputs, y: npt.NDArray[np.int64]) -> None:
        """Keep the doubts of clean examples; labels decide nothing, but one below 0 is refused."""
        check_clean(self.name, clean.probs, y)
        self.clean = np.sort(unsure(clean.probs))

    def score(self, seen: Outputs, setting: Mapping[str, Any]) -> Answer:
        """Return 1 minus the p-value of every step."""
        if self.clean is None:
            raise ValueError("conformal has no clean doubts; learn() with development examples is needed")
        return Answer(seen.probs, 1 - p_values(self.clean, unsure(seen.probs)))

    @property
    def needs(self) -> Mapping[str, Any]:
        """Store the clean doubts."""
        return {"stored": 0 if self.clean is None else len(self.clean)}


def p_values(clean: Doubles, doubt: Doubles) -> Doubles:
    """Return conformal p-values of doubts against clean ones, which rise."""
    above = len(clean) - np.searchsorted(clean, doubt, side="left")
    return np.asarray((1 + above) / (1 + len(clean)))


LEAST = 1e-7
"""Doubts and squared norms below it count as this: float32 knows no smaller doubt beside a sure answer."""
L2 = 1.0


def calibrated_bias(logits: Doubles, share: float) -> float:
    """Return the bias under which the mean logistic of some logits is a share, neither 0 nor 1."""
    # Beyond these ends every step is on one side of the share; the mean rises with the bias in between.
    center = float(np.log(share / (1 - share)))
    low, high = center - float(logits.max()), center - float(logits.min())
    for _ in range(100):
        middle = (low + high) / 2
        if middle in (low, high):  # neighbors: no float lies between them
            break
        mean = (1 / (1 + np.exp(-np.clip(logits + middle, -500, 500)))).mean()
        low, high = (middle, high) if mean < share else (low, middle)
    return (low + high) / 2


class ConfidenceNorm(Method):
    """A regression of errors on the log odds of the largest posterior and the log norm of the features."""

    name = "confidence_norm"
    coef: Doubles | None = None
    """Of log odds and log norm."""
    bias: float = 0.0

    def fit(self, dev: Labeled) -> None:
        """Learn from the errors of a development stream, which must hold right and wrong answers."""
        wrong = dev.observed.probs.argmax(axis=1) != dev.labels
        if wrong.all() or not wrong.any():
            raise ValueError(
                f"{self.name} is given {int(wrong.sum())} errors in {len(wrong)} steps, expected some of both"
            )
        x = figures(dev.observed)
        self.coef, _ = fit_logistic(x, wrong, L2)
        self.bias = calibrated_bias(x @ self.coef, float(wrong.mean()))

    def score(self, seen: Outputs, setting: Mapping[str, Any]) -> Answer:
        """Return the chance of an error at every step."""
        if self.coef is None:
            raise ValueError(f"{self.name} is not fitted; fit() with a labeled development stream is needed")
        x = figures(seen)
        # Sums of two products: a product of matrices may round a row otherwise in another batch.
        logit = x[:, 0] * self.coef[0] + x[:, 1] * self.coef[1] + self.bias
        return Answer(seen.probs, 1 / (1 + np.exp(-logit)))

    @property
    def needs(self) -> Mapping[str, Any]:
        """Take the norm and weigh; store two coefficients and a bias."""
        return {"more": self.body.width + 2, "stored": 3}


def figures(seen: Outputs) -> npt.NDArray[np.float64]:
    """Return the log odds of the largest posterior and the log norm of the features, (T, 2)."""
    if seen.features is None:
        raise ValueError("features are not given; confidence_norm needs those of the penultimate layer")
    square = np.einsum("ij,ij->i", *[seen.features.astype(np.float64)] * 2)
    return np.stack([_odds(seen.probs), np.log(np.maximum(square, LEAST)) / 2], axis=1)


RATE = 1 / 16
"""Of the exponential means."""


class Stacked(BeliefStay):
    """A Bayes filter with a fixed stay answers; a logistic regression of seven numbers says its errors.

    The numbers: log odds of the filter and of the network, whether they agree, the Mahalanobis distance of
    the features from the clean mean of the predicted class, and exponential means of the last three.
    """

    name = "stacked"
    calibrated = True
    centers: Centers
    coef: Doubles | None = None
    """Of the seven numbers in development standard deviations from their means."""
    usual: tuple[Doubles, Doubles]
    bias: float = 0.0

    def fit(self, dev: Labeled) -> None:
        """Choose the stay, then learn from the errors that are left."""
        super().fit(dev)
        seen, clean = dev.observed, dev.kinds == 0
        features, predictions = _features(seen), seen.probs.argmax(axis=1)
        self.centers = centers_of(features[clean], predictions[clean], seen.probs.shape[1])
        found = believed(seen, self.setting)
        values, wrong = self.values(seen, found), found.argmax(axis=1) != dev.labels
        spread = values.std(axis=0)
        self.usual = values.mean(axis=0), np.where(spread > 0, spread, 1.0)
        x = (values - self.usual[0]) / self.usual[1]
        share = (wrong.sum() + 0.5) / (len(wrong) + 1)  # neither 0 nor 1
        self.coef = fit_logistic(x, wrong, L2)[0] if 0 < wrong.sum() < len(wrong) else np.zeros(x.shape[1])
        self.bias = calibrated_bias(x @ self.coef, float(share))

    def score(self, seen: Outputs, setting: Mapping[str, Any]) -> Answer:
        """Answer with the belief; the score is the chance of an error."""
        found = believed(seen, setting)
        if self.coef is None:  # while the stay is chosen
            return Answer(found, unsure(found))
        x = (self.values(seen, found) - self.usual[0]) / self.usual[1]
        logit = (x * self.coef).sum(axis=1) + self.bias
        return Answer(found, 1 / (1 + np.exp(-np.clip(logit, -500, 500))))

    def values(self, seen: Outputs, found: Doubles) -> Doubles:
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


def _features(seen: Outputs) -> Any:
    """Return features; posteriors where there are none."""
    return seen.probs if seen.features is None else seen.features


def _odds(probs: Any) -> Doubles:
    doubt = np.maximum(unsure(probs), LEAST)
    return np.asarray(np.log(np.maximum(probs.max(axis=1).astype(np.float64), LEAST)) - np.log(doubt))
