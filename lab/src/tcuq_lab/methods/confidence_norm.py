"""CONFIDENCE_NORM: the odds of the answer and the size of the features, weighed by logistic regression."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.fitting.logistic import fit_logistic

from .method import Answer, Labeled, Method, MethodCost, Observed
from .scores import Doubles, unsure

LEAST = 1e-7
"""Doubts and squared norms below it count as this: float32 knows no smaller doubt beside a sure answer."""
L2 = 1.0


def calibrated_bias(logits: Doubles, share: float) -> float:
    """Return the bias under which the mean logistic of some logits is a share.

    The share lies between 0 and 1, and is neither; the logits are without any bias.

    Examples
    --------
    >>> x = np.array([-1.0, 0.0, 3.0])
    >>> bias = calibrated_bias(x, 0.25)
    >>> round(float((1 / (1 + np.exp(-(x + bias)))).mean()), 6)
    0.25
    """
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
    """A memoryless regression of errors on two figures of a step.

    The figures are the log odds of the largest posterior and the log of the norm of the features (the
    penultimate layer). They are weighed on a labeled development stream; the score is the chance of an error.
    """

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

    def score(self, seen: Observed, setting: Mapping[str, Any]) -> Answer:
        """Return the chance of an error at every step."""
        if self.coef is None:
            raise ValueError(f"{self.name} is not fitted; fit() with a labeled development stream is needed")
        x = figures(seen)
        # Sums of two products: a product of matrices may round a row otherwise in another batch.
        logit = x[:, 0] * self.coef[0] + x[:, 1] * self.coef[1] + self.bias
        return Answer(seen.probs, 1 / (1 + np.exp(-logit)))

    def cost(self, shape: tuple[int, ...]) -> MethodCost:
        """Return one pass, the norm and the weighing; two coefficients and a bias are stored."""
        from ..zoo.outputs import core
        from .counting import counted

        return counted(self.loaded(), shape, more=core(self.network).width + 2, stored=3)


def figures(seen: Observed) -> npt.NDArray[np.float64]:
    """Return the log odds of the largest posterior and the log norm of the features, (T, 2)."""
    if seen.features is None:
        raise ValueError("features are not given; confidence_norm needs those of the penultimate layer")
    doubt = np.maximum(unsure(seen.probs), LEAST)
    sure = np.maximum(seen.probs.max(axis=1).astype(np.float64), LEAST)
    square = np.einsum("ij,ij->i", *[seen.features.astype(np.float64)] * 2)
    return np.stack([np.log(sure) - np.log(doubt), np.log(np.maximum(square, LEAST)) / 2], axis=1)
