"""ATC: average thresholded confidence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .estimate import Estimate, Rule, temperature_of
from .windows import CERTAINTIES, Development


class Atc(Estimate):
    """The share of steps at least as sure as a threshold.

    As large a share of development steps lies below the threshold as were wrong. The measure of certainty
    and the temperature of the posteriors are tried.
    """

    name = "ATC"
    grid = tuple({"certainty": kind, "scale": scale} for scale in (None, 1.0) for kind in CERTAINTIES)

    def learn(self, dev: Development, setting: Mapping[str, Any]) -> Rule:
        """Find the threshold."""
        kind, temperature = setting["certainty"], temperature_of(dev, setting["scale"])
        sure = np.sort(dev.windows.certainty(kind, temperature), axis=None)
        threshold = np.append(sure, np.inf)[int((~dev.right).sum())]
        return lambda windows: (windows.certainty(kind, temperature) >= threshold).mean(axis=1)
