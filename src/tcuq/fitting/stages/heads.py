"""Fourth stage: coefficients and bias of the uncertainty, learned from errors where the log has labels."""

# With s, how far the past counts, z = (1 - s) * (bias + signals of one step) + s * (bias + all signals) is
# linear: one regression on products of s and the signals learns both heads. The shuffle shows what holds
# where time says nothing.

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...base.errors import InputError
from ...base.fixed import ONE
from ...metrics import auroc
from ...monitor.codec import COEF_LIMIT
from ...monitor.signals import FEATURE_BASED, ordered
from ..arrays import scores
from ..learn_head import inside_runs
from ..logistic import balanced_weights, fit_logistic, linear, log_loss
from ..options import FitOptions
from ..signal_table import (
    FOLDS,
    HALF,
    Flags,
    Floats,
    Ints,
    SignalTable,
    chunks,
    folds,
    shift_kinds,
    some_of,
)
from ..simple_rules import COVERAGE, left_wrong, looked_at
from .state import FitState

INSTANT = ("odds", "degradation", "magnitude", "distance", "drift")
"""Signals that mean the same whether or not classes stay; the instant head reads those in use."""
FEWEST = 10  # errors, and correct steps, that a labeled fit needs at the least
BIAS_LIMIT = 256.0


def fit_heads(state: FitState) -> None:
    """Learn the coefficients; without labels, keep the stock ones."""
    state.progress("heads", 0, 1)
    state.weighed = state.params.signals if state.options.signals is None else ordered(state.options.signals)
    if state.errors is None:
        state.findings["labels"] = False
        own_limits = state.clean.source != "clean log"
        stock = "stock_coefficients_own_limits" if own_limits else "stock_coefficients"
        state.note("no_labels" if state.request.two_heads else stock)
        state.clean_scores = scores(state.params, state.tables[-1])
    else:
        _need_both(state.errors[state.table.settled])
        state.findings |= {"labels": True, "errors": int(state.errors.sum())}
        state.findings["l2"] = state.options.l2
        logits = _learn_both(state) if state.request.two_heads else _learn_one(state)
        every = [scores(state.params, table) for table in state.tables]
        state.clean_scores = every[-1]
        wrong, settled = state.errors, state.table.settled
        state.findings |= {
            "auroc": auroc(every[0].risk, wrong),
            "auroc_float": auroc(logits, wrong[settled]),
            "auroc_core": auroc(every[0].uncertainty[settled], wrong[settled]),
            "auroc_confidence": auroc(-state.log.confidence(), wrong),
        }
    state.progress("heads", 1, 1)


def _learn_one(state: FitState) -> Floats:
    """Regress errors on the signals; return the logits of the steps that have a past."""
    options, table, wrong = state.options, state.table, state.errors
    assert wrong is not None
    used, target = table.of(state.weighed, table.settled), wrong[table.settled]
    coef, bias = fit_logistic(used, target, options.l2)
    given = dict(zip(state.weighed, coef.tolist(), strict=True))
    for name, value in given.items():
        if abs(value) > COEF_LIMIT - 0.1:
            state.note("coefficient_at_limit", signal=name, value=value)
    state.set(coef=given, bias=_within(bias))
    logits = linear(used, coef, bias)
    state.findings["loss"] = log_loss(logits, target, balanced_weights(target))
    return logits


def _learn_both(state: FitState) -> Floats:
    """Learn both heads on the log and on its other orders; return the logits of the steps with a past."""
    options, table, wrong, shuffle = state.options, state.table, state.errors, state.shuffle
    instant = state.params.instant
    assert wrong is not None and shuffle is not None and instant is not None
    parts = [(each, errors, each.settled) for each, errors, _ in state.orders()]
    losses: dict[str, float] = {}
    if state.log.kinds is not None:
        kinds = [state.log.kinds.astype(np.int64)[order] for *_, order in state.orders()]
        state.weighed, losses = choose_weighed(state.weighed, parts, kinds, options, state.request.seed)
    if len(state.tables) > 1 and state.clean.log.labels is not None:
        clean = state.tables[1]
        missed = np.asarray(clean.subject != state.clean.log.labels)
        parts.append((clean, missed, inside_runs(clean, state.clean.runs) & clean.settled))
    learned = learn_gated(state.weighed, parts, options.l2)
    state.held_out = _held_out(state)
    learned = _no_worse(state, learned)
    head = replace(instant, coef=learned.instant, bias=_within(learned.instant_bias))
    steady = dict.fromkeys(state.params.signals, 0.0) | learned.steady
    state.set(instant=head, coef=steady, bias=_within(learned.steady_bias))
    logits = learned.logits(table, table.settled)
    target = wrong[table.settled]
    state.findings |= {
        "prediction_errors": int((table.predictions != state.log.labels).sum()),
        "loss": log_loss(logits, target, np.ones(len(target))),
        "persistence": float(table.persistence.mean() / ONE),
        "persistence_shuffled": float(shuffle.table.persistence.mean() / ONE),
    }
    state.findings |= {"carry_over": losses} if losses else {}
    if state.regrouped is not None:
        state.note("regrouped")
    return logits


def relearn(state: FitState, parts: Taught, near: Gated | None) -> Gated:
    """Return heads learned from other steps, or those of a fit without labels where these do better."""
    return state.stock or learn_gated(state.weighed, parts, state.options.l2, near)


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
    """Return the heads that were learned, or the stock ones where these do better on kinds left out."""
    assert state.held_out is not None and state.errors is not None and state.params.instant is not None
    (rows, logits), params, instant = state.held_out, state.params, state.params.instant
    if not len(rows) or not shift_kinds(state.log):
        return learned
    assert params.coef is not None
    alone = {name: instant.coef.get(name, 0.0) for name in learned.instant}
    steady = {name: params.coef.get(name, 0.0) for name in learned.steady}
    stock = Gated(alone, steady, instant.bias, params.bias)
    wrong = state.errors[rows]
    doubts = doubt_of(state, rows, logits), doubt_of(state, rows, stock.logits(state.table, rows))
    left, other_left = (left_wrong(wrong, doubt) for doubt in doubts)
    ranked, other_ranked = (auroc(doubt, wrong) for doubt in doubts)
    if left <= other_left or ranked >= other_ranked:
        return learned
    state.stock, state.held_out = stock, (rows, stock.logits(state.table, rows))
    state.note("stock_heads_win", learned=left, stock=other_left, share=COVERAGE)
    return stock


def _need_both(target: Any) -> None:
    errors, correct = int(target.sum()), int((~target).sum())
    if errors < FEWEST or correct < FEWEST:
        has = f"the log has {errors} errors and {correct} correct steps after the first of each segment"
        way = f"at least {FEWEST} of each are needed (leave the labels out for a fit without them)"
        raise InputError("missing", f"{has}; {way}", "labels", (errors, correct), FEWEST)


def _within(bias: float) -> float:
    return float(np.clip(bias, -BIAS_LIMIT, BIAS_LIMIT))


MOST = 50_000  # steps of a table, drawn at random, that a choice looks at

Part = tuple[SignalTable, Flags, Flags]
"""A table, where it is wrong, and which rows are used."""


def choose_weighed(
    names: tuple[str, ...], parts: Sequence[Part], kinds: Sequence[Ints], options: FitOptions, seed: int
) -> tuple[tuple[str, ...], dict[str, float]]:
    """Return the signals that the uncertainty weighs, and losses on kinds that were left out of a choice."""
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
            learned = learn_gated(chosen, taught, options.l2)
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


@dataclass(frozen=True, eq=False)
class Gated:
    """Both heads, as floats."""

    instant: dict[str, float]
    steady: dict[str, float]
    instant_bias: float
    steady_bias: float

    def logits(self, table: SignalTable, rows: Any = slice(None)) -> Floats:
        """Return the logit of some steps, given as a slice, as flags or by number."""
        chosen = np.arange(len(table))[rows]
        out = np.empty(len(chosen))
        for part in chunks(len(chosen)):
            at = chosen[part]
            share = table.past[at] / HALF
            instant, steady = (
                table.of(tuple(coef), at) / ONE @ np.array(list(coef.values())) + bias
                for coef, bias in ((self.instant, self.instant_bias), (self.steady, self.steady_bias))
            )
            out[part] = (1 - share) * instant + share * steady
        return out


Taught = Sequence[tuple[SignalTable, Flags, Flags | Ints]]
"""Tables, where each is wrong, and which of its rows teach."""


def learn_gated(names: Sequence[str], parts: Taught, l2: float, near: Gated | None = None) -> Gated:
    """Learn both heads from some rows of tables; heads of the same signals that are `near` save passes."""
    instant, steady = [name for name in names if name in INSTANT], list(names)
    chosen = [(table, errors, np.arange(len(table))[rows]) for table, errors, rows in parts]
    start = None
    if near is not None:
        more = near.steady_bias - near.instant_bias
        start = np.array([more, *near.instant.values(), *near.steady.values()]), near.instant_bias
    target = np.concatenate([errors[rows] for _, errors, rows in chosen])
    x = _columns([(table, rows) for table, _, rows in chosen], instant, steady)
    coef, bias = fit_logistic(x, target, l2, balanced=False, start=start, in_place=True)
    # The first column is s itself: what the bias of the steady head has beyond that of the instant one.
    more, *learned = coef.tolist()
    alone, past = zip(instant, learned, strict=False), zip(steady, learned[len(instant) :], strict=True)
    return Gated(dict(alone), dict(past), bias, bias + more)


def _columns(parts: list[tuple[SignalTable, Ints]], instant: Sequence[str], steady: Sequence[str]) -> Floats:
    """Return the products of s and the signals, and a column for ones, in one array."""
    cut, width = 1 + len(instant), 1 + len(instant) + len(steady)
    x = np.empty((sum(len(rows) for _, rows in parts), width + 1))
    done = 0
    for table, rows in parts:
        for part in chunks(len(rows)):
            at, out = rows[part], x[done : done + part.stop - part.start]
            share = table.past[at][:, None] / HALF
            out[:, :1] = share
            out[:, 1:cut] = (1 - share) * (table.of(instant, at) / ONE)
            out[:, cut:width] = share * (table.of(steady, at) / ONE)
            done += len(at)
    return x
