"""Mean confidence: what the network itself says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .estimate import Estimate, Rule
from .windows import Development


class MeanConfidence(Estimate):
    """The mean of the largest posterior; nothing is learned."""

    name = "mean confidence"

    def learn(self, dev: Development, setting: Mapping[str, Any]) -> Rule:
        """Learn nothing."""
        return lambda windows: 1 + windows.certainty("confidence").mean(axis=1)
