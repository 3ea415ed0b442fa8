"""Third stage: the monitor runs over the log, and the clean mean of each signal is taken."""

from __future__ import annotations

import numpy as np

from ...base.fixed import ONE
from ...monitor.log import Log
from ...monitor.params import Params
from ...monitor.signals import ordered
from ..gated import HALF
from ..signal_table import Ints, SignalTable, fill_in_means, read_signals
from .evidence import inside_runs
from .state import FitState, Shuffle


def find_signals(state: FitState) -> None:
    """Run the monitor with its evidence, over the log and over its other orders."""
    log, part, params = state.log, state.clean, state.params
    # What the current posterior says without any past is asked for at the end, whatever signals are in use.
    names = ordered([*params.signals, "doubt"])
    sighted = params.replace(signals=names, coef=None, clean_means=None)
    # Drawn also where nothing is explained: the draws for the alarm follow it, and a fit must be the same
    # with and without an explanation.
    order = None if log.labels is None else state.rng.permutation(len(log))
    # Two heads learn from the shuffle too; else it only tells whether time helps.
    shuffled = order is not None and (state.options.explain or params.instant is not None)
    before, total = 0, len(log) * (1 + shuffled) + (len(part.log) if part.log is not log else 0)

    def progress(done: int, of: int) -> None:
        nonlocal before
        state.progress("signals", before + done, total)
        before += of if done == of else 0

    table = read_signals(sighted, log, names, progress=progress)
    clean = table if part.log is log else read_signals(sighted, part.log, names, progress=progress)
    params = params.replace(clean_means=_clean_means(params, clean, part.runs))
    mixed = read_signals(sighted, log, names, order, progress) if shuffled else None
    for each in {id(found): found for found in (table, clean, mixed) if found is not None}.values():
        fill_in_means(each, params)
    state.params, state.table, state.clean_table = params, table, clean
    state.errors = None if log.labels is None else np.asarray(table.subject != log.labels)
    state.shuffle = state.gathered = None
    if order is not None and mixed is not None:
        assert log.labels is not None
        state.shuffle = Shuffle(order, mixed, np.asarray(mixed.subject != log.labels[order]))
        if params.instant is not None and says_little(table):
            order = gathered(log, state.request.seed)
            staying = read_signals(sighted, log, names, order)
            fill_in_means(staying, params)
            state.gathered = Shuffle(order, staying, np.asarray(staying.subject != log.labels[order]))


def _clean_means(params: Params, table: SignalTable, runs: list[slice]) -> dict[str, float]:
    """Return the mean of each signal over clean steps, those that have a past where there are any."""
    inside = inside_runs(table, runs)
    with_past = inside & table.settled
    kept = with_past if with_past.any() else inside
    count = int(kept.sum())
    return {
        name: int(table.units[kept, column].sum(dtype=np.int64)) / ONE / count
        for name, column in zip(params.signals, table.columns(params.signals), strict=True)
    }


FEW = 0.1
"""Mean share of the past below which a log says too little about it; 0.3 where classes stay for 4 steps."""

PACES = (4, 8, 16, 32)
"""Steps for which a class stays, on average, in turn."""


def says_little(table: SignalTable) -> bool:
    """Return whether the past hardly ever counts in a log."""
    return float(table.past.mean()) / HALF < FEW


def gathered(log: Log, seed: int) -> Ints:
    """Return an order of the steps of a labeled log in which classes stay, and so do kinds of shift.

    A block holds steps that followed each other within their kind, class by class; blocks come in random
    order.
    """
    assert log.labels is not None
    rng = np.random.default_rng([seed, 5])
    kinds = np.zeros(len(log), dtype=np.int64) if log.kinds is None else log.kinds
    blocks: list[Ints] = []
    for kind in np.unique(kinds):
        steps = np.flatnonzero(kinds == kind)
        while len(steps):
            size = PACES[len(blocks) % len(PACES)] * log.classes
            block, steps = steps[:size], steps[size:]
            # One more than there are classes: a label below 0 says that it is none of them.
            turn = rng.permutation(log.classes + 1)
            blocks.append(block[np.argsort(turn[np.maximum(log.labels[block], -1)], kind="stable")])
    return np.concatenate([blocks[at] for at in rng.permutation(len(blocks))])
