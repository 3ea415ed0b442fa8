"""What each part of the monitor adds: variants of the standard monitor, fitted without knowing the pace."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tcuq.fitting.stages.state import FitState
from tcuq.metrics import auroc
from tcuq.monitor.params import Params

from .asked import assistance, confidence, heads
from .asked import rows as names
from .asked.fits import CURVE, RUN_LENGTH, Logs, bare, decided, fitted, on_first
from .asked.judging import PACED, Judge, said
from .experiment import TITLES, Measured, StreamExperiment
from .plan import BACKBONES, SMALL, TOLD
from .stretch_figures import Mean
from .units import Unit

SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Fixed gates that are tried on development streams of the law, for the row that is told."""


@dataclass(frozen=True, eq=False)
class Asking:
    """One network that questions are asked about.

    Parameters
    ----------
    judge : Judge
    logs : Logs
    full : Params
        The standard monitor.
    choices : dict
        What each fit decided.
    """

    judge: Judge
    logs: Logs
    full: Params
    choices: dict[str, Any] = field(default_factory=dict)

    def prediction(self, row: str, params: Params, left: bool = False, alarm: bool = False) -> None:
        """Judge a variant that speaks of the prediction, and keep what it decided."""
        self.choices[row] = decided(params)
        self.judge.prediction(row, params, left, alarm)

    def alarm(self, row: str, params: Params) -> None:
        """Judge the alarm of a variant alone, and keep what it decided."""
        self.choices[row] = decided(params)
        self.judge.alarm(row, params)

    def answer(self, row: str, params: Params) -> None:
        """Judge a variant that speaks of its answer, and keep what it decided."""
        self.choices[row] = decided(params)
        self.judge.answer(row, params)


def measure(unit: Unit) -> Measured:
    """Ask all questions about the monitor of one network."""
    judge, logs = Judge(unit, names.laws_of(unit.plan)), Logs(unit)
    asking = Asking(judge, logs, fitted(logs.dev), {"run length": RUN_LENGTH})
    asking.prediction(names.TCUQ, asking.full, left=True, alarm=True)
    signals = heads.seen(logs.dev)
    _memory(asking, signals)
    _gate(asking, signals)
    _signals(asking, signals)
    _labels(asking)
    _curves(asking)
    _answers(asking)
    _settings(asking)
    confidence.ask(judge)
    asking.choices["assisted network"] = "judged" if assistance.ask(judge) else "none of this seed"
    return Measured(judge.figures, asking.choices)


def _memory(asking: Asking, signals: FitState) -> None:
    """Ask what memory adds."""
    asking.prediction(names.NO_MEMORY, heads.no_memory(signals), left=True)
    asking.prediction(names.ALWAYS, heads.always(signals), left=True)
    asking.prediction(names.ALWAYS_SHUFFLED, heads.always(signals, shuffle=True))


def _gate(asking: Asking, signals: FitState) -> None:
    """Ask what gating adds."""
    judge, told = asking.judge, {}
    for law in judge.laws:
        shown, log = judge.seen(f"law {law}")
        wrong = (log.probs.argmax(axis=1) != shown.labels)[shown.judged]
        ranked = {
            share: auroc(said(heads.fixed_gate(asking.full, share), log)["risk"][shown.judged], wrong)
            for share in SHARES
        }
        told[law] = max(SHARES, key=lambda share: ranked[share])
        params = heads.fixed_gate(asking.full, told[law])
        judge.ranks(names.GATE_TOLD, law, said(params, judge.seen(f"test {law}")[1])["risk"], TOLD)
    asking.choices[names.GATE_TOLD] = told


def _signals(asking: Asking, signals: FitState) -> None:
    """Ask what features add, and each signal."""
    dev, used = asking.logs.dev, signals.params.signals
    asking.prediction(names.POSTERIORS, fitted(dev, use_features=False), left=True, alarm=True)
    for name in used:
        gone = (name, "drift") if name == "distance" else (name,)  # the drift is that of the distance
        rest = [other for other in used if other not in gone]
        if name == "disbelief":  # without it a fit has one head, and no gate
            asking.prediction(names.without(name), heads.weighing(signals, rest, choose=True))
        else:
            asking.prediction(names.without(name), fitted(dev, signals=rest), alarm=True)
        pair = [other for other in used if other in ("odds", name)]
        asking.prediction(names.only(name), heads.weighing(signals, pair))
    asking.prediction(names.RISK_ALARM, fitted(dev, alarm="risk"), alarm=True)


def _labels(asking: Asking) -> None:
    """Ask what labels add."""
    dev, clean = asking.logs.bare
    asking.prediction(names.NO_LABELS, fitted(dev, clean=clean), left=True, alarm=True)
    asking.prediction(names.CLEAN_LABELS, fitted(asking.logs.clean), alarm=True)


def _curves(asking: Asking) -> None:
    """Ask how many steps are enough."""
    dev, clean = asking.logs.dev, asking.logs.clean
    for steps in CURVE:
        if steps <= len(dev):
            params, remark = on_first(dev, steps)
            asking.prediction(names.labels_of(steps), params, alarm=True)
            asking.choices[names.labels_of(steps)] = remark + decided(params)
        if steps <= len(clean):
            asking.alarm(names.clean_of(steps), fitted(bare(clean.take(slice(0, steps)))))


def _answers(asking: Asking) -> None:
    """Ask what labels and features add to answers."""
    dev, (bare_dev, bare_clean) = asking.logs.dev, asking.logs.bare
    asking.answer(names.ANSWER, fitted(dev, about="answer"))
    asking.answer(names.BARE_ANSWER, fitted(bare_dev, clean=bare_clean, about="answer"))
    asking.answer(names.CLEAN_ANSWER, fitted(asking.logs.clean, about="answer"))
    asking.answer(names.POSTERIOR_ANSWER, fitted(dev, about="answer", use_features=False))


def _settings(asking: Asking) -> None:
    """Ask what settings change."""
    dev, full, judge = asking.logs.dev, asking.full, asking.judge
    for value in names.BLENDS:
        judge.prediction(names.blend_of(value), full.replace(blend=value))
    judge.prediction(names.CONFIDENT, full.replace(anchor="confidence"))
    for value in names.PENALTIES:
        asking.prediction(names.penalty_of(value), fitted(dev, l2=value))
    judge.decisions(names.TCUQ, full)
    for value in names.BUDGETS:
        judge.decisions(names.budget_of(value), fitted(dev, budget=value))
    shown, log = judge.seen(f"test {PACED}")
    other = fitted(dev, lags=(1, 2, 4, 8, 16))
    change = np.abs(said(other, log)["risk"] - said(full, log)["risk"])
    judge.put(PACED, names.OTHER_PAST, names.RISK_CHANGE, Mean(change, shown.segments))


SPEC = StreamExperiment(
    name="questions",
    title=TITLES["questions"],
    measure=measure,
    comparisons=names.COMPARISONS,
    tasks=(*BACKBONES, *SMALL),
    notes=names.NOTES,
)
