"""Isotonic calibration: how often steps as sure as this one were right."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .estimate import Estimate, Rule, temperature_of
from .regression import monotone
from .windows import CERTAINTIES, Development


class Isotonic(Estimate):
    """An isotonic regression of right answers on certainty, averaged over the window.

    The measure of certainty and the temperature of the posteriors are tried.
    """

    name = "isotonic"
    grid = tuple({"certainty": kind, "scale": scale} for scale in (None, 1.0) for kind in CERTAINTIES)

    def learn(self, dev: Development, setting: Mapping[str, Any]) -> Rule:
        """Learn the curve."""
        kind, temperature = setting["certainty"], temperature_of(dev, setting["scale"])
        curve = monotone(dev.windows.certainty(kind, temperature).ravel(), dev.right.ravel())
        return lambda windows: curve(windows.certainty(kind, temperature)).mean(axis=1)
