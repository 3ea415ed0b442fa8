"""Methods of the benchmark before they are fitted: built in, or loaded from a file."""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

import tcuq
from tcuq.base.checks import integer, known, nearest
from tcuq.monitor.monitor import run_over

from ..detectors.alarm import RIVALS, Alarm
from ..harness.checks import Broken, Entry, blamed
from ..harness.types import ASKED, Answers, Dev, Outputs, doubt
from ..methods.belief import Belief, BeliefStay, BeliefTold, Hmm
from ..methods.confidence import ConfidenceNorm, Entropy, Stacked
from ..methods.method import HORIZON, Labeled, Method, Scored, causal_mean
from ..methods.rules import Mean8, MeanAnswer, Vote8
from ..methods.tcuq import fitted
from ..metrics.alarms import candidates, find_limit
from .late import LATE
from .results import LONGEST, is_name

HINT = "define a class Method with watch(self, stream) or step(self, probs, features)"


def entry_of(kind: Any, source: str, sha256: str, place: str) -> Entry:
    """Return the entry of a class."""
    if not (callable(getattr(kind, "watch", None)) or callable(getattr(kind, "step", None))):
        raise Broken(f"{place}: Method has neither watch nor step; {HINT}")
    told = callable(getattr(kind, "feedback", None))
    if told and not callable(getattr(kind, "step", None)):
        raise Broken(f"{place}: Method has feedback but no step; define step(self, probs, features)")
    fits = callable(getattr(kind, "fit", None))
    uses_labels = getattr(kind, "uses_labels", fits)
    if not isinstance(uses_labels, bool):
        raise Broken(f"{place}: uses_labels is {uses_labels!r}, expected True or False")
    with blamed(place, "passes"):
        passes = integer("passes", getattr(kind, "passes", 1), 1, 1000)
    name = getattr(kind, "name", Path(place).stem)
    if not is_name(name):
        raise Broken(f"{place}: name is {name!r}, expected a text of up to {LONGEST} characters without |")
    return Entry(kind, name.strip(), uses_labels and fits, passes, source, sha256, place, told)


def load_entry(path: str | Path) -> Entry:
    """Return the method that a Python file defines."""
    place = Path(path)
    try:
        data = place.read_bytes()
    except FileNotFoundError:
        near = near_file(place)
        if near is None:
            raise
        raise Broken(f"{place}: no such file; did you mean {near}?") from None
    spec = importlib.util.spec_from_file_location(f"tcuq_bench_{place.stem}", place)
    if spec is None or spec.loader is None:
        raise Broken(f"{place} is no Python file, expected a name that ends in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses and pickle look there for the module of a class
    with blamed(str(place), "import"):
        spec.loader.exec_module(module)
    kind = getattr(module, "Method", None)
    if kind is None and callable(getattr(module, "watch", None)):
        kind = type("Method", (), {"watch": staticmethod(module.watch), "name": place.stem})
    if not isinstance(kind, type):
        raise Broken(f"{place}: no class Method; {HINT}")
    return entry_of(kind, place.name, hashlib.sha256(data).hexdigest(), str(place))


def near_file(place: Path) -> Path | None:
    """Return the Python file of the same folder whose name is nearly the one asked for, if there is one."""
    names = [each.name for each in place.parent.glob("*.py")]
    found = nearest(place.name, names)
    return None if found is None else place.with_name(found)


Doubles = npt.NDArray[np.float64]


class Adapted(Scored):
    """A method of `tcuq_lab.methods` that scores the outputs of the plain network; subclasses name it."""

    kind: ClassVar[type[Method]]
    uses_labels: ClassVar[bool]

    def __init__(self) -> None:
        super().__init__(self.kind)

    def fit(self, dev: Dev) -> None:
        """Tune it where there are labels; rules with nothing to tune see none."""
        if self.uses_labels:
            super().fit(dev)


class Learned(Adapted):
    """An HMM whose switch rate and temperature are learned from the development stream without labels."""

    name = "HMM, learned without labels"
    kind = Hmm
    uses_labels = False
    state_bytes = 20

    def fit(self, dev: Dev) -> None:
        """Learn from what is observed."""
        self.method.fit(Labeled(dev.outputs(), np.full(len(dev), -1), np.zeros(len(dev), np.uint8)))


class Confidence:
    """1 less the largest posterior: what every method is compared with."""

    name = "confidence"
    uses_labels = False
    state_bytes = 0

    def watch(self, stream: Outputs) -> Answers:
        """Return the doubt of each step."""
        return Answers(doubt(stream.probs))


class Tcuq:
    """What `tcuq.fit` makes of labeled development data by default, speaking of its answer."""

    name = "tcuq"
    uses_labels = True
    params: tcuq.Params

    def fit(self, dev: Dev) -> None:
        """Fit a monitor."""
        self.params = fitted(dev.log(), None, run_length=ASKED)

    @property
    def state_bytes(self) -> int:
        """Bytes that the core keeps between steps."""
        return self.params.state_bytes

    def watch(self, stream: Outputs) -> Answers:
        """Run a fresh monitor."""
        steps = run_over(tcuq.Monitor(self.params), stream.log())
        accuracy = steps["expected_accuracy"]  # unknown to a monitor that was fitted without labels
        return Answers(
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
        assert dev.clean is not None
        self.params = fitted(dev.log(), dev.clean.log(), run_length=ASKED)


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

    def watch(self, stream: Outputs) -> Answers:
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
        return Answers(1 - mixed.max(axis=1), mixed.argmax(axis=1))


class WindowedMean:
    """Confidence; means of the last 64 doubts and 200 confidences give alarm and accuracy."""

    name = "confidence, windowed mean"
    uses_labels = False
    state_bytes = 64 + 200
    last = 64
    limit: float

    def fit(self, dev: Dev) -> None:
        """Find the limit on clean data."""
        assert dev.clean is not None
        doubts = doubt(dev.clean.probs)
        self.limit = limit_for([self._statistic(doubts[piece]) for piece in dev.clean.pieces()])

    def watch(self, stream: Outputs) -> Answers:
        """Compare the mean with the limit."""
        doubts = doubt(stream.probs)
        return Answers(
            doubts, alarm=self._statistic(doubts) > self.limit, accuracy=1 - causal_mean(doubts, HORIZON)
        )

    def _statistic(self, doubts: Doubles) -> Doubles:
        found = causal_mean(doubts, self.last)
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
        assert dev.clean is not None
        doubts = doubt(dev.clean.probs)
        self.center, self.slack, self.limit = float(doubts.mean()), float(doubts.std()) / 2, np.inf
        super().fit(dev)

    def _statistic(self, doubts: Doubles) -> Doubles:
        found, total = np.empty(len(doubts)), 0.0
        for step, each in enumerate((doubts - self.center - self.slack).tolist()):
            total = min(max(0.0, total + each), 2 * self.limit)
            found[step] = total
        return found


def limit_for(runs: Sequence[Doubles], asked: int = ASKED) -> float:
    """Return the lowest limit that clean runs exceed in at most one false alarm in `asked` steps."""
    inside = np.arange(max(map(len, runs))) < np.array([len(run) for run in runs])[:, None]
    values = np.full(inside.shape, -np.inf)
    values[inside] = np.concatenate(runs)
    return find_limit(
        lambda limits: np.asarray(values[None] > limits[:, None, None]),
        candidates(values[inside]),
        inside,
        asked,
    )


class Alarmed(Alarm):
    """Confidence, with a rival's alarm tuned on development data; subclasses name the rival."""

    of: ClassVar[str]
    uses_labels = True

    def __init__(self) -> None:
        super().__init__(next(rival for rival in RIVALS if rival.name == self.of))

    def watch(self, stream: Outputs) -> Answers:
        """Say the doubt of each step, and the alarm."""
        said = super().watch(stream)
        return said._replace(alarm=said.alarm.at_limit()[0])


ALARMS = {
    "alarm_cusum": "CUSUM",
    "alarm_bocpd": "BOCPD",
    "alarm_martingale": "conformal martingale",
    "alarm_mmd": "MMD window",
    "alarm_distance": "CUSUM, feature distance",
    "alarm_neighbors": "CUSUM, nearest neighbors",
    "alarm_belief": "CUSUM, belief",
    "alarm_mahalanobis": "Mahalanobis window",
    "alarm_t2": "T2 window",
    "alarm_martingale_distance": "conformal martingale, feature distance",
    "alarm_random": "random",
    "alarm_clock": "clock",
}
"""Rivals by the name that the command takes; those that need logits, or other networks, cannot run here."""


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
        "belief_stay": _adapted("belief, fixed stay, tuned", BeliefStay, True, 20),
        "stacked": _adapted("stacked regression of seven numbers", Stacked, True, 26),
        "belief_told": _adapted("belief, dwell learned from labels", BeliefTold, True, 20),
        **{
            name: type("Alarmed", (Alarmed,), {"name": f"confidence, {of}, tuned", "of": of})
            for name, of in ALARMS.items()
        },
        "tcuq": Tcuq,
        **LATE,
    }
)
"""Classes by the name that the command takes."""


def built_in(name: str) -> Entry:
    """Return a built-in method."""
    kind = BUILT_IN[known("method", name, BUILT_IN, hint=" (a file of yours ends in .py)")]
    code = inspect.getsourcefile(kind if kind.__name__ == "Alarmed" else getattr(kind, "kind", kind))
    path = Path(code or __file__)
    source = "/".join(path.parts[path.parts.index("tcuq_lab") :])
    return entry_of(kind, source, hashlib.sha256(path.read_bytes()).hexdigest(), name)
