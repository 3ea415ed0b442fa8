"""Experiment `questions`: what each part of the monitor adds, as variants that are fitted without a pace."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Any

import numpy as np

from tcuq import InputError, Log, Params
from tcuq.fitting import FitOptions, fit
from tcuq.fitting.stages.state import FitState
from tcuq.log.quantize import quantize_probs
from tcuq.metrics import auroc
from tcuq.metrics.inputs import Floats
from tcuq.monitor.signals import PROFILES

from ..harness.declare import Case, Comparison, Metric, Play, Row
from ..harness.figures import Auroc, Figure, Mean
from ..harness.laws import BACKBONES, CHANGING, CLEAN_DEV, DEV, MIXED, SMALL, TOLD, UNTOLD, UnitPlan
from ..harness.types import Answers, Array, Outputs, doubt
from ..methods import paper as heads
from ..methods.tcuq import Ours, run
from ..metrics.alarms import CLEAN_ON, DELAY, FOUND, RUN_LENGTH, alarm
from ..metrics.errors import (
    AUROC,
    ERRORS,
    NINETY,
    PREDICTION_AUROC,
    errors,
    left,
    prediction_ranking,
    ranking,
)
from ..reproduce.rows import ASSISTED
from ..reproduce.units import PLAIN, SHUFFLED, Unit
from .experiment import StreamExperiment

ABSTAINED, ANSWERED, RISK_CHANGE = "abstained", "errors answered", "risk change"
PACED = "class 16"
CLEAN_STEPS, SHIFTED_STEPS = ", clean steps", ", shifted steps"
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Fixed gates that are tried on development streams of the law, for the row that is told."""
CURVE = (250, 500, 1000, 2000, 4000, 8000, 16_000)
"""Steps of the fits of a learning curve."""
BLENDS = (0.0, 0.4, 1.0)
"""Shares of the uncertainty in the risk; the default is 0.7."""
PENALTIES = (0.1, 10.0, 100.0)
"""Strengths of the penalty; the default is 1."""
BUDGETS = (0.05, 0.3)
"""Largest shares of abstentions; the default is 0.15."""
SIGNALS = PROFILES["standard"]
OPTIONS = {"l2", "lags", "signals", "use_features"}
"""What is told by `FitOptions`."""

TCUQ, ANSWER, GATE_TOLD = "tcuq", "tcuq answer", "gate told"
NO_MEMORY, ALWAYS = "no memory", "memory, always"
ALWAYS_SHUFFLED = "memory, always, and shuffle"
POSTERIORS, NO_LABELS, CLEAN_LABELS = "posteriors only", "no labels", "labels, clean only"
RISK_ALARM, CONFIDENT, OTHER_PAST = "alarm on risk", "anchor confidence", "other lags and window"
BARE_ANSWER, CLEAN_ANSWER = "tcuq no labels", "answer, labels, clean only"
POSTERIOR_ANSWER = "answer, posteriors only"
FLOAT_CONFIDENCE, INT8_CONFIDENCE = "base", "int8 confidence"
PLAIN_NETWORK = "plain network"
Made = Callable[[Unit], Any]


class Variant(Ours):
    """A variant of the monitor; of the prediction it says the network's own class."""

    def __init__(self, params: Params, about: str = "prediction", remark: str = "") -> None:
        super().__init__(params, about)
        self.remark = remark

    def watch(self, seen: Outputs) -> Answers:
        """Say risk, alarm and whether it answers."""
        if not self.params.features:
            seen = Outputs(seen.probs, None, stretches=seen.stretches)
        steps, _ = run(self.params, seen)
        answer = None if self.about == "prediction" else steps["answer"].astype(np.int64)
        return Answers(steps["risk"], answer, steps["alarm"] > 0, accept=~steps["abstain"].astype(bool))

    @property
    def choice(self) -> str:
        """What the fit decided, in a few words."""
        return self.remark + decided(self.params)


class Risks:
    """A risk that is computed from what is seen, and no class."""

    def __init__(self, risk: Callable[[Outputs], Floats]) -> None:
        self.risk = risk

    def watch(self, seen: Outputs) -> Answers:
        """Say the risk."""
        return Answers(self.risk(seen))


def fitted(log: Log, **told: Any) -> Params:
    """Return the standard monitor of the prediction, or what else is asked for."""
    inside = {name: told.pop(name) for name in OPTIONS & set(told)}
    options = FitOptions(explain=False, **inside)
    return fit(log, **{"about": "prediction", "run_length": RUN_LENGTH, **told}, force=True, options=options)


def bare(log: Log) -> Log:
    """Return a log without labels and marks of shifts."""
    return Log(log.probs, log.features, segments=log.segments)


@lru_cache(maxsize=1)
def _dev(unit: Unit) -> Log:
    return unit.dev(DEV, True).log()


@lru_cache(maxsize=1)
def _clean(unit: Unit) -> Log:
    return unit.dev(CLEAN_DEV, True).log()


@lru_cache(maxsize=1)
def _full(unit: Unit) -> Params:
    return fitted(_dev(unit))


@lru_cache(maxsize=1)
def _signals(unit: Unit) -> FitState:
    return heads.seen(_dev(unit))


def on_first(log: Log, steps: int) -> Variant:
    """Return a fit to the first steps of a labeled log.

    Where there are too few errors to learn from, it is made without labels, as the message of the fit
    advises.
    """
    part = log.take(slice(0, steps))
    try:
        return Variant(fitted(part))
    except InputError as error:
        if error.name != "labels" or error.value is None:
            raise
        errors, correct = error.value
        assert part.shifted is not None
        clean = part.take(np.flatnonzero(~part.shifted)) if (~part.shifted).any() else part
        has = f"the log has {errors} errors and {correct} correct steps"
        return Variant(fitted(bare(part), clean=bare(clean)), remark=f"without labels: {has}; ")


def decided(params: Params) -> str:
    """Return what a fit decided, in a few words.

    Examples
    --------
    >>> decided(Params(classes=3, signals=("odds",), coef={"odds": 2.0}))
    'weighs odds 2; no alarm'
    """
    assert params.coef is not None
    weights = {name: value for name, value in params.coef.items() if value}
    text = "weighs " + ", ".join(f"{name} {value:.3g}" for name, value in weights.items())
    if params.instant is not None and dict(params.instant.coef) != dict(params.coef):
        alone = {name: value for name, value in params.instant.coef.items() if value}
        text += "; single steps " + ", ".join(f"{name} {value:.3g}" for name, value in alone.items())
    return f"{text}; {_alarm(params)}"


def _alarm(params: Params) -> str:
    rise = params.alarm.rise
    if rise is None:
        return "no alarm"
    if params.evidence is None:
        return f"alarm on risk, limit {rise.limit:.3g}"
    names = " ".join(params.evidence.coef)
    found = (params.notes.get("fit") or {}).get("evidence") or {}
    how = "deviations" if "from" in found else "learned"
    return f"alarm on {names} ({how}), limit {rise.limit:.3g}"


def gate_told(unit: Unit, role: str) -> Variant:
    """Return the monitor with the fixed gate that ranks best on a development stream of the law."""
    seen, truth, full = unit.outputs(role), unit.truth(role), _full(unit)
    wrong = (seen.probs.argmax(axis=1) != truth.labels)[truth.judged]
    tried = {share: heads.fixed_gate(full, share) for share in SHARES}
    ranked = {
        share: auroc(run(params, seen)[0]["risk"][truth.judged], wrong) for share, params in tried.items()
    }
    best = max(SHARES, key=lambda share: ranked[share])
    return Variant(tried[best], remark=f"gate {best:g}; ")


def other_past(unit: Unit, role: str) -> Risks:
    """Return by how much other lags change the risk."""
    full, other = _full(unit), fitted(_dev(unit), lags=(1, 2, 4, 8, 16))
    return Risks(lambda seen: np.abs(run(other, seen)[0]["risk"] - run(full, seen)[0]["risk"]))


def _int8(seen: Outputs) -> Floats:
    given: Array = quantize_probs(seen.probs).astype(np.float64)
    return np.asarray(1 - (given.max(axis=1) + 128) / 256)


def network_fit(network: Any, unit: Unit, role: str) -> Variant:
    """Return the monitor of one of two networks that are compared."""
    return Variant(fitted(unit.dev(DEV, True, network).log()))


# Metrics of a row: how it ranks errors of the prediction, what its alarm does, its answers, its abstentions.


def _alarms(case: Case) -> dict[str, Figure]:
    if case.play.stream == SHUFFLED:  # no shift lasts there
        return {}
    return {name: each for name, each in alarm(case).items() if name in (CLEAN_ON, FOUND, DELAY)}


def _left(case: Case) -> dict[str, Figure]:
    return left(case, NINETY)


def _decisions(case: Case) -> dict[str, Figure]:
    """Return how often it abstains, and how wrong the int8 network is where it does not."""
    kept, stretches = case.truth.judged & case.answers.accept, case.truth.stretches
    wrong = quantize_probs(case.seen.probs).argmax(axis=1) != case.truth.labels
    return {
        ABSTAINED: Mean(~case.answers.accept, stretches, case.truth.judged),
        ANSWERED: Mean(wrong, stretches, kept),
    }


def _networks(case: Case) -> dict[str, Figure]:
    """Return how a network errs, on clean and on shifted steps, and how its monitor ranks that."""
    network = None if case.row == PLAIN_NETWORK else ASSISTED
    wrong = case.streams.outputs(case.play.role, network).probs.argmax(axis=1) != case.truth.labels
    kept = {CLEAN_STEPS: ~case.truth.shifted, SHIFTED_STEPS: case.truth.shifted}
    for part, of in kept.items():
        if case.play.stream.endswith(part):
            return {ERRORS: Mean(wrong, case.truth.stretches, case.truth.judged & of)}
    return {PREDICTION_AUROC: Auroc(case.answers.risk, wrong, case.truth.stretches, case.truth.judged)}


def _change(case: Case) -> dict[str, Figure]:
    return {RISK_CHANGE: Mean(case.answers.risk, case.truth.stretches)}


RANKS: tuple[Metric, ...] = (prediction_ranking,)
ALARMS: tuple[Metric, ...] = (prediction_ranking, _alarms)
WHOLE: tuple[Metric, ...] = (prediction_ranking, _left, _alarms)
ANSWERS: tuple[Metric, ...] = (ranking, errors, _left)


def without(signal: str) -> str:
    """Return the row that lacks a signal."""
    return f"without {signal}"


def only(signal: str) -> str:
    """Return the row that has one signal beside the odds of the current posterior."""
    return f"only {signal}"


def _without(name: str, unit: Unit) -> Params:
    gone = (name, "drift") if name == "distance" else (name,)  # the drift is that of the distance
    rest = [other for other in SIGNALS if other not in gone]
    if name == "disbelief":  # without it a fit has one head, and no gate
        return heads.weighing(_signals(unit), rest, choose=True)
    return fitted(_dev(unit), signals=rest)


def _only(name: str, unit: Unit) -> Params:
    return heads.weighing(_signals(unit), [other for other in SIGNALS if other in ("odds", name)])


def rows(unit: Unit) -> list[Row]:
    """Return the variants, question by question."""
    dev, clean = _dev, _clean
    ours: list[tuple[str, Made, tuple[Metric, ...]]] = [
        (TCUQ, _full, (*WHOLE, _decisions)),
        (NO_MEMORY, lambda unit: heads.no_memory(_signals(unit)), (prediction_ranking, _left)),
        (ALWAYS, lambda unit: heads.always(_signals(unit)), (prediction_ranking, _left)),
        (ALWAYS_SHUFFLED, lambda unit: heads.always(_signals(unit), shuffle=True), RANKS),
        (POSTERIORS, lambda unit: fitted(dev(unit), use_features=False), WHOLE),
        *(
            (without(name), partial(_without, name), RANKS if name == "disbelief" else ALARMS)
            for name in SIGNALS
        ),
        *((only(name), partial(_only, name), RANKS) for name in SIGNALS),
        (RISK_ALARM, lambda unit: fitted(dev(unit), alarm="risk"), ALARMS),
        (NO_LABELS, lambda unit: fitted(bare(dev(unit)), clean=bare(clean(unit))), WHOLE),
        (CLEAN_LABELS, lambda unit: fitted(clean(unit)), ALARMS),
        *(
            (labels_of(steps), lambda unit, steps=steps: on_first(dev(unit), steps), ALARMS)
            for steps in CURVE
            if steps <= len(unit.outputs(DEV))
        ),
        *(
            (
                clean_of(steps),
                lambda unit, steps=steps: fitted(bare(clean(unit).take(slice(0, steps)))),
                (_alarms,),
            )
            for steps in CURVE
            if steps <= len(unit.outputs(CLEAN_DEV))
        ),
        *(
            (f"blend {value:g}", lambda unit, value=value: _full(unit).replace(blend=value), RANKS)
            for value in BLENDS
        ),
        (CONFIDENT, lambda unit: _full(unit).replace(anchor="confidence"), RANKS),
        *(
            (f"l2 {value:g}", lambda unit, value=value: fitted(dev(unit), l2=value), RANKS)
            for value in PENALTIES
        ),
        *(
            (f"budget {value:g}", lambda unit, value=value: fitted(dev(unit), budget=value), (_decisions,))
            for value in BUDGETS
        ),
    ]
    answers: list[tuple[str, Made]] = [
        (ANSWER, lambda unit: fitted(dev(unit), about="answer")),
        (BARE_ANSWER, lambda unit: fitted(bare(dev(unit)), clean=bare(clean(unit)), about="answer")),
        (CLEAN_ANSWER, lambda unit: fitted(clean(unit), about="answer")),
        (POSTERIOR_ANSWER, lambda unit: fitted(dev(unit), about="answer", use_features=False)),
    ]
    found = [
        Row(name, partial(_variant, make, "prediction"), metrics=of, shown=_of_law) for name, make, of in ours
    ]
    found += [
        Row(name, partial(_variant, make, "answer"), metrics=ANSWERS, shown=_of_law) for name, make in answers
    ]
    confidences: dict[str, Callable[[Outputs], Floats]]
    confidences = {FLOAT_CONFIDENCE: lambda seen: doubt(seen.probs), INT8_CONFIDENCE: _int8}
    found += [
        Row(name, partial(_risks, risk), False, metrics=RANKS, shown=_of_law)
        for name, risk in confidences.items()
    ]
    found += [
        Row(GATE_TOLD, gate_told, metrics=RANKS, shown=lambda play: play.fit == TOLD),
        Row(OTHER_PAST, other_past, metrics=(_change,), shown=lambda play: _of_law(play) and _is_paced(play)),
    ]
    if unit.has(ASSISTED):  # means are of the same seeds
        found += [
            Row(name, partial(network_fit, network), network=network, metrics=(_networks,), shown=_of_network)
            for name, network in ((PLAIN_NETWORK, PLAIN), (ASSISTED.label, ASSISTED))
        ]
    return found


def _variant(make: Made, about: str, unit: Unit, role: str) -> Variant:
    params = make(unit)
    return params if isinstance(params, Variant) else Variant(params, about)


def _of_law(play: Play) -> bool:
    return play.fit == UNTOLD and not play.stream.endswith((CLEAN_STEPS, SHIFTED_STEPS))


def _of_network(play: Play) -> bool:
    return play.fit == UNTOLD and play.role == f"test {PACED}"


def _risks(risk: Callable[[Outputs], Floats], unit: Unit, role: str) -> Risks:
    return Risks(risk)


def _is_paced(play: Play) -> bool:
    return play.stream == PACED


def labels_of(steps: int) -> str:
    """Return the row of a fit to so many labeled steps."""
    return f"labels, {steps:,} steps"


def clean_of(steps: int) -> str:
    """Return the row of a fit without labels to so many clean steps."""
    return f"clean, {steps:,} steps"


def laws_of(plan: UnitPlan) -> tuple[str, ...]:
    """Return the laws on which questions are asked."""
    return (SHUFFLED, "class 1", "class 16", "class 64", plan.lived, CHANGING, MIXED)


def plays(unit: Unit) -> Iterator[Play]:
    """Give every law, also with a fit to a stream of its own, and parts of the steps of one."""
    for law in laws_of(unit.plan):
        yield Play(law, f"test {law}", UNTOLD, DEV)
        yield Play(law, f"test {law}", TOLD, f"law {law}")
    for part in (CLEAN_STEPS, SHIFTED_STEPS):
        yield Play(PACED + part, f"test {PACED}", UNTOLD, DEV)


SETTINGS = (*(f"blend {each:g}" for each in BLENDS), CONFIDENT, *(f"l2 {each:g}" for each in PENALTIES))
RANKED = (
    NO_MEMORY,
    ALWAYS,
    ALWAYS_SHUFFLED,
    POSTERIORS,
    *map(without, SIGNALS),
    *map(only, SIGNALS),
    NO_LABELS,
    CLEAN_LABELS,
    *map(labels_of, CURVE),
    *SETTINGS,
)
"""Rows that `tcuq` is compared with by how they rank errors of the prediction."""
ALARMED = (
    POSTERIORS,
    NO_LABELS,
    CLEAN_LABELS,
    RISK_ALARM,
    *(without(name) for name in ("odds", "magnitude", "distance")),
    *map(clean_of, CURVE),
)
"""Rows whose alarm is compared with that of `tcuq`."""
COMPARISONS = (
    *(Comparison(TCUQ, row, PREDICTION_AUROC) for row in RANKED),
    Comparison(TCUQ, GATE_TOLD, PREDICTION_AUROC, second_fit=TOLD),
    *(Comparison(labels_of(steps), NO_LABELS, PREDICTION_AUROC) for steps in CURVE),
    *(Comparison(TCUQ, row, column) for row in ALARMED for column in (FOUND, CLEAN_ON)),
    *(Comparison(TCUQ, row, NINETY) for row in (NO_MEMORY, ALWAYS, POSTERIORS, NO_LABELS)),
    *(
        Comparison(ANSWER, row, column)
        for row in (BARE_ANSWER, CLEAN_ANSWER, POSTERIOR_ANSWER)
        for column in (AUROC, ERRORS, NINETY)
    ),
    Comparison(ANSWER, NO_MEMORY, NINETY),
    Comparison(INT8_CONFIDENCE, FLOAT_CONFIDENCE, PREDICTION_AUROC),
    *(Comparison(ASSISTED.label, PLAIN_NETWORK, column) for column in (PREDICTION_AUROC, ERRORS)),
    *(Comparison(TCUQ, f"budget {value:g}", column) for value in BUDGETS for column in (ABSTAINED, ANSWERED)),
)
NOTES = (
    "`shuffled steps` has the steps of class 1 in random order, so that neither classes nor shifts stay. On "
    "class 1 itself shifts last: how doubtful recent steps were tells much even where classes do not stay.",
    "The belief behind the signal disbelief weighs six experts by how well they predict. The core has no "
    "switch for it: with `memory, always` the heads have no gate, but the belief still learns the pace. "
    "That head learns from the log alone, the two heads from log and shuffle; `memory, always, and shuffle` "
    "learns from both.",
    "The expert of the class mix cannot be turned off, so what it adds is not measured.",
    "Rows `only X` weigh the odds of the current posterior and X. Those without disbelief lean on the "
    "confidence, as does `without disbelief`; they keep the gate.",
    "Lags and window read nothing in the standard profile, which has no signal that looks back by a lag: "
    "`other lags and window` shows that no risk changes.",
    "`labels, N steps` is fitted without labels where N steps hold too few errors to learn from, as the "
    "message of the fit advises; the choices say where.",
    "`clean, N steps` is fitted without labels to N clean steps. Without errors to learn from, its ranking "
    "hardly depends on N by construction, so it is judged by its alarm: `found` and `clean on`.",
    "What int8 networks cost, beside int8 posteriors and features, is measured in docs/DEVICE.md.",
    "`plain network` and `assisted network` are of the seeds that have both.",
)
"""What could not be taken out, and how rows are to be read."""
SPEC = StreamExperiment(
    "questions",
    "What each part of the monitor adds",
    rows,
    plays,
    (),
    COMPARISONS,
    notes=NOTES,
    tasks=(*BACKBONES, *SMALL),
)
