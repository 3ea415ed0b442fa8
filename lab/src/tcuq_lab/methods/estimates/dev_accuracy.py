"""The development accuracy: what can be said without looking."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .estimate import Estimate, Rule
from .windows import Development


class DevAccuracy(Estimate):
    """A constant."""

    name = "dev accuracy"

    def learn(self, dev: Development, setting: Mapping[str, Any]) -> Rule:
        """Take the accuracy."""
        accuracy = dev.accuracy
        return lambda windows: np.full(len(windows), accuracy)
