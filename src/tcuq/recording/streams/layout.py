"""Stretches of a stream: clean and shifted ones in turn, in segments of one pace each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...base.rand import Numbers
from .words import Pace

SHIFTED = 0.4
"""Share of shifted steps, about; never more than half, counted from the start of the stream."""

TIMES = 3
"""Stretches of each kind that a stream should have."""

SHORTEST, LONGEST = 40, 150
"""Mean steps of a shifted stretch: time for an alarm, and for the stream to have many of them."""

MILDEST = 0.25
"""Least severity; each stretch has one, drawn between this and 1."""


class Stretch(NamedTuple):
    """Steps of one condition."""

    steps: int
    segment: int
    pace: int
    kind: int
    severity: float


def lay_out(
    steps: int, kinds: Sequence[int], paces: Sequence[Pace], seed: int, name: str = "fit"
) -> list[Stretch]:
    """Return the stretches of a stream, in order.

    A pair of stretches is a clean one and a shifted one of at most its length. Kinds come in shuffled rounds.
    Each segment has some pairs and one pace; the order of paces is turned by one from round to round.

    Examples
    --------
    >>> [(each.steps, each.kind) for each in lay_out(300, [3, 5], [Pace("shuffled")], 0)]
    [(53, 0), (36, 3), (50, 0), (23, 5), (79, 0), (49, 3), (10, 0)]
    """
    mean = round(SHIFTED * steps / (TIMES * max(1, len(kinds))))
    mean = min(max(mean, SHORTEST), LONGEST)
    pairs = _pairs(steps, kinds, mean, Numbers(seed, f"{name}/layout"))
    rounds = max(1, len(pairs) // (2 * len(paces)))
    segments = min(len(pairs), rounds * len(paces))
    found = []
    for number, pair in enumerate(pairs):
        segment = number * segments // len(pairs)
        pace = (segment + segment // len(paces)) % len(paces)
        found += [Stretch(length, segment, pace, kind, by) for length, kind, by in pair if length]
    return found


def _pairs(
    steps: int, kinds: Sequence[int], mean: int, numbers: Numbers
) -> list[list[tuple[int, int, float]]]:
    """Return pairs of (steps, kind, severity), a clean stretch first; what is left at the end is clean."""
    found: list[list[tuple[int, int, float]]] = []
    order: list[int] = []
    left = steps
    while left:
        short, more = numbers.below(2, mean + 1).tolist()
        shifted = (mean + 1) // 2 + short
        clean = shifted + more
        if not found:  # a stream too short for a pair has a short one
            shifted = min(shifted, left // 2)
            clean = min(clean, left - shifted)
        if not kinds or left < clean + shifted:
            clean, shifted = min(left, clean + shifted) if not kinds else left, 0
        pair = [(clean, 0, 0.0)]
        if shifted:
            order = order or [kinds[n] for n in numbers.shuffled(len(kinds))[0]]
            severity = MILDEST + (1 - MILDEST) * int(numbers.below(1, 1001)[0]) / 1000
            pair.append((shifted, order.pop(0), severity))
        found.append(pair)
        left -= clean + shifted
    return found
