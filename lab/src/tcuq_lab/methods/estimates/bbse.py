"""BBSE: black-box shift estimation (Lipton and others 2018), the confidence under another class mix."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ..scores import Doubles
from .estimate import Estimate, Rule, temperature_of
from .windows import Development


class Bbse(Estimate):
    """The mean posterior of the prediction, after each window's own class mix is put into the posteriors.

    The mix is the one whose predictions, by the confusion matrix of development steps, come nearest to those
    of the window. Predictions counted as classes or as posteriors, temperature and penalty are tried.
    """

    name = "BBSE"
    grid = tuple(
        {"soft": soft, "scale": scale, "penalty": penalty}
        for soft in (False, True)
        for scale in (None, 1.0)
        for penalty in (0.01, 0.1)
    )

    def learn(self, dev: Development, setting: Mapping[str, Any]) -> Rule:
        """Count the confusion of development steps."""
        temperature = temperature_of(dev, setting["scale"])
        classes = dev.windows.probs.shape[2]
        said = _said(dev.windows.scaled(temperature), setting["soft"]).reshape(-1, classes)
        counts = np.stack([np.bincount(dev.labels.ravel(), column, classes) for column in said.T])
        joint: Doubles = counts / dev.labels.size

        def rule(windows: Any) -> Doubles:
            probs = windows.scaled(temperature)
            ratios = class_ratios(joint, _said(probs, setting["soft"]).mean(axis=1), setting["penalty"])
            answer = windows.probs.argmax(axis=2)[:, :, None]
            mixed = probs * ratios[:, None, :]
            share = np.take_along_axis(mixed, answer, axis=2)[:, :, 0] / np.maximum(mixed.sum(axis=2), 1e-30)
            return np.asarray(share.mean(axis=1))

        return rule


def _said(probs: npt.NDArray[Any], soft: bool) -> npt.NDArray[Any]:
    return probs if soft else np.asarray(probs == probs.max(axis=2, keepdims=True), dtype=np.float64)


def class_ratios(joint: Doubles, said: npt.NDArray[Any], penalty: float) -> Doubles:
    """Return how much more often each class comes than in development, window by window; never below 0.

    Examples
    --------
    >>> joint = np.array([[0.4, 0.1], [0.1, 0.4]])
    >>> class_ratios(joint, np.array([[0.5, 0.5], [0.8, 0.2]]), 0.0).round(3).tolist()
    [[1.0, 1.0], [2.0, 0.0]]
    """
    square = joint.T @ joint
    level = penalty * float(np.trace(square)) / len(square)
    moved = np.linalg.solve(square + (level + 1e-9) * np.eye(len(square)), joint.T @ (said - joint.sum(1)).T)
    return np.asarray(np.maximum(1 + moved.T, 0.0))
