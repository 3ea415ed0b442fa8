"""Beliefs over the classes: a Bayes filter, and a hidden Markov model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import number

from ..detectors.scores import FLOOR, filtered, logs_of, softmax, unsure
from ..harness.types import Outputs
from .method import Answer, Labeled
from .rules import Streaming

REDRAW = 1 / 16
BYTES = 2  # of a class in the state of a device


class Belief(Streaming):
    """A belief over the classes: before each step the class may have changed, then the posterior is heard.

    The class is redrawn, evenly, with a chance of 1 in 16; the belief is multiplied by the posterior plus
    0.01 / L and brought to a sum of 1. The score is 1 less the largest belief.
    """

    name = "belief"
    own_answer = True
    grid: ClassVar[tuple[Mapping[str, Any], ...]] = ({"redraw": REDRAW},)

    def score(self, seen: Outputs, setting: Mapping[str, Any]) -> Answer:
        """Answer with the belief."""
        found = believed(seen, setting)
        return Answer(found, unsure(found))

    def state(self) -> int:
        """Return the bytes of a belief a class."""
        return BYTES * self.body.classes


def redraw_of(setting: Mapping[str, Any], classes: int) -> float:
    """Return the chance of a redraw: as it is given, or of a stream of geometric dwell."""
    if "redraw" in setting:
        return float(setting["redraw"])
    return min(1.0, classes / (float(setting["dwell"]) * (classes - 1)))


class BeliefTold(Belief):
    """The same belief, told how long classes stay, which labels of the development stream say."""

    name = "belief_told"
    grid: ClassVar[tuple[Mapping[str, Any], ...]] = ({"dwell": 16.0},)

    def fit(self, dev: Labeled) -> None:
        """Take the mean run of the true class."""
        self.tell(mean_run(dev))

    def tell(self, dwell: float) -> None:
        """Say how many steps a class stays on average."""
        self.setting = {"dwell": number("dwell", dwell, 1, 1_000_000)}


STAYS: tuple[Mapping[str, Any], ...] = tuple({"dwell": float(stay)} for stay in (20, 1, 2, 4, 8, 16, 64, 256))


class BeliefStay(Belief):
    """The same belief with a fixed stay, the best of eight on a labeled development stream."""

    name = "belief_stay"
    grid: ClassVar[tuple[Mapping[str, Any], ...]] = STAYS


def believed(seen: Outputs, setting: Mapping[str, Any]) -> npt.NDArray[np.float64]:
    """Return the belief over the classes after each step; every segment begins without an opinion."""
    heard, present = stacked(seen)
    return filtered(heard, redraw_of(setting, seen.probs.shape[1]))[present]


def stacked(seen: Outputs) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Return the segments side by side, (K, T, classes), even posteriors after an end, and what is there."""
    pieces, classes = seen.pieces(), seen.probs.shape[1]
    lengths = np.array([each.stop - each.start for each in pieces], dtype=np.int64)
    present = np.arange(lengths.max(initial=0)) < lengths[:, None]
    heard = np.full((*present.shape, classes), 1 / classes)
    heard[present] = seen.probs
    return heard, present


def mean_run(dev: Labeled) -> float:
    """Return the mean number of consecutive steps of one class; steps of none are left out.

    Examples
    --------
    >>> seen = Outputs(np.full((5, 2), 0.5), stretches=np.array([0, 0, 0, 0, 1]))
    >>> mean_run(Labeled(seen, np.array([1, 1, 0, -1, 0]), np.zeros(5, np.uint8)))
    1.3333333333333333
    """
    known, begins = dev.labels >= 0, np.diff(dev.labels, prepend=-1) != 0
    begins[[piece.start for piece in dev.observed.pieces()]] = True
    runs = int((begins & known).sum())
    if not runs:
        raise ValueError("no step of the stream has a class, expected one or more to take the dwell from")
    return float(known.sum() / runs)


ROUNDS, NEAR = 30, 1e-3
"""Rounds of expectation maximization at most; it ends where both logarithms move by less than `NEAR`."""
COOLEST, WARMEST = 0.2, 8.0
"""Temperatures that are looked at."""
NEWTON = 4
"""Steps towards the best temperature in a round."""
LEAST = 1e-4
"""Chance of a switch that is kept at the least: a development stream of one class tells no smaller one."""

Doubles = npt.NDArray[np.float64]


class Hmm(Belief):
    """A hidden Markov model of the class; the answer is its filtered belief.

    The class is redrawn, evenly, with some chance, and the posterior is heard at some temperature. Both are
    learned without labels by expectation maximization (Baum and Welch) on the development stream; posteriors
    stand for likelihoods, so the temperature is the one under which they predict the expected states best.
    """

    name = "hmm"
    grid: ClassVar[tuple[Mapping[str, Any], ...]] = ({"redraw": REDRAW, "temperature": 1.0},)

    def score(self, seen: Outputs, setting: Mapping[str, Any]) -> Answer:
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


def _logs(seen: Outputs) -> tuple[Doubles, npt.NDArray[np.bool_]]:
    heard, present = stacked(seen)
    return np.asarray(logs_of(heard), dtype=np.float64), present


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
