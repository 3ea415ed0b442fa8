"""Second and third stage: whose errors are learned and how new steps are; the monitor's run over the log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ...base.fixed import ONE
from ...log.log import Log
from ...metrics import auroc
from ...monitor.alarm import Alarm
from ...monitor.heads import EvidenceHead, Sight
from ...monitor.monitor import Monitor, run_over
from ...monitor.params import Params
from ...monitor.signals import SLOW, ordered
from .. import learn_head as learn
from ..alarms import FEWEST, find_reach, still_from
from ..arrays import MOST, compared, doublings, novelty
from ..clean import rested_stretches
from ..learn_head import Moments, Part, inside_runs, why_not
from ..sight import BASELINE, Numbers, fit_sight
from ..signal_table import HALF, Ints, Progress, SignalTable, Units, fill_in_means, read_signals
from .state import FitState, Shuffle

TOLERATED = 0.005
"""Share of steps by which answers may be worse than predictions on a log. Where they cost no more, as with
held objects, they gain much as soon as classes stay with new examples."""


def learn_evidence(state: FitState) -> None:
    """Choose whose errors are learned; then, where the alarm sums evidence, learn that of a step."""
    state.progress("evidence", 0, 1)
    answering = state.request.two_heads and state.request.about is None and state.log.labels is not None
    sight = state.request.alarm_of == "sight"
    if answering or sight or state.params.evidence is not None:
        tables = _first_look(state)
        if answering and _harmful(state, tables[0]):
            state.set(about="prediction")
            tables = _first_look(state)
        if sight:
            _learn_sight(state, tables[-1])
        elif state.params.evidence is not None:
            _learn(state, tables)
    state.progress("evidence", 1, 1)


def _first_look(state: FitState) -> list[SignalTable]:
    """Return signals of one step, of each log."""
    kept = ordered(name for name in state.params.signals if name not in SLOW)
    plain = state.params.replace(signals=kept, evidence=None, coef=None, clean_means=None)
    names = [name for name in kept if name in learn.FAST] or kept[:1]
    return [read_signals(plain, log, names) for log in state.logs]


def _harmful(state: FitState, table: SignalTable) -> bool:
    """Tell whether answers are clearly worse than predictions; nothing of them is learned from the log."""
    labels = state.log.labels
    answers, predictions = (float((each != labels).mean()) for each in (table.answers, table.predictions))
    if answers <= predictions + TOLERATED:
        return False
    state.note("answers_do_harm", answers=answers, predictions=predictions)
    return True


class Looked(NamedTuple):
    """What the alarm that sees the input is fitted to."""

    params: Params  # as they were then
    numbers: Numbers  # of all steps of the clean log
    names: tuple[str, ...]  # of gauges
    reach: int
    frozen: float

    def fit(self, state: FitState, runs: list[slice]) -> tuple[Sight, Alarm]:
        """Return the alarm of some clean stretches."""
        rows = np.concatenate([np.arange(run.start, run.stop) for run in runs])
        asked = state.options.baseline_inputs
        return fit_sight(
            self.params,
            state.clean.log,
            runs,
            Numbers(*(each[rows] for each in self.numbers)),
            names=self.names,
            reach=self.reach,
            frozen=self.frozen,
            baseline=BASELINE if asked is None else asked,
            run_length=state.request.run_length,
        )


def _look(state: FitState, table: SignalTable) -> Looked:
    """Read what the alarm sees of the clean log."""
    by_features, log = "distance" in state.params.signals, state.clean.log
    values = compared(log, None if by_features else table.of(("odds",))[:, 0])
    clean = inside_runs(table, state.clean.runs)
    reach = find_reach(values, table.subject.astype(np.int64), clean, state.request.seed)
    new, stillness = novelty(values, reach, ~table.settled)
    held = doublings(values, reach, ~table.settled)[clean]
    names = _common_gauges(state)
    gauges = log.gauges_named(names)
    if gauges is not None:
        inputs = gauges.astype(np.float64)
    else:
        inputs = values.astype(np.float64) if by_features else np.zeros((len(log), 0))
    others = table.of(["odds", "distance"] if by_features else ["odds"]) / ONE
    numbers = Numbers(inputs, others, table.subject, new / MOST)
    return Looked(state.params, numbers, names, reach, still_from(stillness[clean], reach, held))


def _learn_sight(state: FitState, table: SignalTable) -> None:
    """Fit the alarm that sees the input to the clean steps; the signal `degradation` is made of it."""
    state.looked = looked = _look(state, table)
    steps = sum(run.stop - run.start for run in state.clean.runs)
    gauges = list(looked.names)
    state.findings["sight"] = {"gauges": gauges, "reach": looked.reach, "frozen": looked.frozen}
    if steps < FEWEST:
        state.note("no_alarm", steps=steps, fewest=FEWEST)
        return
    sight, alarm = looked.fit(state, state.clean.runs)
    state.set(sight=sight, alarm=alarm, signals=ordered([*state.params.signals, "degradation"]))


LEAST_HALF = 2 * FEWEST
"""Clean steps that a half needs to be fitted to: with fewer, covariances say little."""


def sight_elsewhere(state: FitState) -> dict[str, int] | None:
    """Fit the alarm to one half of the clean steps, count false alarms on the other, both ways."""
    looked, runs, log = state.looked, state.clean.runs, state.clean.log
    if len(runs) > 1:
        halves = [list(runs[0::2]), list(runs[1::2])]
    else:
        middle = (runs[0].start + runs[0].stop) // 2
        halves = [[slice(runs[0].start, middle)], [slice(middle, runs[0].stop)]]
    if looked is None or min(sum(run.stop - run.start for run in half) for half in halves) < LEAST_HALF:
        return None
    raised = inside = steps = 0
    for here, there in (halves, halves[::-1]):
        sight, alarm = looked.fit(state, here)
        monitor, last = Monitor(looked.params.replace(sight=sight, alarm=alarm)), 0
        for run in there:
            on = run_over(monitor, log.take(run))["alarm"] != 0
            raised += int(np.diff(on.astype(int), prepend=last).clip(0).sum())
            last = int(on[-1])
            inside, steps = inside + int(on.sum()), steps + len(on)
            monitor.reset()
    return {"false_alarms": raised, "steps": steps, "alarm_steps": inside}


def _common_gauges(state: FitState) -> tuple[str, ...]:
    """Return the gauges that all logs have."""
    named = [log.names_of_gauges for log in state.logs]
    return tuple(name for name in named[-1] if all(name in each for each in named))


def _learn(state: FitState, tables: list[SignalTable]) -> None:
    by_features, pairs = "distance" in state.params.signals, list(zip(state.logs, tables, strict=True))
    values = [compared(log, None if by_features else table.of(("odds",))[:, 0]) for log, table in pairs]
    clean = inside_runs(tables[-1], state.clean.runs)
    reach = find_reach(values[-1], tables[-1].subject.astype(np.int64), clean, state.request.seed)
    new = [novelty(each, reach, ~table.settled) for each, table in zip(values, tables, strict=True)]
    state.frozen = [np.zeros(len(table), dtype=bool) for table in tables]
    parts = parts_of(state, tables, [novelty for novelty, _ in new])
    calm = [stillness[part.clean] for (_, stillness), part in zip(new, parts, strict=True)]
    limit = still_from(np.concatenate(calm), reach)
    if limit:
        state.frozen = [stillness > limit for _, stillness in new]
        parts = [replace(part, frozen=each) for part, each in zip(parts, state.frozen, strict=True)]
    moments, findings = _moments(state, parts)
    coef = dict(zip(moments.names, moments.coef.tolist(), strict=True))
    head = EvidenceHead(coef, moments.offsets.tolist(), learn.CLIP, reach, frozen=limit)
    state.set(evidence=head)
    state.findings["evidence"] = {**findings, "coef": dict(head.coef), "reach": reach, "frozen": limit}


def _moments(state: FitState, parts: list[Part]) -> tuple[Moments, dict[str, Any]]:
    """Return learned evidence where it can be learned, else deviations from clean steps; and figures."""
    names, classes = state.params.signals, state.params.classes
    why = why_not(state.log, state.clean.log, names)
    clean = int(sum(part.clean.sum() for part in parts))
    degraded = int(sum(part.teaching.sum() for part in parts))
    if why is None and min(clean, degraded) >= FEWEST:
        moments = learn.learn_moments(parts, names, classes)
        return moments, {"clean_steps": clean, **_figures(state, parts, moments)}
    if why is None:
        state.note("few_degraded", clean=clean, degraded=degraded, fewest=FEWEST)
    facts = {"from": "deviations", "clean_steps": clean} | ({} if why is None else {"why": why})
    return learn.deviations(parts, names, classes), facts


def _figures(state: FitState, parts: list[Part], moments: Moments) -> dict[str, Any]:
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


def parts_of(state: FitState, tables: list[SignalTable], novelty: Sequence[Ints | Units]) -> list[Part]:
    """Return what evidence is learned from: the log, then the log of clean steps if that is another one."""
    log, runs = state.log, [state.clean.runs]
    clean = inside_runs(tables[-1], runs[0])
    degraded = [np.zeros(len(table), dtype=bool) for table in tables]
    if why_not(log, state.clean.log, state.params.signals) is None:
        wrong = tables[-1].predictions != state.clean.log.labels
        degraded[0] = learn.degraded_steps(log, float(wrong[clean].mean()))
    if len(tables) > 1:
        # A log beside which there is a clean log has clean stretches of its own where it marks shifts.
        runs.insert(0, [] if log.shifted is None else rested_stretches(state.params, log))
    return [
        Part(table, novelty / MOST, frozen, bad, calm)
        for table, novelty, frozen, bad, calm in zip(
            tables, novelty, state.frozen, degraded, runs, strict=True
        )
    ]


def find_signals(state: FitState) -> None:
    """Run the monitor with its evidence, over the log and over its other orders."""
    log, params = state.log, state.params
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
    before, total = 0, len(log) * shuffled + sum(map(len, state.logs))

    def progress(done: int, of: int) -> None:
        nonlocal before
        state.progress("signals", before + done, total)
        before += of if done == of else 0

    state.tables = [read_signals(sighted, each, names, progress=progress) for each in state.logs]
    state.set(clean_means=_clean_means(params, state.tables[-1], state.clean.runs))
    for each in state.tables:
        fill_in_means(each, state.params)

    def in_order(order: Ints, progress: Progress | None = None) -> Shuffle:
        table = read_signals(sighted, log, names, order, progress)
        fill_in_means(table, state.params)
        assert log.labels is not None
        return Shuffle(order, table, np.asarray(table.subject != log.labels[order]))

    state.errors = None if log.labels is None else np.asarray(state.table.subject != log.labels)
    state.shuffle = in_order(order, progress) if order is not None and shuffled else None
    state.regrouped = None
    if state.shuffle is not None and params.instant is not None and says_little(state.table):
        state.regrouped = in_order(regrouped(log, state.request.seed))


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

PACES = (4, 8, 16, 32)  # steps for which a class stays, on average, in turn


def says_little(table: SignalTable) -> bool:
    """Return whether the past hardly ever counts in a log."""
    return float(table.past.mean()) / HALF < FEW


def regrouped(log: Log, seed: int) -> Ints:
    """Return an order in which classes and kinds of shift stay, in blocks of steps that came together."""
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
