"""The learned persistence: six experts, their weights, the mixed belief (section 6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .numbers import logarithm, power, sat, shift_to_16_bits, word

SHIFTS = (0, 1, 2, 4, 7, 6)
"""How fast an expert forgets, 2^-shift; the last one holds the class mix, the first nothing at all."""

HEAD_START = 10240
"""Five bits, in 1/2048: what the class mix is ahead at the limit of the alarm."""

GUARD = 40960
"""Twenty bits: by how much more it stands behind where nothing speaks of a shift."""


def plain_likelihood(u: Sequence[int]) -> list[int]:
    """Return q for a posterior in 0..255."""
    return [64 * value + max(1, 164 // len(u)) for value in u]


def take(old: Sequence[int], s: int, q: Sequence[int]) -> tuple[list[int], int]:
    """Take a step of a Bayes filter that switches with 2^-s: its belief, and T, how well it predicted."""
    fresh = (65536 >> s) // len(old) if s < 7 else (65536 // len(old) + 127) >> 7
    prior = [b - (b >> s) + fresh for b in old]
    joint = [word(a * c) for a, c in zip(prior, q, strict=True)]
    total = sum(joint)
    if not 0 < total < 2**31:
        raise OverflowError(f"{total} is not within 31 bits")
    t = shift_to_16_bits(total)
    r = (2**31 - 1) // (total >> t)
    return [word((j >> t) * r) >> 15 for j in joint], total


def forgotten(deficits: Sequence[int]) -> list[int]:
    """Return d, the deficits after forgetting 5/256 of each."""
    return [(v * 251 + 128) >> 8 for v in deficits]


def weight(x: int) -> int:
    """Return W for an expert that lies x (in 1/2048 bit) behind the best."""
    return (power(x % 2048) >> (x >> 11)) + 1 if x >> 11 < 15 else 1


def guard(rise: int, limit: int) -> int:
    """Return G: by how much the class mix stands behind, given the sum of the rise side and its limit."""
    if limit == 0:
        return 0
    half = limit >> 1
    over = max(0, min(rise, limit) - half)
    return GUARD - word((over >> 6) * 256) // ((half >> 6) + 1) * 160


def weights(faded: Sequence[int], behind_by: int) -> list[int]:
    """Return W of each expert from the forgotten deficits d, and from what the class mix stands behind by."""
    behind = [d + HEAD_START for d in faded[:5]] + [faded[5] + behind_by]
    return [weight(e - min(behind)) for e in behind]


def gain(total: int) -> int:
    """Return a, the logarithm of T in 1/2048 bit."""
    t = shift_to_16_bits(total)
    return (logarithm(total >> t) + 65536 * t) >> 5


def settle(faded: Sequence[int], totals: Sequence[int]) -> list[int]:
    """Return the deficits after a step in which the experts predicted this well."""
    gains = [gain(total) - d for d, total in zip(faded, totals, strict=True)]
    return [min(65535, max(gains) - g) for g in gains]


@dataclass(frozen=True)
class Mixed:
    """What the experts say of one step."""

    belief: list[int]
    persistence: int
    experts: list[list[int]]
    class_mix: list[int]
    deficits: list[int]
    weights: list[int]
    totals: list[int]

    @property
    def answer(self) -> int:
        """The class with the largest belief, the lowest on a tie."""
        return self.belief.index(max(self.belief))


def mixed(
    q: Sequence[int],
    experts: Sequence[Sequence[int]],
    class_mix: Sequence[int],
    deficits: Sequence[int],
    behind_by: int,
) -> Mixed:
    """Let all six experts take a step in: the beliefs of 1 to 4, the class mix that 5 expects, v, and G."""
    classes = len(q)
    olds = [[65536 // classes] * classes, *experts, class_mix]
    taken = [take(old, s, q) for old, s in zip(olds, SHIFTS, strict=True)]
    y = [belief for belief, _ in taken]
    totals = [total for _, total in taken]

    faded = forgotten(deficits)
    w = weights(faded, behind_by)
    total_weight = sum(w)
    lasting = word((w[1] + 2 * w[2] + 4 * w[3] + 6 * w[4]) << 13)
    r = (2**31 - 1) // total_weight
    p = [word(each * r) >> 16 for each in w]
    belief = []
    for c in range(classes):
        alone = word((p[0] + p[5]) * y[0][c])
        belief.append(sat(word(alone + sum(p[k] * y[k][c] for k in range(1, 5))) >> 15))
    return Mixed(
        belief=belief,
        persistence=sat((lasting // (6 * total_weight)) << 3),
        experts=y[1:5],
        class_mix=[m + ((new - m + 16) >> 5) for m, new in zip(class_mix, y[5], strict=True)],
        deficits=settle(faded, totals),
        weights=w,
        totals=totals,
    )
