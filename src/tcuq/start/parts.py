"""Two parts of the data: one to fit a monitor, one to judge it by other examples and other shifts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..base.rand import Numbers
from ..monitor.log import Log
from ..recording.data import Data
from ..recording.shifts import Chosen, Kind
from ..recording.streams import Pace, Plan, make_plan
from ..recording.streams.made import groups_of, no_room, shown_kinds
from ..recording.streams.plan import Ints

FITTED = 0.6
"""Share of the examples, and of the steps, that the fit gets."""

FEWEST = 400
"""Examples, or steps of a stream, from which on two parts are made."""

TIMES, USUAL, MOST = 3, 3_000, 12_000
"""Steps: fewer examples than `USUAL` are shown up to `TIMES` times, for room for all kinds of shift; of more
than `MOST`, some are left out."""


class Parts(NamedTuple):
    """What is shown to fit and to judge."""

    fit: Plan
    judge: Plan
    fit_kinds: tuple[str, ...]
    judge_kinds: tuple[str, ...]
    notes: tuple[str, ...] = ()


def steps_for(examples: int) -> int:
    """Return how many steps are shown of so many examples."""
    return min(examples, MOST) if examples >= USUAL else min(TIMES * examples, USUAL)


def split_examples(data: Data, seed: int) -> tuple[Ints, Ints]:
    """Return the examples to fit and those to judge, of each class the same share."""
    groups, numbers = groups_of(data), Numbers(seed, "start/split")
    order = numbers.shuffled(data.total)[0]
    order = order[np.argsort(groups[order], kind="stable")]
    # Every few of a class, in turn over all classes, so that classes of one example count as well.
    first = np.floor(FITTED * np.arange(1, data.total + 1)) > np.floor(FITTED * np.arange(data.total))
    return np.sort(order[first]), np.sort(order[~first])


def split_kinds(kinds: Sequence[Kind], seed: int) -> tuple[list[int], list[int]]:
    """Return the numbers of the shifts to fit with and of those to judge by; a single one is in both.

    Shifts of the user, beside generic ones, are what the monitor is to be judged by. Of three collapses one
    judges, so that every fit knows what a collapse looks like.
    """
    count = len(kinds)
    if count < 2:
        return [1] * count, [1] * count
    parts: tuple[list[int], list[int]] = [], []
    for collapse in (False, True):
        numbers = [number for number, each in enumerate(kinds, 1) if each.collapse == collapse]
        name = "start/collapses" if collapse else "start/kinds"
        order = [numbers[place] for place in Numbers(seed, name).shuffled(len(numbers))[0].tolist()]
        own = sum(kinds[number - 1].own for number in numbers)
        if own < count:
            order.sort(key=lambda number: not kinds[number - 1].own)  # those of the user first, else as drawn
        judged = max(min(1, len(numbers)), own if own < count else 0, 3 * len(numbers) // 7)
        parts[0].extend(order[judged:])
        parts[1].extend(order[:judged])
    return sorted(parts[0]), sorted(parts[1])


def plan_parts(
    data: Data, examples: tuple[Ints, Ints], paces: Sequence[Pace], chosen: Chosen, steps: int, seed: int
) -> Parts:
    """Return what is shown in both parts."""
    groups, kinds = groups_of(data), split_kinds(chosen.kinds, seed)
    lengths = round(FITTED * steps), steps - round(FITTED * steps)
    fit, judge = (
        make_plan(groups, own, length, paces, shown, seed, name)
        for own, length, shown, name in zip(examples, lengths, kinds, ("fit", "judge"), strict=True)
    )
    fitted = tuple(chosen.kinds[number - 1].name for number in shown_kinds(fit))
    judged = tuple(chosen.kinds[number - 1].name for number in shown_kinds(judge))
    return Parts(fit, judge, fitted, judged, no_room(chosen, fit, judge))


def split_stream(log: Log) -> int:
    """Return the step of a recorded stream at which the part to judge begins.

    Where a segment begins, if one does between 40 and 80 % of the way; else after 60 %.
    """
    middle = round(FITTED * len(log))
    starts = [piece.start for piece in log.pieces() if 0.4 <= piece.start / len(log) <= 0.8]
    return min(starts, key=lambda start: abs(start - middle), default=middle)
