"""Rules over the last outputs of one plain network: votes, means, medians, suppressed answers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from ..detectors.scores import unsure
from .choosing import least_area
from .method import Answer, Floats, Labeled, Method, Observed

if TYPE_CHECKING:
    from .passes import MethodCost

Integers = npt.NDArray[np.int64]

COUNTER = 2
"""Bytes that say where a ring begins and how much of it is filled, for up to 256 places."""


def ages(seen: Observed) -> Integers:
    """Return how many steps of its own segment lie before each step.

    Examples
    --------
    >>> ages(Observed(np.full((4, 2), 0.5), stretches=np.array([7, 7, 7, 3]))).tolist()
    [0, 1, 2, 0]
    """
    found = np.empty(len(seen), dtype=np.int64)
    for piece in seen.pieces():
        found[piece] = np.arange(piece.stop - piece.start)
    return found


def pasts(age: Integers, last: int) -> Iterator[tuple[Integers, Integers]]:
    """Give, for each lag from 1 to `last` - 1, the steps that reach back so far and those they reach.

    Summed lag by lag, a step gets the same wherever its segment lies; running sums do not promise that.

    Examples
    --------
    >>> [(now.tolist(), then.tolist()) for now, then in pasts(np.array([0, 1, 2, 0]), 3)]
    [([1, 2], [0, 1]), ([2], [0])]
    """
    for lag in range(1, last):
        now = np.flatnonzero(age >= lag)
        if not len(now):
            return
        yield now, now - lag


def mean_of_last(values: Floats, age: Integers, last: int) -> npt.NDArray[np.float64]:
    """Return the mean of each step's value and those before it, `last` in all or as many as there are.

    Examples
    --------
    >>> mean_of_last(np.array([4.0, 2.0, 0.0, 6.0]), np.array([0, 1, 2, 0]), 2).tolist()
    [4.0, 3.0, 1.0, 6.0]
    """
    given = values.astype(np.float64)
    total = given.copy()
    for now, then in pasts(age, last):
        total[now] += given[then]
    count = np.minimum(age + 1, last)
    return np.asarray(total / count.reshape(-1, *[1] * (total.ndim - 1)))


class Streaming(Method):
    """A method that adds some memory to one pass of the plain network."""

    @property
    def classes(self) -> int:
        """Number of classes of the network."""
        from ..zoo.outputs import core

        return core(self.network).classes

    @abstractmethod
    def state(self) -> int:
        """Return the bytes that are kept from one step to the next, with the setting that was kept."""

    def stored(self) -> int:
        """Return the constants that a device stores: the numbers of the setting that was kept."""
        return sum(isinstance(value, (int, float)) for value in self.setting.values())

    def cost(self, shape: tuple[int, ...]) -> MethodCost:
        """Return one pass of the plain network, the constants and the memory."""
        from .passes import counted

        return counted(self.loaded(), shape, stored=self.stored(), state=self.state())


TIE = 0.02
"""Weight of 1 - max p below the step between two shares of up to 49 votes: it orders equal votes alone."""


class Vote(Streaming):
    """Share of the last predictions that differ from the current one.

    Settings: `last`, the predictions that vote, the current one among them; `weight`, how much 1 - max p adds
    to the share. A vote knows few values, so a small weight orders equal ones; a weight of 1 sums both.
    """

    name = "vote"
    grid: ClassVar[tuple[Mapping[str, Any], ...]] = (
        *({"last": last, "weight": TIE} for last in (1, 3, 5, 9, 17)),
        *({"last": last, "weight": 1.0} for last in (5, 9, 17)),
    )

    def score(self, seen: Observed, setting: Mapping[str, Any]) -> Answer:
        """Answer with the network's own posteriors and the share that disagrees."""
        age, predictions = ages(seen), seen.probs.argmax(axis=1)
        against = np.zeros(len(seen))
        for now, then in pasts(age, setting["last"]):
            against[now] += predictions[then] != predictions[now]
        share = against / np.minimum(age + 1, setting["last"])
        return Answer(seen.probs, share + setting["weight"] * unsure(seen.probs))

    def state(self) -> int:
        """Return the bytes of a ring of predictions."""
        size = 1 if self.classes <= 256 else 2
        return int(self.setting["last"] - 1) * size + COUNTER


LASTS = (1, 2, 3, 4, 6, 8, 16, 32)


class MeanPosterior(Streaming):
    """1 - the mean of the last posteriors at the answered class.

    Settings: `last`, the posteriors averaged, the current one among them; `answer`, whether the answer is
    that of the network ("own") or of the mean ("mean").
    """

    name = "mean_posterior"
    grid: ClassVar[tuple[Mapping[str, Any], ...]] = tuple({"last": last, "answer": "own"} for last in LASTS)

    def score(self, seen: Observed, setting: Mapping[str, Any]) -> Answer:
        """Answer with the network's posteriors, or with their means."""
        mean = mean_of_last(seen.probs, ages(seen), setting["last"])
        if setting["answer"] == "mean":
            return Answer(mean, unsure(mean))
        return Answer(seen.probs, unsure(mean, seen.probs.argmax(axis=1)))

    def state(self) -> int:
        """Return the bytes of a ring of 8-bit posteriors."""
        return int(self.setting["last"] - 1) * self.classes + COUNTER


class MeanAnswer(MeanPosterior):
    """The same mean, which also names the answer."""

    name = "mean_answer"
    grid: ClassVar[tuple[Mapping[str, Any], ...]] = tuple({"last": last, "answer": "mean"} for last in LASTS)

    def fit(self, dev: Labeled) -> None:
        """Keep the setting with the least area under risk and coverage."""
        self.setting = least_area(self, dev)


class Median(Streaming):
    """Median of 1 - max p over the last steps, the current one among them: `last` in the setting."""

    name = "median"
    grid: ClassVar[tuple[Mapping[str, Any], ...]] = tuple(
        {"last": last} for last in (1, 3, 5, 7, 9, 13, 17, 33)
    )

    def score(self, seen: Observed, setting: Mapping[str, Any]) -> Answer:
        """Answer with the network's own posteriors and the median."""
        age, values = ages(seen), unsure(seen.probs)
        # What is not there sorts to the end, and the middle is counted from the beginning.
        window = np.full((len(seen), setting["last"]), np.inf)
        window[:, 0] = values
        for lag, (now, then) in enumerate(pasts(age, setting["last"]), 1):
            window[now, lag] = values[then]
        window.sort(axis=1)
        count, every = np.minimum(age + 1, setting["last"]), np.arange(len(seen))
        return Answer(seen.probs, (window[every, (count - 1) // 2] + window[every, count // 2]) / 2)

    def state(self) -> int:
        """Return the bytes of a ring of 8-bit scores."""
        return int(self.setting["last"] - 1) + COUNTER


THRESHOLD = 0.7
"""Averaged confidence from which a detection counts; what is usual, not tuned."""


class Detections(NamedTuple):
    """Steps at which a prediction is reported, and those at which it would be but for the silence."""

    fired: npt.NDArray[np.bool_]
    suppressed: npt.NDArray[np.bool_]


class Suppress(Streaming):
    """1 - max p averaged over the last steps; reports are spaced.

    Settings: `last`, the steps averaged, the current one among them; `threshold`, the averaged confidence at
    which a prediction is reported; `silence`, the steps after a report in which the same one is not reported
    again. The score does not depend on the last two.
    """

    name = "suppress"
    grid: ClassVar[tuple[Mapping[str, Any], ...]] = tuple(
        {"last": last, "threshold": THRESHOLD, "silence": 2 * last} for last in (1, 2, 3, 4, 6, 8, 16, 32)
    )

    def score(self, seen: Observed, setting: Mapping[str, Any]) -> Answer:
        """Answer with the network's own posteriors and the averaged doubt, during silence too."""
        return Answer(seen.probs, mean_of_last(unsure(seen.probs), ages(seen), setting["last"]))

    def decisions(self, seen: Observed) -> Detections:
        """Return what would be reported, with the setting that was kept."""
        found = self.answer(seen)
        sure = 1.0 - found.score >= self.setting["threshold"]
        predictions = found.predictions().tolist()
        fired = np.zeros(len(seen), dtype=bool)
        for piece in seen.pieces():
            reported, since = -1, 0
            for step in (np.flatnonzero(sure[piece]) + piece.start).tolist():
                if predictions[step] != reported or step - since > self.setting["silence"]:
                    fired[step], reported, since = True, predictions[step], step
        return Detections(fired, sure & ~fired)

    def state(self) -> int:
        """Return the bytes of a ring of 8-bit scores, the prediction reported (2) and the steps since (2)."""
        return int(self.setting["last"] - 1) + COUNTER + 4


LAST = 8
NUDGE = 1e-6
"""Added to the newest vote, half of it to the one before, and so on: it decides ties alone."""


class Vote8(Vote):
    """Answers with the majority of the last eight predictions; of equal ones, with the one seen latest.

    The score is the share of votes against the answer; 1 less the current posterior of the answer orders
    equal shares.
    """

    name = "vote_8"
    grid: ClassVar[tuple[Mapping[str, Any], ...]] = ({"last": LAST, "weight": TIE},)

    def score(self, seen: Observed, setting: Mapping[str, Any]) -> Answer:
        """Answer with the shares of the votes."""
        age, predictions, every = ages(seen), seen.probs.argmax(axis=1), np.arange(len(seen))
        votes = np.zeros(seen.probs.shape)
        votes[every, predictions] = 1 + NUDGE
        for lag, (now, then) in enumerate(pasts(age, setting["last"]), 1):
            votes[now, predictions[then]] += 1 + NUDGE / 2**lag
        chosen = votes.argmax(axis=1)
        count = np.minimum(age + 1, setting["last"])
        against = 1 - np.floor(votes[every, chosen]) / count
        shares = votes / votes.sum(axis=1, keepdims=True)
        return Answer(shares, against + setting["weight"] * unsure(seen.probs, chosen))


class Mean8(MeanAnswer):
    """Answers with the mean of the last eight posteriors; the score is 1 less its largest value."""

    name = "mean_8"
    grid: ClassVar[tuple[Mapping[str, Any], ...]] = ({"last": LAST, "answer": "mean"},)
