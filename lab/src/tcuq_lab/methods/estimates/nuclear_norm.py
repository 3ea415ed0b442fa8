"""Nuclear norm: confidence and dispersion of a window's posteriors at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..method import Floats
from ..scores import Doubles
from .estimate import Estimate, Rule, temperature_of
from .regression import CURVES
from .windows import Development


class NuclearNorm(Estimate):
    """A curve of the nuclear norm of each window's posteriors; curves and temperatures are tried.

    The norm is large where posteriors are sure and all classes come equally often, so that it takes a
    window of few classes for a drop of accuracy, unless development windows are like it.
    """

    name = "nuclear norm"
    grid = tuple({"curve": curve, "scale": scale} for scale in (None, 1.0, 0.5, 2.0) for curve in CURVES)

    def learn(self, dev: Development, setting: Mapping[str, Any]) -> Rule:
        """Learn the curve."""
        temperature = temperature_of(dev, setting["scale"])
        curve = CURVES[setting["curve"]](norms(dev.windows.scaled(temperature)), dev.accuracies)
        return lambda windows: curve(norms(windows.scaled(temperature)))


def norms(probs: Floats) -> Doubles:
    """Return the nuclear norm of each matrix (n, size, classes) as a share of the largest possible."""
    given = np.asarray(probs, dtype=np.float64)
    size, classes = given.shape[1:]
    squares = np.linalg.eigvalsh(given.transpose(0, 2, 1) @ given)  # of the singular values
    return np.asarray(np.sqrt(np.maximum(squares, 0)).sum(axis=1) / np.sqrt(min(size, classes) * size))
