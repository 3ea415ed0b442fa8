"""Third stage: coefficients and bias of the uncertainty, learned from errors where the log has labels."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...base.fixed import ONE
from ...metrics.ranking import auroc
from ...monitor.params import COEF_LIMIT, Params
from ...monitor.signals import ordered
from ..carry_over import choose_weighed
from ..gated import learn_gated
from ..logistic import balanced_weights, calibrated_bias, fit_logistic, linear, log_loss
from ..risk import Scores, scores
from .signals import Signals

FEWEST = 10
"""Errors, and correct steps, that a labeled fit needs at the least."""

BIAS_LIMIT = 256.0

STOCK = "the log has no labels: stock coefficients are used, which know nothing of this classifier"

UNLABELED = (
    "the log has no labels: uncertainty is one minus the posterior, or one minus the belief as far as "
    "classes stay, and knows no more of this classifier than it does itself"
)

GATHERED = (
    "classes hardly stay in the log: what steps with a past look like was learned from its own steps, put "
    "in an order in which they do"
)


@dataclass(frozen=True, eq=False)
class Heads:
    """The head of the uncertainty, and what it says.

    Parameters
    ----------
    signals : Signals
    params : Params
        With coefficients and bias.
    weighed : tuple of str
        Signals that the uncertainty weighs; the others have a coefficient of 0.
    clean : Scores
        Uncertainty and risk on the log that holds the clean steps.
    findings : dict
    notes : tuple of str
    """

    signals: Signals
    params: Params
    weighed: tuple[str, ...]
    clean: Scores
    findings: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def fit_heads(signals: Signals) -> Heads:
    """Learn the coefficients; without labels, keep the stock ones."""
    reading, params = signals.reading, signals.params
    reading.progress("heads", 0, 1)
    if signals.errors is None:
        note = STOCK if params.instant is None else UNLABELED
        if params.instant is None and reading.clean.source != "clean log":
            note += "; threshold and alarm are from the log itself"
        clean = scores(params, signals.clean)
        reading.progress("heads", 1, 1)
        return Heads(signals, params, params.signals, clean, {"labels": False}, (note,))
    weighed = _weighed(params, reading.options.head.risk_signals)
    if params.instant is None:
        params, findings, notes = _learned(signals, weighed)
    else:
        weighed, losses = _carrying(signals, weighed)
        params, findings, notes = _both_learned(signals, weighed)
        findings |= {"carry_over": losses} if losses else {}
    every = scores(params, signals.table)
    clean = every if signals.clean is signals.table else scores(params, signals.clean)
    findings |= _rankings(signals, every, findings.pop("logits"))
    if _calibrates(signals):
        findings["mean_uncertainty"] = float(every.uncertainty.mean())
    reading.progress("heads", 1, 1)
    return Heads(signals, params, weighed, clean, findings, notes)


def _weighed(params: Params, chosen: Any) -> tuple[str, ...]:
    """Return the signals that the uncertainty weighs."""
    if chosen is None:
        return params.signals
    kept = ordered(chosen)
    for name in kept:
        if name not in params.signals:
            raise ValueError(
                f"risk signal {name} is not among the signals, expected some of {', '.join(params.signals)}"
            )
    return kept


def _calibrates(signals: Signals) -> bool:
    asked = signals.reading.options.head.calibrate
    by_default = signals.reading.extended and signals.params.instant is None
    return by_default if asked is None else asked


def _learned(signals: Signals, weighed: tuple[str, ...]) -> tuple[Params, dict[str, Any], tuple[str, ...]]:
    """Regress errors on the signals; return parameters, figures and notes.

    Among the figures are the `logits` of the steps that have a past, as floats.
    """
    how, table, wrong = signals.reading.options.head, signals.table, signals.errors
    assert wrong is not None
    used, target = table.of(weighed, table.settled), wrong[table.settled]
    _need_both(target)
    coef, bias = fit_logistic(used, target, how.l2, 0.0 if how.nonnegative else -COEF_LIMIT)
    notes = tuple(
        f"coefficient of {name} is held at {value:.0f}, the most that the core stores; the others are "
        "fitted to that, so there is nothing to do"
        for name, value in zip(weighed, coef, strict=True)
        if abs(value) > COEF_LIMIT - 0.1
    )
    given = dict.fromkeys(signals.params.signals, 0.0) | dict(zip(weighed, coef.tolist(), strict=True))
    params = signals.params.replace(coef=given, bias=_within(bias))
    assert params.coef is not None
    stored = np.array([params.coef[name] for name in weighed])
    weights = balanced_weights(target)
    logits = linear(used, coef, bias)
    exact = log_loss(logits, target, weights)
    quantized = log_loss(linear(used, stored, params.bias), target, weights)
    if _calibrates(signals):
        # The regression treats errors and correct steps as equally many.
        plain = linear(table.of(weighed), stored)
        params = params.replace(bias=_within(calibrated_bias(plain, float(wrong.mean()))))
    findings = {
        "labels": True,
        "errors": int(wrong.sum()),
        "nonnegative": how.nonnegative,
        "l2": how.l2,
        "loss": exact,
        "loss_from_quantization": quantized - exact,
        "logits": logits,
    }
    return params, findings, notes


def _carrying(signals: Signals, weighed: tuple[str, ...]) -> tuple[tuple[str, ...], dict[str, float]]:
    """Leave features out of the uncertainty where they mislead on kinds of shift that were left out."""
    log = signals.reading.log
    if log.kinds is None or signals.reading.options.head.risk_signals is not None:
        return weighed, {}
    kinds = log.kinds.astype(np.int64)
    orders = signals.orders()
    parts = [(table, errors, table.settled) for table, errors, _ in orders]
    options = signals.reading.options
    return choose_weighed(
        weighed, parts, [kinds[order] for *_, order in orders], options.head.l2, options.seed
    )


def _both_learned(
    signals: Signals, weighed: tuple[str, ...]
) -> tuple[Params, dict[str, Any], tuple[str, ...]]:
    """Learn both heads on the log and on its other orders; return parameters, figures and notes."""
    how, table, wrong, shuffle = (
        signals.reading.options.head,
        signals.table,
        signals.errors,
        signals.shuffle,
    )
    assert wrong is not None and shuffle is not None and signals.params.instant is not None
    _need_both(wrong[table.settled])
    parts = [(each, errors, each.settled) for each, errors, _ in signals.orders()]
    found = learn_gated(weighed, parts, how.l2, how.nonnegative)
    params = signals.params
    instant = dict(zip(found.instant, found.instant_coef.tolist(), strict=True))
    steady = dict.fromkeys(params.signals, 0.0) | dict(
        zip(found.steady, found.steady_coef.tolist(), strict=True)
    )
    assert params.instant is not None
    head = replace(params.instant, coef=instant, bias=_within(found.instant_bias))
    params = params.replace(instant=head, coef=steady, bias=_within(found.steady_bias))
    logits = found.logits(table, table.settled)
    target = wrong[table.settled]
    findings = {
        "labels": True,
        "errors": int(wrong.sum()),
        "prediction_errors": int((table.predictions != signals.reading.log.labels).sum()),
        "nonnegative": how.nonnegative,
        "l2": how.l2,
        "loss": log_loss(logits, target, np.ones(len(target))),
        "loss_from_quantization": 0.0,
        "persistence": float(table.persistence.mean() / ONE),
        "persistence_shuffled": float(shuffle.table.persistence.mean() / ONE),
        "logits": logits,
    }
    return params, findings, () if signals.gathered is None else (GATHERED,)


def _need_both(target: Any) -> None:
    errors, correct = int(target.sum()), int((~target).sum())
    if errors < FEWEST or correct < FEWEST:
        raise ValueError(
            f"the log has {errors} errors and {correct} correct steps after the first of each segment; at "
            f"least {FEWEST} of each are needed (leave the labels out for a fit without them)"
        )


def _within(bias: float) -> float:
    return float(np.clip(bias, -BIAS_LIMIT, BIAS_LIMIT))


def _rankings(signals: Signals, every: Scores, logits: Any) -> dict[str, float]:
    """Return how well errors of the log are ranked: by risk, by both forms of uncertainty, by confidence."""
    wrong, settled = signals.errors, signals.table.settled
    assert wrong is not None
    return {
        "auroc": auroc(every.risk, wrong),
        "auroc_float": auroc(logits, wrong[settled]),
        "auroc_core": auroc(every.uncertainty[settled], wrong[settled]),
        "auroc_confidence": auroc(-signals.reading.log.confidence(), wrong),
    }
