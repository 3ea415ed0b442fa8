"""BELIEF: a Bayes filter of the class, which answers with the class that it believes in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import number

from ..method import Answer, Labeled, Observed
from ..scores import unsure
from .streaming import Streaming

FLOOR = 0.01
"""Shared evenly among the classes and added to a posterior, so that one sure mistake rules nothing out."""
REDRAW = 1 / 16
BYTES = 2  # of a class in the state of a device


class Belief(Streaming):
    """A belief over the classes: before each step the class may have changed, then the posterior is heard.

    The class is redrawn, evenly, with a chance of 1 in 16; the belief is multiplied by the posterior plus
    0.01 / L and brought to a sum of 1. Its class is the one believed in most, its score 1 less that belief.
    Nothing is tuned, and nothing is told.
    """

    name = "belief"
    grid: ClassVar[tuple[Mapping[str, Any], ...]] = ({"redraw": REDRAW},)

    def score(self, seen: Observed, setting: Mapping[str, Any]) -> Answer:
        """Answer with the belief."""
        found = beliefs(seen, self._redraw(setting, seen.probs.shape[1]))
        return Answer(found, unsure(found))

    def fit(self, dev: Labeled) -> None:
        """Keep the one setting that there is."""

    def state(self) -> int:
        """Return the bytes of a belief a class."""
        return BYTES * self.classes

    def _redraw(self, setting: Mapping[str, Any], classes: int) -> float:
        return float(setting["redraw"])


class BeliefTold(Belief):
    """The same belief, told how long classes stay: an upper bound for what nobody tells.

    The class is redrawn with a chance of min(1, L / (dwell (L - 1))), as streams of geometric dwell do.
    `fit` takes the dwell from the labels of the development stream; `tell` gives another.
    """

    name = "belief_told"
    grid: ClassVar[tuple[Mapping[str, Any], ...]] = ({"dwell": 16.0},)

    def fit(self, dev: Labeled) -> None:
        """Take the mean run of the true class."""
        self.tell(mean_run(dev))

    def tell(self, dwell: float) -> None:
        """Say how many steps a class stays on average."""
        self.setting = {"dwell": number("dwell", dwell, 1, 1_000_000)}

    def _redraw(self, setting: Mapping[str, Any], classes: int) -> float:
        return min(1.0, classes / (float(setting["dwell"]) * (classes - 1)))


def beliefs(seen: Observed, redraw: float) -> npt.NDArray[np.float64]:
    """Return the belief over the classes after each step; every segment begins without an opinion.

    Examples
    --------
    >>> steady = Observed(np.array([[0.8, 0.2], [0.8, 0.2]]))
    >>> beliefs(steady, 1.0).round(3).tolist(), beliefs(steady, 0.0).round(3).tolist()
    ([[0.797, 0.203], [0.797, 0.203]], [[0.797, 0.203], [0.939, 0.061]])
    """
    heard, present = stacked(seen)
    return filtered(heard, redraw)[present]


def stacked(seen: Observed) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Return the segments side by side, (K, T, classes), even posteriors after an end, and what is there."""
    pieces, classes = seen.pieces(), seen.probs.shape[1]
    lengths = np.array([each.stop - each.start for each in pieces], dtype=np.int64)
    present = np.arange(lengths.max(initial=0)) < lengths[:, None]
    heard = np.full((*present.shape, classes), 1 / classes)
    heard[present] = seen.probs
    return heard, present


def filtered(heard: npt.NDArray[Any], redraw: float) -> npt.NDArray[np.float64]:
    """Return the beliefs of K streams of as many steps, (K, T, classes)."""
    classes = heard.shape[2]
    given = np.ascontiguousarray(heard.transpose(1, 0, 2), dtype=np.float64) + FLOOR / classes
    found, even = np.empty(given.shape), redraw / classes
    now = np.full(given.shape[1:], 1 / classes)
    for step, each in enumerate(given):
        now = (now * (1 - redraw) + even) * each
        now /= now.sum(axis=1, keepdims=True)
        found[step] = now
    return found.transpose(1, 0, 2)


def mean_run(dev: Labeled) -> float:
    """Return the mean number of consecutive steps of one class; steps of none are left out.

    Examples
    --------
    >>> seen = Observed(np.full((5, 2), 0.5), segments=np.array([0, 0, 0, 0, 1]))
    >>> mean_run(Labeled(seen, np.array([1, 1, 0, -1, 0]), np.zeros(5, np.uint8)))
    1.3333333333333333
    """
    known = dev.labels >= 0
    begins = np.ones(len(dev.labels), dtype=np.bool_)
    begins[1:] = dev.labels[1:] != dev.labels[:-1]
    for piece in dev.observed.pieces():
        begins[piece.start] = True
    runs = int((begins & known).sum())
    if not runs:
        raise ValueError("no step of the stream has a class, expected one or more to take the dwell from")
    return float(known.sum() / runs)
