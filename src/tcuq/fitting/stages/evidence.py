"""Second and third stage: whose errors are learned and how new steps are; the monitor's run over the log."""

from __future__ import annotations

import numpy as np

from ...base.fixed import ONE
from ...log.log import Log
from ...metrics import auroc
from ...monitor.heads import EvidenceHead
from ...monitor.params import Params
from ...monitor.signals import SLOW, ordered
from .. import learn_head as learn
from ..alarms import MOST, compared, find_reach, looks, still_from, stillness
from ..clean import rested_stretches
from ..gated import HALF
from ..learn_head import Moments, Part, why_not
from ..signal_table import Flags, Floats, Ints, SignalTable, fill_in_means, read_signals
from .state import FitState, Shuffle

HARM = (
    "answers are wrong on {answers:.1%} of this log, predictions on {predictions:.1%}: the monitor's answer "
    "is therefore the prediction, and past steps can only help to rank its errors"
)

TOLERATED = 0.005
"""Share of steps by which answers may be worse than predictions on a log. Where they cost no more, as with
held objects, they gain much as soon as classes stay with new examples."""


def learn_evidence(state: FitState) -> None:
    """Choose whose errors are learned; then, where the alarm sums evidence, learn that of a step."""
    state.progress("evidence", 0, 1)
    answering = state.request.two_heads and state.request.about is None and state.log.labels is not None
    if answering or state.params.evidence is not None:
        tables = _first_look(state, state.params)
        if answering and _harmful(state, tables[0]):
            state.params = state.params.replace(about="prediction")
            tables = _first_look(state, state.params)
        if state.params.evidence is not None:
            _learn(state, *tables)
    state.progress("evidence", 1, 1)


def _first_look(state: FitState, params: Params) -> tuple[SignalTable, SignalTable]:
    """Return signals of one step, of the log and of the log that holds the clean steps."""
    kept = ordered(name for name in params.signals if name not in SLOW)
    plain = params.replace(signals=kept, evidence=None, coef=None, clean_means=None)
    names = [name for name in kept if name in learn.FAST] or kept[:1]
    table = read_signals(plain, state.log, names)
    same = state.clean.log is state.log
    return table, table if same else read_signals(plain, state.clean.log, names)


def _harmful(state: FitState, table: SignalTable) -> bool:
    """Tell whether answers are clearly worse than predictions; nothing of them is learned from the log."""
    labels = state.log.labels
    answers, predictions = (float((each != labels).mean()) for each in (table.answers, table.predictions))
    if answers <= predictions + TOLERATED:
        return False
    state.notes.append(HARM.format(answers=answers, predictions=predictions))
    return True


def _learn(state: FitState, table: SignalTable, clean_table: SignalTable) -> None:
    params, seed = state.params, state.request.seed
    pairs = [(state.log, table)]
    pairs += [] if clean_table is table else [(state.clean.log, clean_table)]
    values = [compared(log, each, "distance" in params.signals) for log, each in pairs]
    inside = inside_runs(clean_table, state.clean.runs)
    reach = find_reach(values[-1], clean_table.subject.astype(np.int64), inside, seed)
    starts = [~at.settled for _, at in pairs]
    found = [looks(each, reach, at) / MOST for each, at in zip(values, starts, strict=True)]
    calm = [stillness(each, reach, at) for each, at in zip(values, starts, strict=True)]
    parts = parts_of(state, table, clean_table, found, [np.zeros(len(each), dtype=bool) for each in calm])
    clean = [each[part.clean] for each, part in zip(calm, parts, strict=True)]
    still = still_from(np.concatenate(clean), reach)
    state.still = [each > still if still else np.zeros(len(each), dtype=bool) for each in calm]
    parts = parts_of(state, table, clean_table, found, state.still)
    moments, findings = _moments(state, parts)
    coef = dict(zip(moments.names, moments.coef.tolist(), strict=True))
    head = EvidenceHead(coef, moments.offsets.tolist(), learn.CLIP, reach, still=still)
    state.params = params.replace(evidence=head)
    state.findings["evidence"] = {**findings, "coef": dict(head.coef), "reach": reach, "still": still}
    state.learned = "from" not in findings


def _moments(state: FitState, parts: list[Part]) -> tuple[Moments, dict[str, object]]:
    """Return learned evidence where it can be learned, else deviations from clean steps."""
    names, classes = state.params.signals, state.params.classes
    why = state.misled or why_not(state.log, state.clean.log, names)
    steps: dict[str, object] = {"clean_steps": int(sum(part.clean.sum() for part in parts))}
    if why is None:
        try:
            moments = learn.learn_moments(parts, names, classes)
        except ValueError as error:
            state.notes.append(f"the alarm sums deviations from clean steps: {error}")
        else:
            return moments, {**steps, **_told(state, parts, moments)}
    facts = {"from": "deviations", **steps} | ({} if why is None else {"why": why})
    return learn.deviations(parts, names, classes), facts


def _told(state: FitState, parts: list[Part], moments: Moments) -> dict[str, object]:
    """Return figures of learned evidence."""
    clean = np.concatenate([moments.of(part)[part.clean] for part in parts])
    degraded = np.concatenate([moments.of(part)[part.degraded] for part in parts])
    every = np.concatenate([clean, degraded])
    assert state.log.kinds is not None
    return {
        "degraded_steps": len(degraded),
        "benign_steps": int(((state.log.kinds > 0) & ~parts[0].degraded).sum()),
        "mean_clean": float(clean.mean()),
        "mean_degraded": float(degraded.mean()),
        "auroc": auroc(every, np.arange(len(every)) >= len(clean)),
    }


def parts_of(
    state: FitState, table: SignalTable, clean_table: SignalTable, found: list[Floats], still: list[Flags]
) -> list[Part]:
    """Return what evidence is learned from: the log, then the log of clean steps if that is another one."""
    log, runs = state.log, state.clean.runs
    inside = inside_runs(clean_table, runs)
    degraded = np.zeros(len(table), dtype=bool)
    if why_not(log, state.clean.log, state.params.signals) is None:
        wrong = clean_table.predictions != state.clean.log.labels
        degraded = learn.degraded_steps(log, float(wrong[inside].mean()))
    if clean_table is table:
        return [Part(table, found[0], still[0], inside, degraded, runs)]
    # A log beside which there is a clean log has clean stretches of its own where it marks shifts.
    own = [] if log.shifted is None else rested_stretches(state.params, log)
    return [
        Part(table, found[0], still[0], inside_runs(table, own), degraded, own),
        Part(clean_table, found[1], still[1], inside, np.zeros(len(inside), dtype=bool), runs),
    ]


def inside_runs(table: SignalTable, runs: list[slice]) -> Flags:
    """Return which steps lie in some stretches."""
    inside = np.zeros(len(table), dtype=bool)
    for run in runs:
        inside[run] = True
    return inside


def find_signals(state: FitState) -> None:
    """Run the monitor with its evidence, over the log and over its other orders."""
    log, part, params = state.log, state.clean, state.params
    # What the current posterior says without any past is asked for at the end, whatever signals are in use.
    names = ordered([*params.signals, "doubt"])
    sighted = params.replace(signals=names, coef=None, clean_means=None)
    # Drawn also where nothing is explained: the draws for the alarm follow it, and a fit must be the same
    # with and without an explanation.
    if log.labels is not None and state.order is None:
        state.order = state.rng.permutation(len(log))
    order = state.order
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
