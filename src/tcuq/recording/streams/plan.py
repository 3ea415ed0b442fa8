"""What each step of a stream shows: an example, how it is degraded, and where a segment begins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from ...base.rand import Numbers, waits
from .layout import lay_out
from .pool import Ints, Pool
from .words import Pace


@dataclass(frozen=True, eq=False)
class Plan:
    """What each step shows."""

    examples: Ints
    kinds: npt.NDArray[np.uint8]  # 0 for clean
    severities: npt.NDArray[np.float64]  # in (0, 1]; 0 for clean
    held: npt.NDArray[np.bool_]  # in front of the sensor: shaken a little at each step
    segments: Ints
    paces: Ints  # places in the list of paces

    def __len__(self) -> int:
        return len(self.examples)


def make_plan(
    groups: Ints,
    among: Ints,
    steps: int,
    paces: Sequence[Pace],
    kinds: Sequence[int],
    seed: int,
    name: str = "fit",
) -> Plan:
    """Return a plan; the same arguments give the same one with every numpy.

    Examples
    --------
    >>> plan = make_plan(np.arange(90) % 3, np.arange(90), 90, [Pace("dwell", 5)], [1], 0)
    >>> (plan.examples % 3)[:12].tolist(), int((plan.kinds == 0).sum())
    ([0, 0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1], 54)
    """
    classes = [among[groups[among] == each] for each in np.unique(groups[among])]
    pool = Pool(classes, Numbers(seed, f"{name}/pool"))
    lengths = [
        waits(Numbers(seed, f"{name}/{n}"), _stay(pace, len(classes)) - 1) for n, pace in enumerate(paces)
    ]
    stretches = lay_out(steps, kinds, paces, seed, name)
    rows = np.repeat(np.arange(len(stretches)), [each.steps for each in stretches])
    segments = np.array([each.segment for each in stretches])[rows]
    chosen = np.array([each.pace for each in stretches])[rows]
    examples = np.empty(steps, dtype=np.int64)
    for segment in range(int(segments[-1]) + 1):
        places = np.flatnonzero(segments == segment)
        pace = int(chosen[places[0]])
        show = _shown(pool, paces[pace], lengths[pace])
        examples[places] = [next(show) for _ in places]
    return Plan(
        examples,
        np.array([each.kind for each in stretches], dtype=np.uint8)[rows],
        np.array([each.severity for each in stretches])[rows],
        np.array([paces[each.pace].word == "held" for each in stretches])[rows],
        segments,
        chosen,
    )


def _stay(pace: Pace, classes: int) -> Fraction:
    """Return the mean length of a stay; that of a run is longer, as the same class may come again."""
    mean = Fraction(pace.mean)
    return max(Fraction(1), mean * (classes - 1) / classes) if pace.word == "dwell" else mean


def _shown(pool: Pool, pace: Pace, lengths: Iterator[int]) -> Iterator[int]:
    """Give examples at a pace, without end."""
    while True:
        if pace.word == "shuffled":
            yield pool.take(pool.draw())
            continue
        group, length = pool.draw(), 1 + next(lengths)
        if pace.word == "held":
            example = pool.take(group)
            yield from (example for _ in range(length))
            continue
        for _ in range(min(length, pool.left(group))):
            yield pool.take(group)


def joined(first: Plan, second: Plan) -> Plan:
    """Return two plans one after the other, as other segments."""
    parts = {each.name: np.concatenate([getattr(first, each.name), getattr(second, each.name)])
             for each in fields(Plan)}  # fmt: skip
    parts["segments"][len(first) :] += int(first.segments[-1]) + 1
    return Plan(**parts)
