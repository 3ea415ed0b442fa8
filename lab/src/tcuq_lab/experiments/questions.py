"""Experiment `questions`: what each part of the monitor adds, as variants that are fitted without a pace."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from tcuq import InputError, Log, Params
from tcuq.fitting import FitOptions, fit
from tcuq.fitting.stages.state import FitState
from tcuq.log.quantize import quantize_probs
from tcuq.metrics import auroc
from tcuq.metrics.inputs import Floats
from tcuq.monitor.signals import PROFILES, SLOW

from ..harness.declare import Case, Comparison, Metric, Play, Row
from ..harness.figures import Auroc, Figure, Mean
from ..harness.laws import BACKBONES, CHANGING, CLEAN_DEV, DEV, MIXED, SMALL, TOLD, UNTOLD
from ..harness.types import Answers, Outputs, doubt
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
from .answers import INT8, Int8
from .experiment import StreamExperiment, notes_of

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
SIGNALS = tuple(name for name in PROFILES["standard"] if name not in SLOW)
OPTIONS = {"l2", "lags", "signals", "use_features"}
"""What is told by `FitOptions`."""

TCUQ, ANSWER, GATE_TOLD, NO_MEMORY, NO_LABELS = "tcuq", "tcuq answer", "gate told", "no memory", "no labels"
FLOAT_CONFIDENCE, PLAIN_NETWORK = "base", "plain network"
Made = Callable[[Unit], Any]


class Variant(Ours):
    """A variant of the monitor; of the prediction it says the network's own class."""

    def __init__(self, params: Params, about: str = "prediction", remark: str = "") -> None:
        super().__init__(params, about)
        self.remark = remark

    def watch(self, seen: Outputs) -> Answers:
        """Say risk, alarm and whether it answers."""
        said = super().watch(seen if self.params.features else replace(seen, features=None))
        return said._replace(answer=None) if self.about == "prediction" else said

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


def on_clean(steps: int, unit: Unit) -> Params:
    """Return a fit without labels to the first steps of the clean log."""
    return fitted(bare(_clean(unit).take(slice(0, steps))))


def on_first(steps: int, unit: Unit) -> Variant:
    """Return a fit to the first steps of a labeled log.

    Where there are too few errors to learn from, it is made without labels, as the message of the fit
    advises.
    """
    part = _dev(unit).take(slice(0, steps))
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
        return f"alarm on {'risk' if params.sight is None else 'distance'}, limit {rise.limit:.3g}"
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
LEFT: tuple[Metric, ...] = (prediction_ranking, _left)
WHOLE: tuple[Metric, ...] = (prediction_ranking, _left, _alarms)
ANSWERS: tuple[Metric, ...] = (ranking, errors, _left)
RANKED, ALARMED = (PREDICTION_AUROC,), (FOUND, CLEAN_ON)


class Asked(NamedTuple):
    """A variant, what is measured of it, and in which columns `tcuq` is compared with it."""

    name: str
    make: Made
    metrics: tuple[Metric, ...]
    columns: tuple[str, ...] = ()
    needs: tuple[str, int] | None = None  # a development stream and the steps that it must have


def _told(unit: Unit, log: Callable[[Unit], Log] = _dev, **told: Any) -> Params:
    return fitted(log(unit), **told)


def _unlabeled(unit: Unit, **told: Any) -> Params:
    return fitted(bare(_dev(unit)), clean=bare(_clean(unit)), **told)


def _altered(unit: Unit, **changes: Any) -> Params:
    return _full(unit).replace(**changes)


def _no_memory(unit: Unit) -> Params:
    return heads.no_memory(_signals(unit))


def _always(unit: Unit, shuffle: bool = False) -> Params:
    return heads.always(_signals(unit), shuffle=shuffle)


def _without(name: str, unit: Unit) -> Params:
    rest = [other for other in SIGNALS if other != name]
    if name == "disbelief":  # without it a fit has one head, and no gate
        return heads.weighing(_signals(unit), rest, choose=True)
    return fitted(_dev(unit), signals=rest)


def _only(name: str, unit: Unit) -> Params:
    return heads.weighing(_signals(unit), [other for other in SIGNALS if other in ("odds", name)])


def labels_of(steps: int) -> str:
    """Return the row of a fit to so many labeled steps."""
    return f"labels, {steps:,} steps"


def _asked() -> Iterator[Asked]:
    """Give the variants, question by question."""
    yield Asked(TCUQ, _full, (*WHOLE, _decisions))
    yield Asked(NO_MEMORY, _no_memory, LEFT, (*RANKED, NINETY))
    yield Asked("memory, always", _always, LEFT, (*RANKED, NINETY))
    yield Asked("memory, always, and shuffle", partial(_always, shuffle=True), RANKS, RANKED)
    posteriors = partial(_told, use_features=False)
    yield Asked("posteriors only", posteriors, WHOLE, (*RANKED, *ALARMED, NINETY))
    for name in SIGNALS:
        of = RANKS if name == "disbelief" else ALARMS
        compared = (*RANKED, *ALARMED) if name in ("odds", "magnitude", "distance") else RANKED
        yield Asked(f"without {name}", partial(_without, name), of, compared)
    for name in SIGNALS:
        yield Asked(f"only {name}", partial(_only, name), RANKS, RANKED)
    yield Asked("alarm on risk", partial(_told, alarm="risk"), ALARMS, ALARMED)
    yield Asked(NO_LABELS, _unlabeled, WHOLE, (*RANKED, *ALARMED, NINETY))
    yield Asked("labels, clean only", partial(_told, log=_clean), ALARMS, (*RANKED, *ALARMED))
    for steps in CURVE:
        yield Asked(labels_of(steps), partial(on_first, steps), ALARMS, RANKED, (DEV, steps))
    for steps in CURVE:
        name, needs = f"clean, {steps:,} steps", (CLEAN_DEV, steps)
        yield Asked(name, partial(on_clean, steps), (_alarms,), ALARMED, needs)
    for value in BLENDS:
        yield Asked(f"blend {value:g}", partial(_altered, blend=value), RANKS, RANKED)
    yield Asked("anchor confidence", partial(_altered, anchor="confidence"), RANKS, RANKED)
    for value in PENALTIES:
        yield Asked(f"l2 {value:g}", partial(_told, l2=value), RANKS, RANKED)
    for value in BUDGETS:
        yield Asked(f"budget {value:g}", partial(_told, budget=value), (_decisions,), (ABSTAINED, ANSWERED))


OURS = tuple(_asked())
WITH_ANSWERS: Mapping[str, Made] = {
    ANSWER: partial(_told, about="answer"),
    "tcuq no labels": partial(_unlabeled, about="answer"),
    "answer, labels, clean only": partial(_told, log=_clean, about="answer"),
    "answer, posteriors only": partial(_told, about="answer", use_features=False),
}
"""Monitors that answer; the first is compared with the others."""


def rows(unit: Unit) -> list[Row]:
    """Return the variants whose development streams are long enough, and what they are compared with."""
    found = [
        Row(each.name, partial(_variant, each.make, "prediction"), metrics=each.metrics, shown=_of_law)
        for each in OURS
        if each.needs is None or each.needs[1] <= len(unit.outputs(each.needs[0]))
    ]
    found += [
        Row(name, partial(_variant, make, "answer"), metrics=ANSWERS, shown=_of_law)
        for name, make in WITH_ANSWERS.items()
    ]
    for name, said in ((FLOAT_CONFIDENCE, Risks(lambda seen: doubt(seen.probs))), (INT8, Int8())):
        found.append(Row(name, partial(_as_it_is, said), False, metrics=RANKS, shown=_of_law))
    found += [
        Row(GATE_TOLD, gate_told, metrics=RANKS, shown=lambda play: play.fit == TOLD),
        Row("other lags and window", other_past, metrics=(_change,), shown=_of_paced_law),
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


def _as_it_is(said: Any, unit: Unit, role: str) -> Any:
    return said


def _of_law(play: Play) -> bool:
    return play.fit == UNTOLD and not play.stream.endswith((CLEAN_STEPS, SHIFTED_STEPS))


def _of_paced_law(play: Play) -> bool:
    return _of_law(play) and play.stream == PACED


def _of_network(play: Play) -> bool:
    return play.fit == UNTOLD and play.role == f"test {PACED}"


def plays(unit: Unit) -> Iterator[Play]:
    """Give every law, also with a fit to a stream of its own, and parts of the steps of one."""
    for law in (SHUFFLED, "class 1", "class 16", "class 64", unit.plan.lived, CHANGING, MIXED):
        yield Play(law, f"test {law}", UNTOLD, DEV)
        yield Play(law, f"test {law}", TOLD, f"law {law}")
    for part in (CLEAN_STEPS, SHIFTED_STEPS):
        yield Play(PACED + part, f"test {PACED}", UNTOLD, DEV)


COMPARISONS = (
    *(Comparison(TCUQ, each.name, column) for each in OURS for column in each.columns),
    Comparison(TCUQ, GATE_TOLD, PREDICTION_AUROC, second_fit=TOLD),
    *(Comparison(labels_of(steps), NO_LABELS, PREDICTION_AUROC) for steps in CURVE),
    *(Comparison(ANSWER, row, column) for row in (*WITH_ANSWERS,)[1:] for column in (AUROC, ERRORS, NINETY)),
    Comparison(ANSWER, NO_MEMORY, NINETY),
    Comparison(INT8, FLOAT_CONFIDENCE, PREDICTION_AUROC),
    *(Comparison(ASSISTED.label, PLAIN_NETWORK, column) for column in (PREDICTION_AUROC, ERRORS)),
)
SPEC = StreamExperiment(
    "questions",
    "What each part of the monitor adds",
    rows,
    plays,
    (),
    COMPARISONS,
    notes=notes_of("questions"),
    tasks=(*BACKBONES, *SMALL),
)
