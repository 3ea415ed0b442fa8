"""Accuracy by the mean entropy of a window."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .estimate import Estimate, Rule, temperature_of
from .regression import CURVES
from .windows import Development


class EntropyMean(Estimate):
    """A curve of the mean entropy, learned over development windows; curves and temperatures are tried."""

    name = "entropy mean regression"
    grid = tuple({"curve": curve, "scale": scale} for scale in (None, 1.0, 0.5, 2.0) for curve in CURVES)

    def learn(self, dev: Development, setting: Mapping[str, Any]) -> Rule:
        """Learn the curve."""
        temperature = temperature_of(dev, setting["scale"])
        sure = dev.windows.certainty("entropy", temperature).mean(axis=1)
        curve = CURVES[setting["curve"]](sure, dev.accuracies)
        return lambda windows: curve(windows.certainty("entropy", temperature).mean(axis=1))
