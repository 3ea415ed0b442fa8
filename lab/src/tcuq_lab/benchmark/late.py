"""Entries of the track with late labels: error control of the core, and rules that move a threshold.

A rule keeps `threshold`: a step is accepted when its risk is below. `told` is called with each label.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from tcuq import FitOptions, Monitor, Params, fit

from ..harness.types import MAX_ERROR, Answers, Array, Dev

LATE_BY = 100
"""Steps from an answer to its label."""

LEAST = 1e-6
"""Share of an expert that starts again, so that none is lost."""


def within(errors: Array, share: float) -> int:
    """Return how many steps from the first on have no larger share of errors."""
    held = np.flatnonzero(np.cumsum(errors) <= share * np.arange(1, len(errors) + 1))
    return int(held[-1]) + 1 if len(held) else 0


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
    """DtACI (Gibbs and Candès 2024): experts with several rates, weighted by their losses."""

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
        count = within(errors, self.max_error)
        self.threshold = 1.0 if count == len(risks) else float(risks[count])


RULES = (Fixed, Adaptive, Faster, Mixed, Pid, Retuned)


class Told:
    """The monitor that `tcuq.fit` makes with `max_error`; it takes labels of so many steps back."""

    name, uses_labels = "tcuq, max_error", True
    params: Params

    def __init__(self, memory: int = LATE_BY + 1) -> None:
        self.memory = memory

    def fit(self, dev: Dev) -> None:
        """Fit a monitor that abstains for no other reason."""
        assert dev.clean is not None
        options = FitOptions(explain=False, max_error=MAX_ERROR, feedback=self.memory)
        given: Any = {"clean": dev.clean.log(), "budget": 0.0, "level": 0.15, "force": True}
        self.params = fit(dev.log(), **given, options=options)

    @property
    def state_bytes(self) -> int | None:
        """Bytes that the core keeps between steps."""
        return self.params.state_bytes

    def start(self) -> None:
        """Begin a stream."""
        self.monitor, self.most = Monitor(self.params), 0.0

    def step(self, probs: Array, features: Array, gauges: Array | None = None) -> Answers:
        """Accept what the monitor accepts."""
        found = self.monitor.step(probs, features, gauges=gauges)
        return Answers(found.risk, found.answer, accept=not found.abstain)

    def feedback(self, step: int, label: int) -> None:
        """Pass a label on."""
        self.monitor.feedback(step, label)
        self.most = max(self.most, self.monitor.error_debt / self.params.error_constant)


class Ruled(Told):
    """The same risk, answers and first threshold without `max_error`; a rule moves the threshold."""

    state_bytes = None

    def __init__(self, rule: type[Fixed], memory: int = LATE_BY + 1) -> None:
        super().__init__(memory)
        self.rule, self.name = rule, rule.name

    def start(self) -> None:
        """Begin a stream."""
        assert self.params.feedback is not None
        self.monitor = Monitor(self.params.replace(feedback=None))
        self.moved = self.rule(self.params.feedback.reference, MAX_ERROR)
        self.said: list[Answers] = []

    def step(self, probs: Array, features: Array, gauges: Array | None = None) -> Answers:
        """Accept what is below the threshold."""
        found = self.monitor.step(probs, features, gauges=gauges)
        self.said.append(Answers(found.risk, found.answer, accept=found.risk < self.moved.threshold))
        return self.said[-1]

    def feedback(self, step: int, label: int) -> None:
        """Let the rule learn."""
        then = self.said[step]
        self.moved.told(then.risk, then.answer != label, then.accept)


NAMES = ("fixed", "aci", "aci_fast", "dtaci", "pid", "retuned")
LATE: Mapping[str, Callable[[], Told]] = {
    "tcuq_max_error": Told,
    **{name: partial(Ruled, rule) for name, rule in zip(NAMES, RULES, strict=True)},
}
"""Entries by the name that the command takes."""
