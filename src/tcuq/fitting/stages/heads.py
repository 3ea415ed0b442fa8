"""Fourth stage: coefficients and bias of the uncertainty, learned from errors where the log has labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...base.errors import InputError
from ...base.fixed import ONE
from ...metrics import auroc
from ...monitor.codec import COEF_LIMIT
from ...monitor.signals import FEATURE_BASED, ordered
from ..gated import Gated, Scores, Taught, learn_gated, scores
from ..logistic import balanced_weights, fit_logistic, linear, log_loss
from ..options import FitOptions
from ..signal_table import FOLDS, Flags, Floats, Ints, SignalTable, folds, shift_kinds, some_of
from ..simple_rules import COVERAGE, left_wrong, looked_at
from .evidence import inside_runs
from .state import FitState

FEWEST = 10
"""Errors, and correct steps, that a labeled fit needs at the least."""

BIAS_LIMIT = 256.0

STOCK = "the log has no labels: stock coefficients are used, which know nothing of this classifier"

UNLABELED = (
    "the log has no labels: uncertainty is one minus the top posterior on uncorrelated "
    "streams and one minus the belief on correlated ones, so it is only as calibrated as the classifier"
)

STOCK_WINS = (
    "on kinds of shift that were left out, the uncertainty learned from labels leaves {learned:.1%} wrong of "
    "the surest {share:.0%}, that of a fit without labels {stock:.1%}: the latter is used"
)

GATHERED = (
    "classes hardly stay in the log: what steps with a past look like was learned from its own steps, put "
    "in an order in which they do"
)


def fit_heads(state: FitState) -> None:
    """Learn the coefficients; without labels, keep the stock ones."""
    state.progress("heads", 0, 1)
    state.weighed = state.params.signals if state.options.signals is None else ordered(state.options.signals)
    if state.errors is None:
        _keep_stock(state)
        state.clean_scores = scores(state.params, state.clean_table)
    else:
        _need_both(state.errors[state.table.settled])
        state.findings |= {"labels": True, "errors": int(state.errors.sum())}
        state.findings |= {"nonnegative": state.options.nonnegative, "l2": state.options.l2}
        logits = _learn_both(state) if state.request.two_heads else _learn_one(state)
        every = scores(state.params, state.table)
        same = state.clean_table is state.table
        state.clean_scores = every if same else scores(state.params, state.clean_table)
        state.findings |= _rankings(state, state.errors, every, logits)
    state.progress("heads", 1, 1)


def _keep_stock(state: FitState) -> None:
    note = UNLABELED if state.request.two_heads else STOCK
    if not state.request.two_heads and state.clean.source != "clean log":
        note += "; threshold and alarm are from the log itself"
    state.findings["labels"] = False
    state.notes.append(note)


def _learn_one(state: FitState) -> Floats:
    """Regress errors on the signals; return the logits of the steps that have a past."""
    options, table, wrong = state.options, state.table, state.errors
    assert wrong is not None
    used, target = table.of(state.weighed, table.settled), wrong[table.settled]
    coef, bias = fit_logistic(used, target, options.l2, 0.0 if options.nonnegative else -COEF_LIMIT)
    state.notes += [
        f"coefficient of {name} is held at {value:.0f}, the most that the core stores; the others are "
        "fitted to that, so there is nothing to do"
        for name, value in zip(state.weighed, coef, strict=True)
        if abs(value) > COEF_LIMIT - 0.1
    ]
    given = dict(zip(state.weighed, coef.tolist(), strict=True))
    state.params = state.params.replace(coef=given, bias=_within(bias))
    logits = linear(used, coef, bias)
    state.findings["loss"] = log_loss(logits, target, balanced_weights(target))
    return logits


def _learn_both(state: FitState) -> Floats:
    """Learn both heads on the log and on its other orders; return the logits of the steps with a past."""
    options, table, wrong, shuffle = state.options, state.table, state.errors, state.shuffle
    instant = state.params.instant
    assert wrong is not None and shuffle is not None and instant is not None
    state.weighed, losses = _carrying(state)
    parts = [(each, errors, each.settled) for each, errors, _ in state.orders()]
    if state.clean_table is not table and state.clean.log.labels is not None:
        clean = state.clean_table
        missed = np.asarray(clean.subject != state.clean.log.labels)
        parts.append((clean, missed, inside_runs(clean, state.clean.runs) & clean.settled))
    learned = learn_gated(state.weighed, parts, options.l2, options.nonnegative)
    state.held_out = _held_out(state)
    learned = _no_worse(state, learned)
    alone = dict(zip(learned.instant, learned.instant_coef.tolist(), strict=True))
    steady = dict.fromkeys(state.params.signals, 0.0)
    steady |= zip(learned.steady, learned.steady_coef.tolist(), strict=True)
    head = replace(instant, coef=alone, bias=_within(learned.instant_bias))
    state.params = state.params.replace(instant=head, coef=steady, bias=_within(learned.steady_bias))
    logits = learned.logits(table, table.settled)
    target = wrong[table.settled]
    state.findings |= {
        "prediction_errors": int((table.predictions != state.log.labels).sum()),
        "loss": log_loss(logits, target, np.ones(len(target))),
        "persistence": float(table.persistence.mean() / ONE),
        "persistence_shuffled": float(shuffle.table.persistence.mean() / ONE),
    }
    state.findings |= {"carry_over": losses} if losses else {}
    state.notes += [] if state.gathered is None else [GATHERED]
    return logits


def relearn(state: FitState, parts: Taught, near: Gated | None) -> Gated:
    """Return heads learned from other steps, or those of a fit without labels where these do better."""
    options = state.options
    return state.stock or learn_gated(state.weighed, parts, options.l2, options.nonnegative, near)


def _held_out(state: FitState) -> tuple[Ints, Floats]:
    """Return the steps that are looked at, and their logits from heads learned without their fold."""
    log, table, shuffle, wrong = state.log, state.table, state.shuffle, state.errors
    assert shuffle is not None and wrong is not None
    fold, mixed_fold = folds(log), folds(log, shuffle.order)
    rows, seed = looked_at(log), state.request.seed
    taught = some_of(np.flatnonzero(table.settled), seed)
    mixed = some_of(np.flatnonzero(shuffle.table.settled), seed)
    logits, heads = np.full(len(log), np.nan), None
    for number in range(FOLDS):
        kept, others = taught[fold[taught] != number], mixed[mixed_fold[mixed] != number]
        inside = np.zeros(len(log), dtype=bool)
        inside[rows] = fold[rows] == number
        if inside.any() and wrong[kept].any() and not wrong[kept].all():
            heads = relearn(state, [(table, wrong, kept), (shuffle.table, shuffle.errors, others)], heads)
            logits[inside] = heads.logits(table, inside)
    seen = rows[np.isfinite(logits[rows])]
    return seen, logits[seen]


def doubt_of(state: FitState, rows: Ints, logits: Floats) -> Floats:
    """Return the risk of some steps, from the logits of their errors."""
    uncertainty, blend = 1 / (1 + np.exp(-np.clip(logits, -50, 50))), state.params.blend
    return np.asarray(blend * uncertainty + (1 - blend) * state.table.anchor[rows] / ONE)


def _no_worse(state: FitState, learned: Gated) -> Gated:
    """Return the heads that were learned, or those of a fit without labels where these rank errors better.

    Kinds of shift that were left out decide.
    """
    assert state.held_out is not None and state.errors is not None and state.params.instant is not None
    (rows, logits), params, instant = state.held_out, state.params, state.params.instant
    if not len(rows) or not shift_kinds(state.log):
        return learned
    assert params.coef is not None
    alone, steady = (
        np.array([coef.get(name, 0.0) for name in names])
        for coef, names in ((instant.coef, learned.instant), (params.coef, learned.steady))
    )
    stock = Gated(learned.instant, learned.steady, alone, steady, instant.bias, params.bias)
    wrong = state.errors[rows]
    doubts = doubt_of(state, rows, logits), doubt_of(state, rows, stock.logits(state.table, rows))
    left, other_left = (left_wrong(wrong, doubt) for doubt in doubts)
    ranked, other_ranked = (auroc(doubt, wrong) for doubt in doubts)
    if left <= other_left or ranked >= other_ranked:
        return learned
    state.stock, state.held_out = stock, (rows, stock.logits(state.table, rows))
    state.notes.append(STOCK_WINS.format(learned=left, stock=other_left, share=COVERAGE))
    return stock


def _carrying(state: FitState) -> tuple[tuple[str, ...], dict[str, float]]:
    """Leave features out of the uncertainty where they mislead on kinds of shift that were left out."""
    if state.log.kinds is None:
        return state.weighed, {}
    kinds, orders = state.log.kinds.astype(np.int64), state.orders()
    parts = [(table, errors, table.settled) for table, errors, _ in orders]
    every = [kinds[order] for *_, order in orders]
    return choose_weighed(state.weighed, parts, every, state.options, state.request.seed)


def _need_both(target: Any) -> None:
    errors, correct = int(target.sum()), int((~target).sum())
    if errors < FEWEST or correct < FEWEST:
        has = f"the log has {errors} errors and {correct} correct steps after the first of each segment"
        way = "leave the labels out for a fit without them"
        raise InputError("missing", f"{has}; at least {FEWEST} of each are needed ({way})", "labels")


def _within(bias: float) -> float:
    return float(np.clip(bias, -BIAS_LIMIT, BIAS_LIMIT))


def _rankings(state: FitState, wrong: Flags, every: Scores, logits: Floats) -> dict[str, float]:
    """Return how well errors of the log are ranked: by risk, by both forms of uncertainty, by confidence."""
    settled = state.table.settled
    return {
        "auroc": auroc(every.risk, wrong),
        "auroc_float": auroc(logits, wrong[settled]),
        "auroc_core": auroc(every.uncertainty[settled], wrong[settled]),
        "auroc_confidence": auroc(-state.log.confidence(), wrong),
    }


MOST = 50_000
"""Steps of a table, drawn at random, that a choice looks at."""

Part = tuple[SignalTable, Flags, Flags]
"""A table, where it is wrong, and which rows are used."""


def choose_weighed(
    names: tuple[str, ...], parts: Sequence[Part], kinds: Sequence[Ints], options: FitOptions, seed: int
) -> tuple[tuple[str, ...], dict[str, float]]:
    """Return the signals that the uncertainty weighs: all, or those without features if these mislead.

    What a network's features do under one kind of shift may say the opposite under another. Also return the
    mean negative log-likelihood on kinds that were left out, with and without features; empty where there
    is nothing to choose, or fewer than two kinds to tell.
    """
    bare = tuple(name for name in names if name not in FEATURE_BASED)
    left_out = [int(kind) for kind in np.unique(kinds[0]) if kind]
    if len(bare) in (0, len(names)) or len(left_out) < 2:
        return names, {}
    rng = np.random.default_rng([seed, 3])
    some = [_drawn(rows, rng) for _, _, rows in parts]
    losses = {"with features": 0.0, "without features": 0.0}
    for what, chosen in (("with features", names), ("without features", bare)):
        values: list[float] = []
        for kind in left_out:
            kept = [rows & (kind_of != kind) for rows, kind_of in zip(some, kinds, strict=True)]
            taught = [(table, wrong, rows) for (table, wrong, _), rows in zip(parts, kept, strict=True)]
            learned = learn_gated(chosen, taught, options.l2, options.nonnegative)
            for (table, wrong, _), rows, kind_of in zip(parts, some, kinds, strict=True):
                held = rows & (kind_of == kind)
                if held.any():
                    logits = learned.logits(table, held)
                    values.append(log_loss(logits, wrong[held], np.ones(int(held.sum()))))
        losses[what] = float(np.mean(values))
    better = names if losses["with features"] < losses["without features"] else bare
    return better, losses


def _drawn(rows: Flags, rng: np.random.Generator) -> Flags:
    """Return at most `MOST` of some rows."""
    if rows.sum() <= MOST:
        return rows
    kept = np.zeros(len(rows), dtype=bool)
    kept[rng.choice(np.flatnonzero(rows), MOST, replace=False)] = True
    return kept
