"""COT: confidence optimal transport, and its thresholded form COTT (Lu and others 2023)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ..scores import Doubles
from .estimate import Estimate, Rule, temperature_of
from .windows import Development

SMOOTH, ROUNDS, NEAR = (0.5, 0.1, 0.02), 400, 0.5
"""Entropy that is added to a transport, less and less, where costs lie in [0, 1]; rounds of Sinkhorn's
scaling with each, at most; and steps of a window by which a class may be off at their end."""


class Cot(Estimate):
    """One less the cost of moving the window's posteriors to classes in the shares of development labels.

    A step costs 1 less its posterior at the class that it is moved to. The thresholded form counts the steps
    whose cost is above a threshold; as large a share of development steps lies above it as were wrong. Form
    and temperature are tried.
    """

    name = "COT"
    grid = tuple(
        {"threshold": form, "scale": scale} for form in (False, True) for scale in (None, 1.0, 0.71, 1.41)
    )

    def learn(self, dev: Development, setting: Mapping[str, Any]) -> Rule:
        """Take the shares of classes, and find the threshold."""
        temperature = temperature_of(dev, setting["scale"])
        shares = np.bincount(dev.labels.ravel(), minlength=dev.windows.probs.shape[2]) / dev.labels.size
        if not setting["threshold"]:
            return lambda windows: 1 - transport(windows.scaled(temperature), shares).mean(axis=1)
        costs = np.sort(transport(dev.windows.scaled(temperature), shares), axis=None)
        limit = np.append(costs, np.inf)[int(dev.right.sum())]
        return lambda windows: (transport(windows.scaled(temperature), shares) < limit).mean(axis=1)


def transport(probs: npt.NDArray[Any], shares: Doubles) -> Doubles:
    """Return what each step costs in the best transport of its window to classes, (n, size).

    Sinkhorn's scaling finds it, smoothed a little: the mean cost of a window is within about 0.01.
    """
    present = shares > 0
    costs = 1 - np.asarray(probs[:, :, present], dtype=np.float64)
    wanted = shares[present] * costs.shape[1]
    prices = np.zeros((len(costs), len(wanted)))
    for smooth in SMOOTH:
        kernel = np.exp(-costs / smooth)
        weights = np.exp(prices / smooth)
        for _ in range(ROUNDS):
            steps = 1 / np.maximum(np.matmul(kernel, weights[:, :, None])[:, :, 0], 1e-300)
            reached = np.matmul(steps[:, None, :], kernel)[:, 0]
            off = np.abs(weights * reached - wanted).max(axis=1, keepdims=True) >= NEAR
            if not off.any():
                break
            weights = np.where(off, wanted / np.maximum(reached, 1e-300), weights)
        prices = smooth * np.log(np.maximum(weights, 1e-300))
        prices -= prices.max(axis=1, keepdims=True)
    plan = kernel * weights[:, None, :]
    return np.asarray((plan * costs).sum(axis=2) / np.maximum(plan.sum(axis=2), 1e-300))
