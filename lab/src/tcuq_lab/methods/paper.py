"""The paper's monitor: four signals, one head, the best of eight settings; and variants of monitors.

Heads that no option of `tcuq.fit` gives learn from the signals of the standard fit, by its regression. Their
threshold and alarm are left as they come: these variants are judged by how they rank.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tcuq.fitting import FitOptions, fit
from tcuq.fitting.alarms import choose_alarm
from tcuq.fitting.clean import rested_stretches
from tcuq.fitting.logistic import fit_logistic
from tcuq.fitting.signal_table import FOLDS, HALF, folds
from tcuq.fitting.stages.evidence import find_signals, learn_evidence
from tcuq.fitting.stages.heads import INSTANT, Part, choose_weighed, learn_gated
from tcuq.fitting.stages.read import read
from tcuq.fitting.stages.state import FitState, Request
from tcuq.log.log import Log
from tcuq.log.quantize import choose_feature_scale
from tcuq.monitor.codec import COEF_LIMIT
from tcuq.monitor.monitor import Monitor, run_over
from tcuq.monitor.params import Params
from tcuq.monitor.signals import NUMBER, SLOW, ordered, profile_signals

from ..detectors.scores import softmax
from ..harness.types import Outputs
from ..metrics.drops import Measure, objective
from .confidence import fitted
from .method import Floats, Labeled, Method
from .projection import WIDTH, Projection, projection
from .tcuq import Tcuq, projected

NEAR, FAR = (1, 2, 4), (1, 2, 4, 8, 16)


def signals_of(params: Params, log: Log) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Return the core's signals in use (T, k) as floats, and which steps have a past to speak of."""
    _, values = run_over(Monitor(params), log, signals=True)
    settled = np.ones(len(log), dtype=bool)
    settled[[piece.start for piece in log.pieces()]] = False
    return values[:, [NUMBER[name] for name in params.signals]], settled


def _setting(**changes: Any) -> Mapping[str, Any]:
    return {"signals": None, "lags": NEAR, "features": None, "blend": 0.7, "l2": 1.0} | changes


NOW = _setting(signals=("doubt",), lags=())
"""The current posterior alone: what is kept where time does not help."""


class TcuqPaper(Tcuq):
    """Risk of the integer core, under the four signals of the paper.

    Settings are those of `tcuq.fit`, and `features`: the projection that features wider than 32 go through,
    or None for posteriors alone. Steps are held out by kind of shift, or by segment without kinds.
    """

    name = "tcuq_paper"
    choice: ClassVar[str | None] = "tcuq_paper"
    decided: ClassVar[Mapping[str, Any]] = {"level": "budget", "budget": 0.1, "run_length": 1000}
    grid = (
        NOW,
        _setting(),
        _setting(blend=1.0),
        _setting(features="average"),
        _setting(features="random"),
        _setting(features="pca"),
        _setting(features="pca", lags=FAR),
        _setting(features="pca", lags=(1, 2, 4, 8), blend=1.0, l2=100.0),
    )

    def quality(self, dev: Labeled, setting: Mapping[str, Any], measure: Measure = objective) -> float:
        """Return the mean over folds of a measure, each from a fit on the other folds."""
        log, _ = self._labeled(dev, setting)
        params = self._start(setting, log.classes, log.width)
        if log.features is not None:
            scale, zero_point = choose_feature_scale(log.features)
            params = params.replace(feature_scale=scale, feature_zero_point=zero_point)
        values, past = signals_of(params, log)
        wrong, fold = log.errors(), folds(log)
        found = []
        for number in range(FOLDS):
            inside = fold == number
            rest = past & ~inside
            if wrong[rest].any() and not wrong[rest].all():
                coef, bias = fit_logistic(values[rest], wrong[rest], setting["l2"], -COEF_LIMIT)
                risk = run_over(Monitor(_learned(params, coef, bias)), log)["risk"]
                found.append(measure(risk, wrong, dev.kinds, dev.observed.stretches, inside))
        known = [each for each in found if np.isfinite(each)]
        return float(np.mean(known)) if known else 0.0

    def _params(self, log: Log, setting: Mapping[str, Any]) -> Params:
        told = {name: setting[name] for name in ("signals", "lags", "blend", "l2")}
        options = FitOptions(**told, explain=False, drop_unused=False)  # variants cost the same
        return fit(log, profile="paper", force=True, options=options, **self.decided)

    def _labeled(self, dev: Labeled, setting: Mapping[str, Any]) -> tuple[Log, Projection | None]:
        seen, kind = dev.observed, setting["features"]
        features, through = None, None
        if kind and seen.features is not None:
            through = projection(kind, seen.features[dev.kinds == 0], seed=setting.get("seed", 0))
            features = projected(through, seen)
        return Log(self.posteriors(seen), features, dev.labels, seen.stretches, dev.kinds), through

    def _start(self, setting: Mapping[str, Any], classes: int, width: int) -> Params:
        """Return parameters with a setting's signals and stock coefficients."""
        used = width if setting["features"] else 0
        return Params(
            classes=classes,
            features=used,
            signals=ordered(setting["signals"] or profile_signals("paper", used)),
            lags=setting["lags"],
            blend=setting["blend"],
        )

    def _deployed(self) -> Params:
        """Return what a device is given; with stock coefficients, which take as much room, before a fit."""
        if self._dev is not None:
            return self.params
        return self._start(self.changed(self.setting), self.body.classes, min(WIDTH, self.body.width))


MOST_DEBT = 16_000.0
"""Flags beyond their share before a frozen threshold would move: more than a stream of the lab has steps."""


class TcuqTs(TcuqPaper):
    """Posteriors go through a temperature first, fitted to clean development steps."""

    name = "tcuq_paper_ts"
    choice = None  # posteriors at another temperature rank settings otherwise
    keeps_fit = False  # the temperature is fitted too
    temperature = 1.0

    def fit(self, dev: Labeled) -> None:
        """Fit the temperature, then the rest."""
        self.fit_posteriors(dev)
        super().fit(dev)

    def fit_posteriors(self, dev: Labeled) -> None:
        """Fit the temperature."""
        clean = (dev.kinds == 0) & (dev.labels >= 0)
        self.temperature = fitted(_logs(dev.observed.probs[clean]), dev.labels[clean])

    def follow(self, full: Method) -> None:
        """Refuse: what was found on other posteriors does not hold for these."""
        raise ValueError(f"{self.name} sees other posteriors than {full.name}; fit is needed")

    def posteriors(self, seen: Outputs) -> Floats:
        """Return the posteriors at the temperature."""
        return softmax(_logs(seen.probs), self.temperature)

    @property
    def needs(self) -> Mapping[str, Any]:
        """Store the temperature too."""
        return {**super().needs, "stored": super().needs["stored"] + 1}


def _logs(probs: Floats) -> Floats:
    """Return logits up to a constant a row, which neither a softmax nor a likelihood sees."""
    return np.asarray(np.log(np.maximum(probs.astype(np.float64), np.finfo(np.float64).tiny)))


class NoTemporal(TcuqPaper):
    """The doubt of the current posterior alone."""

    name = "tcuq_paper_no_temporal"

    def changed(self, setting: Mapping[str, Any]) -> Mapping[str, Any]:
        """Leave out all signals with a past."""
        return {**NOW, "blend": setting["blend"], "l2": setting["l2"]}


class NoConformal(TcuqPaper):
    """The same risk, under a threshold that stays where the development stream put it."""

    name = "tcuq_paper_no_conformal"

    def settled(self, params: Params, log: Log) -> Params:
        """Freeze the threshold; the budget goes on."""
        return params.replace(slope=0.0, knee=MOST_DEBT)


class FrozenWeights(TcuqPaper):
    """All signals count the same: coefficients 1, and an uncertainty of one half at the clean means."""

    name = "tcuq_paper_frozen_weights"

    def settled(self, params: Params, log: Log) -> Params:
        """Replace what was learned from labels, and set threshold and alarm again from clean steps."""
        assert params.clean_means is not None
        means = params.clean_means.values()
        equal = params.replace(coef=dict.fromkeys(params.signals, 1.0), bias=-sum(means))
        return _limited(equal, log, self.decided["run_length"])


def _limited(params: Params, log: Log, run_length: int) -> Params:
    """Set threshold and alarm again from clean steps."""
    risk = run_over(Monitor(params), log)["risk"]
    runs = [risk[run] for run in rested_stretches(params, log)]
    alarm = choose_alarm(runs, run_length, np.random.default_rng(0))
    return params.replace(reference=float(np.quantile(np.concatenate(runs), 1 - params.level)), alarm=alarm)


class Nonnegative(TcuqPaper):
    """No coefficient below 0."""

    name = "tcuq_paper_nonnegative"

    def settled(self, params: Params, log: Log) -> Params:
        """Learn the coefficients again within their bounds; threshold and alarm follow."""
        values, past = signals_of(params, log)
        coef, bias = fit_logistic(values[past], log.errors()[past], params.notes["fit"]["l2"], 0.0)
        return _limited(_learned(params, coef, bias), log, self.decided["run_length"])


def _learned(params: Params, coef: npt.NDArray[np.float64], bias: float) -> Params:
    """Return a monitor with a head in the order of its signals."""
    return params.replace(coef=dict(zip(params.signals, coef.tolist(), strict=True)), bias=_within(bias))


VARIANTS: tuple[type[TcuqPaper], ...] = (TcuqTs, NoTemporal, NoConformal, FrozenWeights, Nonnegative)


CONFIDENCE, BELIEF = "confidence", "belief"
Head = tuple[Mapping[str, float], float]
"""Coefficients by signal, and the bias."""


def seen(log: Log) -> FitState:
    """Return the signals that the standard monitor of the prediction sees in a log with labels."""
    state = read(Request(log, about="prediction", options=FitOptions(explain=False)))
    learn_evidence(state)
    find_signals(state)
    return state


def no_memory(signals: FitState) -> Params:
    """Return a monitor with one head over the signals of the current step."""
    names = tuple(name for name in signals.params.signals if name in INSTANT and name not in SLOW)
    parts = [_with_past(part, 0.0) for part in _parts(signals)[:1]]
    return _one_head(signals, names, parts, CONFIDENCE)


def always(signals: FitState, shuffle: bool = False) -> Params:
    """Return a monitor with one head over all signals, as if classes stayed on every stream."""
    parts = [_with_past(part, 1.0) for part in _parts(signals)[: 1 + shuffle]]
    return _one_head(signals, signals.params.signals, parts, BELIEF)


def weighing(signals: FitState, names: Sequence[str], choose: bool = False) -> Params:
    """Return a monitor that weighs some signals; it leans on the belief where `disbelief` is one of them."""
    kept, parts = tuple(names), _parts(signals)
    kept = _carried(signals, kept, parts) if choose else kept
    found = learn_gated(kept, parts, signals.options.l2)
    steady = _every(signals, found.steady), found.steady_bias
    anchor = BELIEF if "disbelief" in kept else CONFIDENCE
    return _headed(signals, (found.instant, found.instant_bias), steady, anchor)


def fixed_gate(params: Params, share: float) -> Params:
    """Return a monitor whose past counts by the same share everywhere: both heads are the mixture."""
    instant, steady = params.instant, params.coef
    assert instant is not None and steady is not None
    mixed = {name: (1 - share) * instant.coef.get(name, 0.0) + share * steady[name] for name in steady}
    bias = (1 - share) * instant.bias + share * params.bias
    return params.replace(instant=replace(instant, coef=mixed, bias=bias), coef=mixed, bias=bias)


def _parts(signals: FitState) -> list[Part]:
    """Return log and shuffle, from which two heads learn."""
    shuffle, errors = signals.shuffle, signals.errors
    assert shuffle is not None and errors is not None
    return [
        (signals.table, errors, signals.table.settled),
        (shuffle.table, shuffle.errors, shuffle.table.settled),
    ]


def _with_past(part: Part, share: float) -> Part:
    """Return the same steps with a past that counts by a fixed share."""
    table, wrong, rows = part
    past = np.full(len(table), round(share * HALF), dtype=table.past.dtype)
    return replace(table, past=past), wrong, rows


def _carried(signals: FitState, names: tuple[str, ...], parts: Sequence[Part]) -> tuple[str, ...]:
    """Leave features out where they mislead on corruption types that were left out, as the fit does."""
    log, shuffle = signals.log, signals.shuffle
    if log.kinds is None or shuffle is None:
        return names
    kinds = log.kinds.astype(np.int64)
    every = [kinds, kinds[shuffle.order]][: len(parts)]
    return choose_weighed(names, parts, every, signals.options, signals.request.seed)[0]


def _one_head(signals: FitState, names: tuple[str, ...], parts: Sequence[Part], anchor: str) -> Params:
    """Return a monitor whose two heads are the same."""
    kept = _carried(signals, names, parts)
    found = learn_gated(kept, parts, signals.options.l2)
    past = bool(parts[0][0].past.any())
    weighed, bias = (found.steady, found.steady_bias) if past else (found.instant, found.instant_bias)
    head = _every(signals, weighed), bias
    return _headed(signals, head, head, anchor)


def _every(signals: FitState, coef: Mapping[str, float]) -> dict[str, float]:
    """Return a coefficient for every signal, 0 where none was learned."""
    return {**dict.fromkeys(signals.params.signals, 0.0), **coef}


def _headed(signals: FitState, instant: Head, steady: Head, anchor: str) -> Params:
    """Return a monitor with two heads."""
    before = signals.params.instant
    assert before is not None
    return signals.params.replace(
        instant=replace(before, coef=instant[0], bias=_within(instant[1])),
        coef=steady[0],
        bias=_within(steady[1]),
        anchor=anchor,
    )


def _within(bias: float) -> float:
    """Return the nearest bias that the core can hold."""
    return float(min(max(bias, -256.0), 256.0))
