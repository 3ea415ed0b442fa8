"""DoC: difference of confidences, as it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .estimate import SCALES, Estimate, Rule, temperature_of
from .windows import Development


class Doc(Estimate):
    """Development accuracy, less the drop of the mean confidence since; temperatures are tried."""

    name = "DoC"
    grid = ({"scale": None}, *({"scale": scale} for scale in SCALES))

    def learn(self, dev: Development, setting: Mapping[str, Any]) -> Rule:
        """Take the mean confidence."""
        temperature = temperature_of(dev, setting["scale"])
        mean, accuracy = float(dev.windows.certainty("confidence", temperature).mean()), dev.accuracy
        return lambda windows: accuracy + windows.certainty("confidence", temperature).mean(axis=1) - mean
