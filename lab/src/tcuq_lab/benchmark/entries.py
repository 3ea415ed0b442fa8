"""Methods of the benchmark before they are fitted: built in, or loaded from a file."""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

import tcuq
from tcuq.base.checks import integer, known, nearest

from ..detectors.alarm import RIVALS, Alarm, Rival, on_vectors
from ..harness.checks import Broken, Entry, blamed
from ..harness.declare import grid
from ..harness.types import ASKED, Answers, Dev, Outputs, doubt
from ..methods.belief import Belief, BeliefStay, BeliefTold, Hmm
from ..methods.confidence import ConfidenceNorm, Entropy, Stacked
from ..methods.method import HORIZON, Scored, causal_mean
from ..methods.rules import Mean8, MeanAnswer, Vote8
from ..methods.tcuq import Ours, fitted, run
from ..metrics.alarms import candidates, find_limit
from .late import LATE
from .results import LONGEST, is_name

Doubles = npt.NDArray[np.float64]
HINT = "define a class Method with watch(self, stream) or step(self, probs, features)"


def entry_of(kind: Any, source: str, sha256: str, place: str) -> Entry:
    """Return the entry of a class, or of an object of a built-in one."""
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
        near = nearest(place.name, [each.name for each in place.parent.glob("*.py")])
        if near is None:
            raise
        raise Broken(f"{place}: no such file; did you mean {place.with_name(near)}?") from None
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


class Confidence:
    """1 less the largest posterior: what every method is compared with."""

    def watch(self, stream: Outputs) -> Answers:
        """Return the doubt of each step."""
        return Answers(doubt(stream.probs))


class Tcuq:
    """What `tcuq.fit` makes of development data by default, speaking of its answer.

    Without labels it is fitted to an unlabeled stream and a clean log.
    """

    params: tcuq.Params

    def __init__(self, labels: bool, gauges: bool = True) -> None:
        self.labels, self.gauges = labels, gauges

    def fit(self, dev: Dev) -> None:
        """Fit a monitor."""
        logs = [dev.log()] + ([] if self.labels or dev.clean is None else [dev.clean.log()])
        if not self.gauges:
            logs = [replace(each, gauges=None, gauge_names=None) for each in logs]
        self.params = fitted(logs[0], logs[1] if len(logs) > 1 else None, run_length=ASKED)

    @property
    def state_bytes(self) -> int:
        """Bytes that the core keeps between steps."""
        return self.params.state_bytes

    def watch(self, stream: Outputs) -> Answers:
        """Run a fresh monitor; what its alarm compares with its limit is the degradation that it shows."""
        said = Ours(self.params, "answer").watch(stream)
        degradation = run(self.params, stream)[0]["degradation"]
        return said._replace(accept=None, evidence=degradation.astype(np.float64))


class BeliefPaces:
    """Bayes filters of the class, one a pace, each weighted by how well it has predicted of late.

    A filter expects a new class with a chance of 1, 1/2, 1/4, 1/16 or 1/64; the first of them is confidence.
    One percent of the weights is shared evenly at each step, so that the pace may change.
    """

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
        found, accuracy = self._statistic(doubts), 1 - causal_mean(doubts, HORIZON)
        return Answers(doubts, alarm=found > self.limit, accuracy=accuracy, evidence=found)

    def _statistic(self, doubts: Doubles) -> Doubles:
        found = causal_mean(doubts, self.last)
        found[: self.last - 1] = 0.0  # a window that is not full says nothing
        return found


class Cusum(WindowedMean):
    """Confidence, with a sum of doubts above their clean mean as alarm; the sum cannot exceed two limits."""

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


def limit_for(runs: Sequence[Doubles]) -> float:
    """Return the lowest limit that clean runs exceed in at most one false alarm in `ASKED` steps."""
    inside = np.arange(max(map(len, runs))) < np.array([len(run) for run in runs])[:, None]
    values = np.full(inside.shape, -np.inf)
    values[inside] = np.concatenate(runs)
    return find_limit(
        lambda limits: np.asarray(values[None] > limits[:, None, None]),
        candidates(values[inside]),
        inside,
        ASKED,
    )


class AtLimit(Alarm):
    """Confidence, with a rival's alarm tuned on development data."""

    limits: Doubles

    def fit(self, dev: Dev) -> None:
        """Find the setting, and limits from what is frequent in the clean log to what is far beyond it."""
        super().fit(dev)
        assert dev.clean is not None
        switch = super().watch(dev.clean).alarm
        shortest = min(each.stop - each.start for each in dev.clean.pieces())
        usual = switch.path(np.ones((len(dev.clean.pieces()), shortest), bool))
        beyond = usual[-1] + (usual[-1] - usual[0]) * np.geomspace(1 / 8, 64, 10)
        self.limits = np.unique([*usual, self.limit, *beyond])

    def watch(self, stream: Outputs) -> Answers:
        """Say the doubt of each step, the alarm, and at how many of the limits it would be on."""
        said = super().watch(stream)
        evidence = said.alarm.on(self.limits)[:, 0].sum(axis=0)
        return said._replace(alarm=said.alarm.at_limit()[0], evidence=evidence.astype(np.float64))


class Constant:
    """Confidence, with an alarm that looks at nothing: always on, or a count of the steps."""

    def __init__(self, counts: bool) -> None:
        self.counts = counts

    def watch(self, stream: Outputs) -> Answers:
        """Say the doubt of each step; the count is off for every other hundred steps."""
        steps = np.arange(len(stream))
        on = steps // 100 % 2 == 1 if self.counts else np.ones(len(stream), bool)
        evidence = (steps if self.counts else on).astype(np.float64)
        return Answers(doubt(stream.probs), alarm=on, evidence=evidence)


GAUGES = Rival("T2 window, gauges", grid(of=("gauges",), window=(8, 16, 32, 64, 128, 256)), on_vectors)

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
    "alarm_gauges": GAUGES.name,
    "alarm_martingale_distance": "conformal martingale, feature distance",
    "alarm_random": "random",
    "alarm_clock": "clock",
}
"""Rivals by the name that the command takes; those that need logits, or other networks, cannot run here."""
Maker = Callable[[], Any]


def _as(name: str, labels: bool, state: int | None, make: Callable[..., Any], *given: Any) -> Maker:
    """Return what makes a method that says its name, its track and the bytes of its state."""
    about = {"name": name, "uses_labels": labels} | ({} if state is None else {"state_bytes": state})

    def made() -> Any:
        found = make(*given)
        found.__dict__.update(about)
        return found

    return made


_RIVALS = {each.name: each for each in (*RIVALS, GAUGES)}
BUILT_IN: Mapping[str, Maker] = MappingProxyType(
    {
        "confidence": _as("confidence", False, 0, Confidence),
        "entropy": _as("entropy", False, 0, Scored, Entropy),
        "vote_8": _as("vote of 8", False, 10, Scored, Vote8),
        "mean_8": _as("mean of 8", False, 82, Scored, Mean8),
        "belief": _as("belief", False, 20, Scored, Belief),
        # Beliefs of ten classes and the weights, 16 bits each.
        "belief_paces": _as("belief, five paces", False, 5 * 2 * 10 + 5 * 2, BeliefPaces),
        "hmm": _as("HMM, learned without labels", False, 20, Scored, Hmm),
        "windowed_mean": _as("confidence, windowed mean", False, 64 + 200, WindowedMean),
        "cusum": _as("confidence, CUSUM", False, 4 + 200, Cusum),
        "always_on": _as("confidence, alarm always on", False, 0, Constant, False),
        "step_count": _as("confidence, alarm that counts steps", False, 4, Constant, True),
        "tcuq_no_labels": _as("tcuq, no labels", False, None, Tcuq, False),
        "tcuq_no_gauges": _as("tcuq, no labels, no gauges", False, None, Tcuq, False, False),
        "confidence_norm": _as("confidence and feature norm", True, 0, Scored, ConfidenceNorm),
        "mean_answer": _as("mean posterior, tuned", True, None, Scored, MeanAnswer),
        "belief_stay": _as("belief, fixed stay, tuned", True, 20, Scored, BeliefStay),
        "stacked": _as("stacked regression of seven numbers", True, 26, Scored, Stacked),
        "belief_told": _as("belief, dwell learned from labels", True, 20, Scored, BeliefTold),
        **{
            name: _as(f"confidence, {of}, tuned", True, None, AtLimit, _RIVALS[of])
            for name, of in ALARMS.items()
        },
        "tcuq": _as("tcuq", True, None, Tcuq, True),
        **LATE,
    }
)
"""What makes a method, by the name that the command takes."""


def built_in(name: str) -> Entry:
    """Return a built-in method."""
    make = BUILT_IN[known("method", name, BUILT_IN, hint=" (a file of yours ends in .py)")]
    found = make()
    path = Path(inspect.getsourcefile(type(getattr(found, "method", found))) or __file__)
    source = "/".join(path.parts[path.parts.index("tcuq_lab") :])
    entry = entry_of(found, source, hashlib.sha256(path.read_bytes()).hexdigest(), name)
    return entry._replace(make=make)
