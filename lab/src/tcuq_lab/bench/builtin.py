"""Methods of the lab as entries of the benchmark."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

import tcuq
from tcuq.base.checks import known
from tcuq.log.log import Log
from tcuq.monitor.monitor import run_over

from ..methods.belief import Belief, BeliefTold, Hmm
from ..methods.confidence import ConfidenceNorm, Entropy
from ..methods.method import Labeled, Method, Observed
from ..methods.rules import Mean8, MeanAnswer, Vote8
from ..reproduce.field.alarming.limits import candidates, find_limit
from .alarms import ALARMS
from .entry import Entry, entry_of
from .interface import ASKED, Dev, Said, Stream

Doubles = npt.NDArray[np.float64]


class Adapted:
    """A method of `tcuq_lab.methods` that scores the outputs of the plain network.

    Subclasses name it.
    """

    kind: ClassVar[type[Method]]
    uses_labels: ClassVar[bool]

    def __init__(self) -> None:
        self.inner = self.kind()

    def fit(self, dev: Dev) -> None:
        """Tune it where there are labels; rules with nothing to tune see none."""
        if self.uses_labels:
            assert dev.labels is not None and dev.shifted is not None
            seen = Observed(dev.probs, dev.features, segments=dev.stretches)
            self.inner.fit(Labeled(seen, dev.labels, dev.shifted))

    def watch(self, stream: Stream) -> Said:
        """Return its score and its class."""
        found = self.inner.answer(Observed(stream.probs, stream.features))
        return Said(found.score, found.predictions())


class Learned(Adapted):
    """An HMM whose switch rate and temperature are learned from the development stream without labels."""

    name = "HMM, learned without labels"
    kind = Hmm
    uses_labels = False
    state_bytes = 20

    def fit(self, dev: Dev) -> None:
        """Learn from what is observed."""
        seen = Observed(dev.probs, dev.features, segments=dev.stretches)
        self.inner.fit(Labeled(seen, np.full(len(dev), -1), np.zeros(len(dev), np.uint8)))


class Confidence:
    """1 less the largest posterior: what every method is compared with."""

    name = "confidence"
    uses_labels = False
    state_bytes = 0

    def watch(self, stream: Stream) -> Said:
        """Return the doubt of each step."""
        return Said(_doubt(stream.probs))


class Tcuq:
    """What `tcuq.fit` makes of labeled development data by default, speaking of its answer."""

    name = "tcuq"
    uses_labels = True
    params: tcuq.Params

    def fit(self, dev: Dev) -> None:
        """Fit a monitor."""
        log = Log(dev.probs, dev.features, dev.labels, dev.stretches, dev.shifted)
        self.params = tcuq.fit(log, run_length=ASKED, force=True, options=tcuq.FitOptions(explain=False))

    @property
    def state_bytes(self) -> int:
        """Bytes that the core keeps between steps."""
        return self.params.state_bytes

    def watch(self, stream: Stream) -> Said:
        """Run a fresh monitor."""
        steps = run_over(tcuq.Monitor(self.params), Log(stream.probs, stream.features))
        accuracy = steps["expected_accuracy"]  # unknown to a monitor that was fitted without labels
        return Said(
            steps["risk"],
            steps["answer"],
            steps["alarm"] > 0,
            None if np.isnan(accuracy).any() else accuracy,
        )


class TcuqNoLabels(Tcuq):
    """The same, fitted without labels: to an unlabeled stream and a clean log."""

    name = "tcuq, no labels"
    uses_labels = False

    def fit(self, dev: Dev) -> None:
        """Fit a monitor."""
        clean = Log(dev.clean.probs, dev.clean.features, segments=dev.clean.stretches)
        log = Log(dev.probs, dev.features, segments=dev.stretches)
        self.params = tcuq.fit(log, clean=clean, run_length=ASKED, options=tcuq.FitOptions(explain=False))


class BeliefPaces:
    """Bayes filters of the class, one a pace, each weighted by how well it has predicted of late.

    A filter expects a new class with a chance of 1, 1/2, 1/4, 1/16 or 1/64; the first of them is confidence.
    One percent of the weights is shared evenly at each step, so that the pace may change.
    """

    name = "belief, five paces"
    uses_labels = False
    state_bytes = 5 * 2 * 10 + 5 * 2  # beliefs of ten classes and the weights, 16 bits each
    redraws = np.array([1, 1 / 2, 1 / 4, 1 / 16, 1 / 64])[:, None]
    shared, floor = 0.01, 0.01

    def watch(self, stream: Stream) -> Said:
        """Answer with the mean belief."""
        paces, classes = len(self.redraws), stream.probs.shape[1]
        heard = stream.probs.astype(np.float64) + self.floor / classes
        beliefs, weights = np.full((paces, classes), 1 / classes), np.full(paces, 1 / paces)
        mixed = np.empty(heard.shape)
        for step, each in enumerate(heard):
            beliefs = (beliefs * (1 - self.redraws) + self.redraws / classes) * each
            predicted = beliefs.sum(axis=1)
            beliefs /= predicted[:, None]
            weights = (weights * (1 - self.shared) + self.shared / paces) * predicted
            weights /= weights.sum()
            mixed[step] = weights @ beliefs
        return Said(1 - mixed.max(axis=1), mixed.argmax(axis=1))


class WindowedMean:
    """Confidence; means of the last 64 doubts and 200 confidences give alarm and accuracy."""

    name = "confidence, windowed mean"
    uses_labels = False
    state_bytes = 64 + 200
    last, horizon = 64, 200
    limit: float

    def fit(self, dev: Dev) -> None:
        """Find the limit on clean data."""
        doubts = _doubt(dev.clean.probs)
        self.limit = limit_for([self._statistic(doubts[piece]) for piece in dev.clean.pieces()])

    def watch(self, stream: Stream) -> Said:
        """Compare the mean with the limit."""
        doubts = _doubt(stream.probs)
        return Said(
            doubts, alarm=self._statistic(doubts) > self.limit, accuracy=1 - _means(doubts, self.horizon)
        )

    def _statistic(self, doubts: Doubles) -> Doubles:
        found = _means(doubts, self.last)
        found[: self.last - 1] = 0.0  # a window that is not full says nothing
        return found


class Cusum(WindowedMean):
    """Confidence, with a sum of doubts above their clean mean as alarm; the sum cannot exceed two limits."""

    name = "confidence, CUSUM"
    state_bytes = 4 + 200
    center: float
    slack: float

    def fit(self, dev: Dev) -> None:
        """Find mean, slack (half a standard deviation) and limit on clean data."""
        doubts = _doubt(dev.clean.probs)
        self.center, self.slack, self.limit = float(doubts.mean()), float(doubts.std()) / 2, np.inf
        super().fit(dev)

    def _statistic(self, doubts: Doubles) -> Doubles:
        found, total = np.empty(len(doubts)), 0.0
        for step, each in enumerate((doubts - self.center - self.slack).tolist()):
            total = min(max(0.0, total + each), 2 * self.limit)
            found[step] = total
        return found


def limit_for(runs: Sequence[Doubles], asked: int = ASKED) -> float:
    """Return the lowest limit that clean runs exceed in at most one false alarm in `asked` steps.

    False alarms are counted as they are scored, see `tcuq_lab.reproduce.field.alarming.counting`.

    Examples
    --------
    >>> limit_for([np.repeat([0.0, 3.0, 0.0, 2.0], 60)], asked=240)  # above 2 once, above 0 twice
    2.0
    """
    inside = np.arange(max(map(len, runs))) < np.array([len(run) for run in runs])[:, None]
    values = np.full(inside.shape, -np.inf)
    values[inside] = np.concatenate(runs)
    return find_limit(
        lambda limits: np.asarray(values[None] > limits[:, None, None]),
        candidates(values[inside]),
        inside,
        asked,
    )


def _doubt(probs: npt.NDArray[Any]) -> Doubles:
    return np.asarray(1.0 - probs.max(axis=1).astype(np.float64))


def _means(values: Doubles, last: int) -> Doubles:
    """Return the mean of the last values of each step, or of as many as there are."""
    sums = np.concatenate([[0.0], np.cumsum(values)])
    ends = np.arange(1, len(values) + 1)
    starts = np.maximum(0, ends - last)
    return np.asarray((sums[ends] - sums[starts]) / (ends - starts))


def _adapted(title: str, of: type[Method], labels: bool, state: int | None) -> type[Adapted]:
    more = {"name": title, "kind": of, "uses_labels": labels, "state_bytes": state}
    return type(of.__name__, (Adapted,), more)


BUILT_IN: Mapping[str, Any] = MappingProxyType(
    {
        "confidence": Confidence,
        "entropy": _adapted("entropy", Entropy, False, 0),
        "vote_8": _adapted("vote of 8", Vote8, False, 10),
        "mean_8": _adapted("mean of 8", Mean8, False, 82),
        "belief": _adapted("belief", Belief, False, 20),
        "belief_paces": BeliefPaces,
        "hmm": Learned,
        "windowed_mean": WindowedMean,
        "cusum": Cusum,
        "tcuq_no_labels": TcuqNoLabels,
        "confidence_norm": _adapted("confidence and feature norm", ConfidenceNorm, True, 0),
        "mean_answer": _adapted("mean posterior, tuned", MeanAnswer, True, None),
        "belief_told": _adapted("belief, dwell learned from labels", BeliefTold, True, 20),
        **ALARMS,
        "tcuq": Tcuq,
    }
)
"""Classes by the name that the command takes."""


def built_in(name: str) -> Entry:
    """Return a built-in method.

    Examples
    --------
    >>> built_in("confidnce")
    Traceback (most recent call last):
    ...
    tcuq.InputError: method 'confidnce' is unknown; did you mean confidence? (a file of yours ends in .py)
    """
    kind = BUILT_IN[known("method", name, BUILT_IN, hint=" (a file of yours ends in .py)")]
    code = inspect.getsourcefile(getattr(kind, "kind", kind))
    assert code is not None
    path = Path(code)
    source = "/".join(path.parts[path.parts.index("tcuq_lab") :])
    return entry_of(kind, source, hashlib.sha256(path.read_bytes()).hexdigest(), name)
