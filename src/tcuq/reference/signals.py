"""What one step reads, and what its signals make of it (sections 3, 5, 6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .numbers import X, log_odds, mix, norm, note, sat, wide_logarithm, word

if TYPE_CHECKING:
    from .params import Params

NAMES = (
    "divergence",
    "instability",
    "flips",
    "doubt",
    "odds",
    "degradation",
    "magnitude",
    "distance",
    "disbelief",
    "drift",
)
SIGNAL_COUNT = len(NAMES)

SLOW = (5, 9)
"""The signals that are means, taken after the step itself."""

SLOW_MAX = STILLNESS_MAX = 2**21


@dataclass(frozen=True)
class Reading:
    """One inference as section 3 reads it, and the class that the step speaks of."""

    probs: list[int]
    features: list[int]
    prediction: int
    answer: int
    subject: int
    belief: list[int] | None
    past: list[tuple[int, int, list[int], list[int]]]  # of filled lags: weight, prediction, probs, features
    gaps: list[int]  # of the features to the center of the subject


def masses(probs: list[int]) -> list[int]:
    """Return u, 0..255."""
    return [value + 128 for value in probs]


def squares(values: list[int]) -> int:
    """Return a sum of squares."""
    return sum(value * value for value in values)


def blocks(values: list[int]) -> list[int]:
    """Return eight sums of neighboring values, "Novelty"."""
    d = len(values)
    return [sum(values[j * d >> 3 : (j + 1) * d >> 3]) for j in range(8)]


def far(square: int) -> int:
    """Return a square as signals 6, 7 and 9 give it: log2 of it and 1, over 24."""
    x = wide_logarithm(square + 1) + 16 * 65536
    return sat(word((x >> 4) * 2731) >> 12)


def divergence(u: list[int], v: list[int]) -> int:
    """Return J of two posteriors."""

    def own(w: list[int]) -> tuple[int, int, int]:
        mass = sum(w)
        rest = max(0, 256 - mass)
        return mass, rest, sum(X[c] for c in w) + X[rest] - 192 * (mass + rest)

    (mass_u, rest_u, k_u), (mass_v, rest_v, k_v) = own(u), own(v)
    raw = word(sum(X[a + b] for a, b in zip(u, v, strict=True)) + X[rest_u + rest_v] - k_u - k_v)
    if raw < 0:
        note("divergence clipped at 0")
    raw = max(0, raw)
    mass = max(256, mass_u) + max(256, mass_v)
    if mass > 512:
        raw = word((raw // mass) * 512 + word((raw % mass) * 512) // mass)
    if 2 * raw // 3 > 65535:
        note("divergence saturated")
    return sat(word(2 * raw) // 3)


def angle(x: list[int], y: list[int]) -> int:
    """Return H of two vectors of centered features."""
    dot = sum(a * b for a, b in zip(x, y, strict=True))
    (m1, e1), (m2, e2) = norm(squares(x)), norm(squares(y))
    if m1 == 0 and m2 == 0:
        note("both vectors zero")
        return 0
    if m1 == 0 or m2 == 0:
        note("one vector zero")
        return 32768
    product = word(m1 * m2 + 32768) >> 16
    scaled = word(abs(dot) << (-1 - e1 - e2))
    cosine = min(32768, scaled // product)
    if scaled // product > 32768:
        note("cosine clipped at 1")
    if dot >= 0:
        return 32768 - cosine
    note("opposite vectors" if cosine == 32768 else "obtuse angle")
    return sat(32768 + cosine)


def momentary(p: Params, r: Reading) -> list[int]:
    """Return all signals but the slow ones, which are still their clean means; unused ones are 0."""
    u, value = masses(r.probs), list(p.clean_mean)
    if r.past:
        filled = len(r.past)
        if p.uses(0):
            total = sum(w * divergence(u, masses(probs)) for w, _, probs, _ in r.past)
            value[0] = word(total) // sum(w for w, _, _, _ in r.past)
        if p.uses(1):
            x = [a - p.zero_point for a in r.features]
            value[1] = sum(angle(x, [b - p.zero_point for b in old]) for _, _, _, old in r.past) // filled
        if p.uses(2):
            value[2] = sat((sum(old != r.prediction for _, old, _, _ in r.past) << 16) // filled)
    top, second = sorted(u, reverse=True)[:2]
    value[3] = mix(sat(65536 - 256 * top), sat(65536 - 256 * (top - second)), p.doubt_mix)
    value[4] = log_odds(65536 - 256 * u[r.subject])
    if p.uses(6):
        value[6] = far(squares([a - p.zero_point for a in r.features]))
    value[7] = far(squares(r.gaps))
    if p.uses(8) and r.belief is not None:
        value[8] = log_odds(65536 - r.belief[r.subject])
        if value[8] in (0, 65535):
            note(f"disbelief {'high' if value[8] else 'low'}")
    return [v if p.uses(n) else 0 for n, v in enumerate(value)]
