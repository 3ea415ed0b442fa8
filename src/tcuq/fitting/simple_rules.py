"""Rules that a user could write in five lines, judged beside the monitor on the same steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..log.log import Log
from ..log.quantize import quantize_probs
from .signal_table import Floats, Ints

LAST = 8  # steps that a vote or a mean takes together
RATE = 1 / 16  # chance of a change of class in the belief filter, which nobody tells the pace
COVERAGE = 0.9
MOST = 50_000
BLOCK = 1_000  # a longer log is looked at in blocks of so many steps, evenly spread


@dataclass(frozen=True, eq=False)
class Rule:
    """What a rule answers, and how doubtful it is of each answer."""

    name: str
    answers: Ints
    doubt: Floats


def left_wrong(wrong: npt.NDArray[np.bool_], doubt: Floats, coverage: float = COVERAGE) -> float:
    """Return the share of errors among the answers that are least doubtful."""
    kept = np.argsort(doubt, kind="stable")[: max(1, round(coverage * len(doubt)))]
    return float(wrong[kept].mean())


def looked_at(log: Log) -> Ints:
    """Return the steps on which rules are compared: all, or whole blocks evenly spread."""
    if len(log) <= MOST:
        return np.arange(len(log))
    starts = np.linspace(0, len(log) - BLOCK, MOST // BLOCK).astype(np.int64)
    return np.unique((starts[:, None] + np.arange(BLOCK)).ravel())


def simple_rules(log: Log) -> list[Rule]:
    """Apply each rule to a log, segment by segment."""
    p = (quantize_probs(log.probs).astype(np.float64) + 128) / 256
    predicted = p.argmax(1)
    rules = [Rule("confidence", predicted, 1 - p.max(1))]
    breaks = [piece.start for piece in log.pieces()]
    mean, vote = _last(p, breaks), _last(np.eye(log.classes)[predicted], breaks)
    rules.append(Rule(f"mean of the last {LAST}", mean.argmax(1), 1 - mean.max(1)))
    # Of equal votes the class of this step, or the least: a hair of this posterior decides.
    rules.append(Rule(f"vote of the last {LAST}", (vote + 1e-6 * p).argmax(1), 1 - vote.max(1)))
    belief = _belief(p, breaks)
    rules.append(Rule("belief filter", belief.argmax(1), 1 - belief.max(1)))
    return rules


def _last(values: Floats, starts: Sequence[int]) -> Floats:
    """Return the mean of the last rows, this one included, within each segment."""
    out = np.empty_like(values)
    for start, stop in zip(starts, [*starts[1:], len(values)], strict=True):
        total = np.cumsum(values[start:stop], axis=0)
        count = np.arange(1, stop - start + 1)
        total[LAST:] -= total[:-LAST].copy()
        out[start:stop] = total / np.minimum(count, LAST)[:, None]
    return out


def _belief(p: Floats, starts: Sequence[int]) -> Floats:
    out = np.empty_like(p)
    classes, first = p.shape[1], set(starts)
    floored = p + 0.01 / classes
    belief = np.full(classes, 1 / classes)
    for step in range(len(p)):
        if step in first:
            belief = np.full(classes, 1 / classes)
        belief = (belief * (1 - RATE) + RATE / classes) * floored[step]
        belief /= belief.sum()
        out[step] = belief
    return out
