"""MaNo: a norm of a window's normalized logits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..method import Floats
from ..scores import Doubles, softmax
from .estimate import Estimate, Rule
from .regression import CURVES
from .windows import Development

LIMIT = 5.0
"""Mean of minus the log posterior over steps and classes above which posteriors are trusted."""


class MaNo(Estimate):
    """A curve of the norm of each window's normalized logits.

    The paper normalizes by softmax where posteriors are far from even, else by the first terms of its series,
    and takes the fourth power. Tried: that and softmax throughout, powers 4 and 2, both curves.
    """

    name = "MaNo"
    grid = tuple(
        {"normalize": how, "power": power, "curve": curve}
        for how in ("paper", "softmax")
        for power in (4, 2)
        for curve in CURVES
    )

    def learn(self, dev: Development, setting: Mapping[str, Any]) -> Rule:
        """Learn the curve."""
        how, power = setting["normalize"] == "paper", setting["power"]
        curve = CURVES[setting["curve"]](norms(dev.windows.logits, power, how), dev.accuracies)
        return lambda windows: curve(norms(windows.logits, power, how))


def norms(logits: Floats, power: int = 4, choose: bool = True) -> Doubles:
    """Return the norm of each of some matrices (n, size, classes), between 0 and 1."""
    given = np.asarray(logits, dtype=np.float64)
    shares = softmax(given)
    if choose:
        top = given.max(axis=2, keepdims=True)
        logs = given - top - np.log(np.exp(given - top).sum(axis=2, keepdims=True))
        near = 1 + given + given * given / 2
        even = -logs.mean(axis=(1, 2)) <= LIMIT
        shares = np.where(even[:, None, None], near / near.sum(axis=2, keepdims=True), shares)
    return np.asarray((shares**power).mean(axis=(1, 2)) ** (1 / power))
