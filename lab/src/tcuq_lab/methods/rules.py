"""Rules over the last outputs of one plain network: votes, means, medians, suppressed answers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.metrics.inputs import Ints

from ..detectors.scores import unsure
from ..harness.declare import grid as every
from ..harness.types import Outputs
from ..metrics.drops import ages
from .method import Answer, Floats, Method

COUNTER = 2
"""Bytes that say where a ring begins and how much of it is filled, for up to 256 places."""


def pasts(age: Ints, last: int) -> Iterator[tuple[Ints, Ints]]:
    """Give each lag's steps and those they reach: a sum lag by lag is the same wherever a segment lies."""
    for lag in range(1, last):
        now = np.flatnonzero(age >= lag)
        if not len(now):
            return
        yield now, now - lag


def mean_of_last(values: Floats, age: Ints, last: int) -> npt.NDArray[np.float64]:
    """Return the mean of each step's value and those before it, `last` in all or as many as there are."""
    given = values.astype(np.float64)
    total = given.copy()
    for now, then in pasts(age, last):
        total[now] += given[then]
    count = np.minimum(age + 1, last)
    return np.asarray(total / count.reshape(-1, *[1] * (total.ndim - 1)))


class Streaming(Method):
    """A method that adds some memory to one pass of the plain network."""

    @abstractmethod
    def state(self) -> int:
        """Return the bytes that are kept from one step to the next, with the setting that was kept."""

    def stored(self) -> int:
        """Return the constants that a device stores: the numbers of the setting that was kept."""
        return sum(isinstance(value, (int, float)) for value in self.setting.values())

    @property
    def needs(self) -> Mapping[str, Any]:
        """Store the constants, and keep the memory."""
        return {"stored": self.stored(), "state": self.state()}


class Ring(Streaming):
    """A rule over the last steps, the current one among them: `last` in the setting."""

    def entry(self) -> int:
        """Return the bytes that are kept of a step."""
        return 1

    def state(self) -> int:
        """Return the bytes of a ring."""
        return int(self.setting["last"] - 1) * self.entry() + COUNTER

    def ages(self, seen: Outputs) -> Ints:
        """Return how many steps of its own segment lie before each step."""
        return ages(len(seen), seen.stretches)


TIE = 0.02
"""Weight of 1 - max p below the step between two shares of up to 49 votes: it orders equal votes alone."""


class Vote(Ring):
    """Share of the last predictions that differ from the current one, and a `weight` of 1 - max p."""

    name = "vote"
    grid = (
        *every(last=(1, 3, 5, 9, 17), weight=(TIE,)),
        *every(last=(5, 9, 17), weight=(1.0,)),
    )

    def score(self, seen: Outputs, setting: Mapping[str, Any]) -> Answer:
        """Answer with the network's own posteriors and the share that disagrees."""
        age, predictions = self.ages(seen), seen.probs.argmax(axis=1)
        against = np.zeros(len(seen))
        for now, then in pasts(age, setting["last"]):
            against[now] += predictions[then] != predictions[now]
        share = against / np.minimum(age + 1, setting["last"])
        return Answer(seen.probs, share + setting["weight"] * unsure(seen.probs))

    def entry(self) -> int:
        """Return the bytes of a prediction."""
        return 1 if self.body.classes <= 256 else 2


LASTS = (1, 2, 3, 4, 6, 8, 16, 32)


class MeanPosterior(Ring):
    """1 - the mean of the last posteriors at the answer, that of the network or of the mean itself."""

    name = "mean_posterior"
    grid = every(last=LASTS, answer=("own",))

    def score(self, seen: Outputs, setting: Mapping[str, Any]) -> Answer:
        """Answer with the network's posteriors, or with their means."""
        mean = mean_of_last(seen.probs, self.ages(seen), setting["last"])
        if setting["answer"] == "mean":
            return Answer(mean, unsure(mean))
        return Answer(seen.probs, unsure(mean, seen.probs.argmax(axis=1)))

    def entry(self) -> int:
        """Return the bytes of an 8-bit posterior."""
        return self.body.classes


class MeanAnswer(MeanPosterior):
    """The same mean, which also names the answer."""

    name = "mean_answer"
    own_answer = True
    grid = every(last=LASTS, answer=("mean",))


class Median(Ring):
    """Median of 1 - max p over the last steps."""

    name = "median"
    grid = every(last=(1, 3, 5, 7, 9, 13, 17, 33))

    def score(self, seen: Outputs, setting: Mapping[str, Any]) -> Answer:
        """Answer with the network's own posteriors and the median."""
        age, values = self.ages(seen), unsure(seen.probs)
        # What is not there sorts to the end, and the middle is counted from the beginning.
        window = np.full((len(seen), setting["last"]), np.inf)
        window[:, 0] = values
        for lag, (now, then) in enumerate(pasts(age, setting["last"]), 1):
            window[now, lag] = values[then]
        window.sort(axis=1)
        count, every = np.minimum(age + 1, setting["last"]), np.arange(len(seen))
        return Answer(seen.probs, (window[every, (count - 1) // 2] + window[every, count // 2]) / 2)


THRESHOLD = 0.7
"""Averaged confidence from which a detection counts; what is usual, not tuned."""


class Suppress(Ring):
    """1 - max p averaged over the last steps, where a device spaces its reports.

    `threshold` is the averaged confidence at which it reports a prediction, `silence` the steps after
    a report in which it does not report the same one again. The score does not depend on them.
    """

    name = "suppress"
    grid = tuple({"last": last, "threshold": THRESHOLD, "silence": 2 * last} for last in LASTS)

    def score(self, seen: Outputs, setting: Mapping[str, Any]) -> Answer:
        """Answer with the network's own posteriors and the averaged doubt, during silence too."""
        return Answer(seen.probs, mean_of_last(unsure(seen.probs), self.ages(seen), setting["last"]))

    def state(self) -> int:
        """Return the bytes of a ring of scores, of the prediction reported (2) and of the steps since (2)."""
        return super().state() + 4


LAST = 8
NUDGE = 1e-6
"""Added to the newest vote, half of it to the one before, and so on: it decides ties alone."""


class Vote8(Vote):
    """Answers with the majority of the last eight predictions; of equal ones, with the one seen latest."""

    name = "vote_8"
    own_answer = True
    grid = every(last=(LAST,), weight=(TIE,))

    def score(self, seen: Outputs, setting: Mapping[str, Any]) -> Answer:
        """Answer with the shares of the votes."""
        age, predictions, every = self.ages(seen), seen.probs.argmax(axis=1), np.arange(len(seen))
        votes = np.zeros(seen.probs.shape)
        votes[every, predictions] = 1 + NUDGE
        for lag, (now, then) in enumerate(pasts(age, setting["last"]), 1):
            votes[now, predictions[then]] += 1 + NUDGE / 2**lag
        chosen = votes.argmax(axis=1)
        count = np.minimum(age + 1, setting["last"])
        against = 1 - np.floor(votes[every, chosen]) / count
        shares = votes / votes.sum(axis=1, keepdims=True)
        return Answer(shares, against + setting["weight"] * unsure(seen.probs, chosen))

    def prediction_risk(self, seen: Outputs, found: Answer) -> npt.NDArray[np.float64]:
        """Return the share of votes against the network's own class, ties ordered as those of the answer."""
        return np.asarray(Vote.score(self, seen, self.setting).score, dtype=np.float64)


class Mean8(MeanAnswer):
    """Answers with the mean of the last eight posteriors; the score is 1 less its largest value."""

    name = "mean_8"
    grid = every(last=(LAST,), answer=("mean",))
