"""DoC by regression: the drop of accuracy as a line of the difference of confidences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .estimate import Estimate, Rule, temperature_of
from .regression import line
from .windows import Development


class DocRegression(Estimate):
    """A line of the mean certainty, learned over development windows.

    Tried: confidence or entropy, two temperatures, and the line free or through the mean confidence and
    accuracy of the surest quarter of the windows, which stand for clean data.
    """

    name = "DoC, regression"
    grid = tuple(
        {"certainty": kind, "scale": scale, "through": through}
        for through in ("nothing", "surest quarter")
        for scale in (None, 1.0)
        for kind in ("confidence", "entropy")
    )

    def learn(self, dev: Development, setting: Mapping[str, Any]) -> Rule:
        """Learn the line."""
        kind, temperature = setting["certainty"], temperature_of(dev, setting["scale"])
        sure, truth = dev.windows.certainty(kind, temperature).mean(axis=1), dev.accuracies
        if setting["through"] == "nothing":
            curve = line(sure, truth)
            return lambda windows: curve(windows.certainty(kind, temperature).mean(axis=1))
        surest = np.argsort(-sure, kind="stable")[: max(1, len(sure) // 4)]
        at, level = float(sure[surest].mean()), float(truth[surest].mean())
        spread = float(np.square(sure - at).sum())
        slope = float(((sure - at) * (truth - level)).sum()) / spread if spread > 1e-18 else 0.0
        return lambda windows: level + slope * (windows.certainty(kind, temperature).mean(axis=1) - at)
