"""GDE: generalization disagreement (Jiang and others 2022), how often a second predictor says the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..scores import Doubles
from .estimate import Estimate, Rule
from .regression import CURVES
from .windows import Development, Windows


class Gde(Estimate):
    """The share of steps at which a second predictor, trained alike from other seeds, agrees.

    Tried: agreement of classes, or of posteriors (the chance that draws from both agree); as it is, as
    a difference from development time, and by both curves.
    """

    name = "GDE"
    grid = tuple(
        {"soft": soft, "curve": curve} for soft in (False, True) for curve in ("none", "difference", *CURVES)
    )

    def learn(self, dev: Development, setting: Mapping[str, Any]) -> Rule:
        """Learn what agreement says of accuracy."""
        soft, curve = setting["soft"], setting["curve"]
        if curve == "none":
            return lambda windows: agreement(windows, soft)
        agreed = agreement(dev.windows, soft)
        if curve == "difference":
            gap = dev.accuracy - float(agreed.mean())
            return lambda windows: agreement(windows, soft) + gap
        learned = CURVES[curve](agreed, dev.accuracies)
        return lambda windows: learned(agreement(windows, soft))


def agreement(windows: Windows, soft: bool) -> Doubles:
    """Return how far both predictors agree in each window.

    Examples
    --------
    >>> first, second = np.array([[[0.9, 0.1], [0.4, 0.6]]]), np.array([[[0.5, 0.5], [0.8, 0.2]]])
    >>> windows = Windows(first, other=second)
    >>> [agreement(windows, soft).round(2).tolist() for soft in (False, True)]
    [[0.5], [0.47]]
    """
    if windows.other is None:
        raise ValueError("windows have no second predictor, expected `other`")
    if soft:
        return np.asarray((windows.probs * windows.other).sum(axis=2).mean(axis=1))
    return np.asarray((windows.probs.argmax(axis=2) == windows.other.argmax(axis=2)).mean(axis=1))
