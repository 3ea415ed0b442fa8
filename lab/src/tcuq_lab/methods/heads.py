"""Heads that no option of `tcuq.fit` gives: without memory, without a gate, with some signals alone.

All of them learn from the same signals, by the regression of the standard fit. Threshold and alarm are left
as they come: these variants are judged by how they rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tcuq.fitting.options import FitOptions
from tcuq.fitting.signal_table import HALF
from tcuq.fitting.stages.evidence import find_signals, learn_evidence
from tcuq.fitting.stages.heads import INSTANT, Part, choose_weighed, learn_gated
from tcuq.fitting.stages.read import read
from tcuq.fitting.stages.state import FitState, Request
from tcuq.log.log import Log
from tcuq.monitor.params import Params
from tcuq.monitor.signals import SLOW

CONFIDENCE, BELIEF = "confidence", "belief"


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
    """Return a monitor with one head over all signals, as if classes stayed on every stream.

    The belief behind `disbelief` still learns how long classes stay: the core has no other.
    """
    parts = [_with_past(part, 1.0) for part in _parts(signals)[: 1 + shuffle]]
    return _one_head(signals, signals.params.signals, parts, BELIEF)


def weighing(signals: FitState, names: Sequence[str], choose: bool = False) -> Params:
    """Return a monitor that weighs some signals; it leans on the belief where `disbelief` is one of them."""
    kept, parts = tuple(names), _parts(signals)
    kept = _carried(signals, kept, parts) if choose else kept
    return _gated(signals, kept, parts, BELIEF if "disbelief" in kept else CONFIDENCE)


def fixed_gate(params: Params, share: float) -> Params:
    """Return a monitor whose past counts by the same share on every stream.

    Both heads are made the mixture of the two, so that nothing is left to decide between.
    """
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
    bias = _within(found.steady_bias if past else found.instant_bias)
    weighed = found.steady if past else found.instant
    given = dict.fromkeys(signals.params.signals, 0.0) | weighed
    instant = signals.params.instant
    assert instant is not None
    return signals.params.replace(
        instant=replace(instant, coef=given, bias=bias), coef=given, bias=bias, anchor=anchor
    )


def _gated(signals: FitState, names: tuple[str, ...], parts: Sequence[Part], anchor: str) -> Params:
    """Return a monitor with two heads over some signals."""
    found = learn_gated(names, parts, signals.options.l2)
    instant = signals.params.instant
    assert instant is not None
    return signals.params.replace(
        instant=replace(instant, coef=found.instant, bias=_within(found.instant_bias)),
        coef=dict.fromkeys(signals.params.signals, 0.0) | found.steady,
        bias=_within(found.steady_bias),
        anchor=anchor,
    )


def _within(bias: float) -> float:
    """Return the nearest bias that the core can hold."""
    return min(max(bias, -256.0), 256.0)
