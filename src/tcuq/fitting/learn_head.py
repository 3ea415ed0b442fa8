"""The head of the alarm: degraded against clean steps, learned on signals that react at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.fixed import ONE
from ..metrics import auroc
from ..monitor.evidence_head import COEF_LIMIT, COEF_UNIT, OFFSET_LIMIT, EvidenceHead
from ..monitor.log import Log
from .alarms import FEWEST
from .logistic import fit_logistic
from .signal_table import SignalTable

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

FAST = ("odds", "magnitude", "distance")
"""What the head reads, of the signals in use: a mean would add its past again at every step."""

COST = 0.02
"""Share of errors beyond that of clean steps from which a shift counts as degraded."""

LONG = 300
"""Steps from which a stretch of one kind of shift is judged by its own errors, not by those of its kind."""


@dataclass(frozen=True)
class Learned:
    """A head and what it was learned from.

    Parameters
    ----------
    findings : dict
        Figures for the notes.
    """

    head: EvidenceHead
    findings: dict[str, Any]
    warnings: list[str]


def why_not(log: Log, clean_log: Log, names: Sequence[str]) -> str | None:
    """Return what is missing for a head, in words; None when one can be learned."""
    if log.labels is None or clean_log.labels is None:
        return "labels are missing"
    if log.kinds is None or not (log.kinds > 0).any():
        return "no step is marked as shifted"
    if not any(name in FAST for name in names):
        return f"none of the signals {', '.join(FAST)} is in use"
    return None


def degraded_steps(log: Log, clean_rate: float) -> Flags:
    """Return the shifted steps whose shift costs accuracy.

    Parameters
    ----------
    log : Log
        With labels and `shifted`.
    clean_rate : float
        Share of errors on clean steps.

    Examples
    --------
    >>> log = Log([[0.9, 0.1]] * 6, labels=[0, 0, 1, 1, 0, 0], shifted=[0, 0, 1, 1, 2, 2])
    >>> degraded_steps(log, 0.0).tolist()
    [False, False, True, True, False, False]
    """
    assert log.kinds is not None
    wrong = log.errors()
    rates = {int(kind): float(wrong[log.kinds == kind].mean()) for kind in np.unique(log.kinds)}
    out = np.zeros(len(log), dtype=bool)
    for piece in log.pieces():
        cuts = (np.flatnonzero(np.diff(log.kinds[piece])) + 1 + piece.start).tolist()
        for start, stop in pairwise([piece.start, *cuts, piece.stop]):
            kind = int(log.kinds[start])
            rate = float(wrong[start:stop].mean()) if stop - start >= LONG else rates[kind]
            out[start:stop] = kind > 0 and rate > clean_rate + COST
    return out


def taught_steps(
    degrading: tuple[Log, SignalTable], clean: tuple[Log, SignalTable], clean_runs: Sequence[slice]
) -> tuple[Flags, Flags]:
    """Return the degraded steps of a log, and the clean steps of the other, from which a head learns."""
    (log, table), (clean_log, clean_table) = degrading, clean
    taught = np.zeros(len(clean_log), dtype=bool)
    for run in clean_runs:
        taught[run] = True
    clean_rate = float((clean_table.predictions != clean_log.labels)[taught].mean())
    taught &= clean_table.settled
    degraded = degraded_steps(log, clean_rate) & table.settled
    if taught.sum() < FEWEST or degraded.sum() < FEWEST:
        raise ValueError(
            f"evidence cannot be learned: the log has {int(taught.sum())} clean and {int(degraded.sum())} "
            f"degraded steps; at least {FEWEST} of each are needed"
        )
    return degraded, taught


def learn_head(
    classes: int,
    names: Sequence[str],
    degrading: tuple[Log, SignalTable],
    clean: tuple[Log, SignalTable],
    clean_runs: Sequence[slice],
    l2: float,
    clip: float,
) -> Learned:
    """Learn how much more likely a step is on degraded input than on clean.

    Signals are centered by their clean mean under the same answer, so that a hard class that stays does
    not look like a degradation; the centering ends up in the offsets. The regression gives both kinds of
    steps the same weight, so that its logit is a log-likelihood ratio. Shifts that cost no accuracy
    take no part: they should not raise the alarm, nor teach what clean looks like.

    Parameters
    ----------
    names : sequence of str
        Signals in use; the head reads those of `FAST`.
    degrading : pair of Log and SignalTable
        With labels and `shifted`.
    clean : pair of Log and SignalTable
        With labels; may be the same.
    clean_runs : sequence of slice
        Clean stretches of the latter.
    l2 : float
        Strength of the penalty.
    clip : float
        Most that one step adds or takes off.
    """
    (log, table), (clean_log, clean_table) = degrading, clean
    missing = why_not(log, clean_log, names)
    if missing:
        raise ValueError(f"evidence cannot be learned: {missing}")
    names = [name for name in names if name in FAST]
    degraded, taught = taught_steps(degrading, clean, clean_runs)
    x = np.concatenate([clean_table.of(names, taught), table.of(names, degraded)]) / ONE
    answers = np.concatenate([clean_table.subject[taught], table.subject[degraded]]).astype(np.int64)
    target = np.arange(len(x)) >= taught.sum()
    coef, offsets = regression(x, answers, target, classes, l2)
    warnings = [
        f"coefficient of {name} in the evidence is held at {value:.0f}, the most that the core stores; the "
        "others are fitted to that, so there is nothing to do"
        for name, value in zip(names, coef, strict=True)
        if abs(value) > COEF_LIMIT - 0.1
    ]
    if np.abs(offsets).max() >= OFFSET_LIMIT:
        warnings.append(
            f"offsets of the evidence are held within {OFFSET_LIMIT:.0f}, the most that the core stores"
        )
        offsets = np.clip(offsets, -OFFSET_LIMIT, OFFSET_LIMIT)
    head = EvidenceHead(dict(zip(names, coef.tolist(), strict=True)), offsets.tolist(), clip)
    added = np.clip(x @ coef + offsets[answers], -clip, clip)
    assert log.kinds is not None
    findings = {
        "clean_steps": int(taught.sum()),
        "degraded_steps": int(degraded.sum()),
        "benign_steps": int(((log.kinds > 0) & table.settled & ~degraded).sum()),
        "mean_clean": float(added[~target].mean()),
        "mean_degraded": float(added[target].mean()),
        "auroc": auroc(added, target),
        "coef": dict(head.coef),
    }
    return Learned(head, findings, warnings)


def regression(
    x: Floats, answers: npt.NDArray[np.int64], degraded: Flags, classes: int, l2: float
) -> tuple[Floats, Floats]:
    """Return coefficients and an offset a class of a log-likelihood ratio.

    Parameters
    ----------
    answers : array of n integers
        Classes that were answered; signals are centered by their clean mean under the same answer.
    degraded : array of n booleans
        The others are clean.
    l2 : float
        Strength of the penalty.
    """
    means = means_by_class(x[~degraded], answers[~degraded], classes)
    coef, bias = fit_logistic(x - means[answers], degraded, l2, -COEF_LIMIT, COEF_LIMIT - 1 / COEF_UNIT)
    coef = np.round(coef * COEF_UNIT) / COEF_UNIT  # as stored, so that the offsets fit them
    return coef, bias - means @ coef


def means_by_class(x: Floats, answers: npt.NDArray[np.int64], classes: int) -> Floats:
    """Return the mean of each column for each class; over all rows where a class has none."""
    means = np.tile(x.mean(0), (classes, 1))
    for each in np.unique(answers):
        means[each] = x[answers == each].mean(0)
    return means
