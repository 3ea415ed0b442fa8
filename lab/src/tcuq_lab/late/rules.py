"""Rules that move a threshold on the risk by labels of accepted steps, besides that of the core.

Each keeps `threshold`: a step is accepted when its risk is below. `told` is called with each label.
"""

from __future__ import annotations

import math
from collections import deque

import numpy as np

LEAST = 1e-6
"""Share of an expert that starts again, so that none is lost."""


class Fixed:
    """The threshold that the development log gives, whatever happens."""

    name = "fixed threshold"

    def __init__(self, reference: float, max_error: float) -> None:
        self.threshold, self.max_error = reference, max_error

    def told(self, risk: float, wrong: bool, accepted: bool) -> None:
        """Take a label."""


class Adaptive(Fixed):
    """Adaptive conformal inference (Gibbs and Candès 2021): one step against each labeled accepted error."""

    name = "ACI, rate .02"
    rate = 0.02

    def told(self, risk: float, wrong: bool, accepted: bool) -> None:
        """Take a label."""
        if accepted:
            self.threshold = min(1.0, max(0.0, self.threshold + self.rate * (self.max_error - wrong)))


class Faster(Adaptive):
    """The same at five times the rate."""

    name = "ACI, rate .1"
    rate = 0.1


class Mixed(Fixed):
    """DtACI (Gibbs and Candès 2024): experts with several rates, weighted by their losses.

    Examples
    --------
    >>> rule = Mixed(0.1, 0.05)
    >>> for _ in range(20):
    ...     rule.told(0.05, True, True)
    >>> rule.threshold < 0.05
    True
    """

    name = "DtACI"
    rates = (0.005, 0.01, 0.02, 0.05, 0.1)
    horizon = 100

    def __init__(self, reference: float, max_error: float) -> None:
        super().__init__(reference, max_error)
        self.at = np.full(len(self.rates), reference)
        self.weights = np.ones(len(self.rates))
        count, share = len(self.rates), max_error * (1 - max_error)
        self.eta = math.sqrt((math.log(2 * count * self.horizon) + 1) / (self.horizon * share))

    def told(self, risk: float, wrong: bool, accepted: bool) -> None:
        """Take a label: experts lose by their distance from the threshold that was just right (pinball)."""
        if not accepted:
            return
        target = risk if wrong else 1.0
        gaps = target - self.at
        losses = np.where(gaps < 0, (1 - self.max_error) * -gaps, self.max_error * gaps)
        weights = self.weights * np.exp(-self.eta * losses)
        total = weights.sum()
        self.weights = (1 - 1 / (2 * self.horizon)) * weights + total / (2 * self.horizon * len(self.rates))
        self.weights = np.maximum(self.weights / self.weights.sum(), LEAST)
        self.at = np.clip(self.at + np.array(self.rates) * (self.max_error - (risk < self.at) * wrong), 0, 1)
        self.threshold = float((self.weights * self.at).sum() / self.weights.sum())


class Pid(Fixed):
    """Conformal PID (Angelopoulos and others 2023): quantile tracking and a saturated integral of errors."""

    name = "conformal PID"
    rate, gain, scale = 0.02, 0.1, 5.0

    def __init__(self, reference: float, max_error: float) -> None:
        super().__init__(reference, max_error)
        self.tracked, self.excess, self.count = reference, 0.0, 0

    def told(self, risk: float, wrong: bool, accepted: bool) -> None:
        """Take a label."""
        if not accepted:
            return
        self.count += 1
        self.excess += wrong - self.max_error
        self.tracked += self.rate * (self.max_error - wrong)
        turn = self.excess * math.log(self.count + 1) / (self.scale * (self.count + 1))
        integral = self.gain * math.tan(min(1.5, max(-1.5, turn)))
        self.threshold = min(1.0, max(0.0, self.tracked - integral))


class Retuned(Fixed):
    """Somebody chooses the threshold again after every 20 labels, from the last 200, accepted or not."""

    name = "retuned by hand"
    every, last = 20, 200

    def __init__(self, reference: float, max_error: float) -> None:
        super().__init__(reference, max_error)
        self.seen: deque[tuple[float, bool]] = deque(maxlen=self.last)
        self.count = 0

    def told(self, risk: float, wrong: bool, accepted: bool) -> None:
        """Take a label."""
        self.seen.append((risk, wrong))
        self.count += 1
        if self.count % self.every:
            return
        risks, errors = (np.array(each) for each in zip(*sorted(self.seen), strict=True))
        held = np.flatnonzero(np.cumsum(errors) <= self.max_error * np.arange(1, len(errors) + 1))
        count = int(held[-1]) + 1 if len(held) else 0
        self.threshold = 1.0 if count == len(risks) else float(risks[count])


RULES = (Fixed, Adaptive, Faster, Mixed, Pid, Retuned)
