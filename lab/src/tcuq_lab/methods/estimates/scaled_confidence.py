"""Mean confidence after temperature scaling."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .estimate import Estimate, Rule
from .windows import Development


class ScaledConfidence(Estimate):
    """The mean of the largest posterior at the temperature that fits development labels best."""

    name = "mean confidence, temperature"

    def learn(self, dev: Development, setting: Mapping[str, Any]) -> Rule:
        """Find the temperature."""
        temperature = dev.temperature
        return lambda windows: 1 + windows.certainty("confidence", temperature).mean(axis=1)
