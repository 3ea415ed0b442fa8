"""HMM: a belief whose pace and temperature are learned from a stream without labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ..method import Answer, Labeled, Observed
from ..scores import softmax, unsure
from .belief import FLOOR, REDRAW, Belief, filtered, stacked

ROUNDS, NEAR = 30, 1e-3
"""Rounds of expectation maximization at most; it ends where both logarithms move by less than `NEAR`."""
COOLEST, WARMEST = 0.2, 8.0
"""Temperatures that are looked at."""
NEWTON = 4
"""Steps towards the best temperature in a round."""
SMALLEST = 1e-30
"""Of a posterior whose logarithm is taken."""
LEAST = 1e-4
"""Chance of a switch that is kept at the least: a development stream of one class tells no smaller one."""

Doubles = npt.NDArray[np.float64]


class Hmm(Belief):
    """A hidden Markov model of the class; the answer is its filtered belief.

    The class is redrawn, evenly, with some chance at each step; what is heard is the posterior at some
    temperature. Both numbers are learned by expectation maximization (Baum and Welch) on the development
    stream, whose labels are not read: states and switches are expected from the whole stream, then
    the chance is the share of expected redraws, and the temperature the one under which posteriors
    predict the expected states best. That is a generalized step: posteriors stand for likelihoods, so the
    likelihood of the stream under a temperature is not known.
    """

    name = "hmm"
    grid: ClassVar[tuple[Mapping[str, Any], ...]] = ({"redraw": REDRAW, "temperature": 1.0},)

    def score(self, seen: Observed, setting: Mapping[str, Any]) -> Answer:
        """Answer with the belief."""
        logs, present = _logs(seen)
        found = filtered(softmax(logs, setting["temperature"]), float(setting["redraw"]))[present]
        return Answer(found, unsure(found))

    def fit(self, dev: Labeled) -> None:
        """Learn from what is observed."""
        logs, present = _logs(dev.observed)
        redraw, temperature = REDRAW, 1.0
        for _ in range(ROUNDS):
            states, redrawn = expected(softmax(logs, temperature), redraw)
            later = present.copy()
            later[:, 0] = False
            before = np.log([redraw, temperature])
            redraw = float(np.clip(redrawn[later].mean() if later.any() else redraw, LEAST, 1.0))
            temperature = best_temperature(logs[present], states[present], temperature)
            if np.abs(np.log([redraw, temperature]) - before).max() < NEAR:
                break
        self.setting = {"redraw": redraw, "temperature": temperature}


def _logs(seen: Observed) -> tuple[Doubles, npt.NDArray[np.bool_]]:
    heard, present = stacked(seen)
    return np.log(np.maximum(heard, SMALLEST)), present


def expected(heard: npt.NDArray[Any], redraw: float) -> tuple[Doubles, Doubles]:
    """Return the expected states of whole streams, and the chance that the class was redrawn at each step."""
    classes = heard.shape[2]
    given = np.ascontiguousarray(heard.transpose(1, 0, 2), dtype=np.float64) + FLOOR / classes
    before = filtered(heard, redraw).transpose(1, 0, 2)
    states, redrawn = np.empty(given.shape), np.zeros(given.shape[:2])
    back, even = np.ones(given.shape[1:]), redraw / classes
    for step in range(len(given) - 1, -1, -1):
        states[step] = before[step] * back
        if step:
            ahead = given[step] * back
            total = even * ahead.sum(axis=1)
            scale = ((1 - redraw) * before[step - 1] * ahead).sum(axis=1) + total
            redrawn[step] = total / scale
            back = ((1 - redraw) * ahead + total[:, None]) / scale[:, None]
    return states.transpose(1, 0, 2), redrawn.T


def best_temperature(logs: Doubles, states: Doubles, temperature: float) -> float:
    """Return the temperature under which posteriors predict states best; convex in its inverse.

    Examples
    --------
    >>> posteriors = np.array([[0.9, 0.1], [0.8, 0.2]])
    >>> round(best_temperature(2 * np.log(posteriors), posteriors, 1.0), 3)
    2.0
    """
    wanted, inverse = float((states * logs).sum()), 1 / temperature
    for _ in range(NEWTON):
        said = softmax(logs, 1 / inverse)
        mean = (said * logs).sum(axis=1)
        curve = float((said * np.square(logs - mean[:, None])).sum())
        move = (wanted - float(mean.sum())) / max(curve, 1e-12)
        inverse = float(np.clip(inverse + np.clip(move, -inverse / 2, inverse), 1 / WARMEST, 1 / COOLEST))
    return 1 / inverse
