# SPDX-License-Identifier: MIT
"""The monitor of SPEC.md in plain Python integers, slow and literal.

Written from SPEC.md alone: it shares neither code nor tables with the C core, so that a number on which both
agree was derived twice. Section numbers in the comments are those of SPEC.md.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass, fields
from decimal import ROUND_HALF_EVEN, Decimal, localcontext

SIGNAL_COUNT = 15
NO_REASON = 255
NAMES = (
    "divergence",
    "instability",
    "flips",
    "doubt",
    "surprise_fast",
    "surprise_slow",
    "spread_fast",
    "spread_slow",
    "displacement",
    "odds",
    "disbelief_fast",
    "disbelief_slow",
    "strain_fast",
    "strain_slow",
    "magnitude",
)


def _tables() -> tuple[list[int], list[int]]:
    """Return the tables X and S of section 4.

    Decimal, because its logarithm and exponential are correctly rounded everywhere, unlike those of libm.
    """
    with localcontext() as context:
        context.prec = 50
        ln2 = Decimal(2).ln()
        plogp = [0] * 513
        for x in range(1, 513):
            if x % 2:
                exact = 192 * x * (9 - Decimal(x).ln() / ln2)
                plogp[x] = int(exact.to_integral_value(ROUND_HALF_EVEN))
            else:
                plogp[x] = 2 * plogp[x // 2] - 192 * x
        logistic = []
        for i in range(97):
            exact = 65536 / (1 + (-Decimal(i) / 8).exp())
            logistic.append(min(65535, int(exact.to_integral_value(ROUND_HALF_EVEN))))
    return plogp, logistic


X, S = _tables()


@dataclass(frozen=True)
class Evidence:
    """The head of section 11 that the alarm may sum in place of risk."""

    clip: int
    allowance: int
    coef: tuple[int, ...]
    offset: tuple[int, ...]


@dataclass(frozen=True)
class Params:
    """The fields of section 2, under the same names and in the same order."""

    version: int
    signals: int
    classes: int
    features: int
    zero_point: int
    lags: tuple[int, ...]
    lag_weights: tuple[int, ...]
    coef: tuple[int, ...]
    clean_mean: tuple[int, ...]
    bias: int
    doubt_mix: int
    blend: int
    spread_scale: int
    level_num: int
    level_den: int
    reference: int
    anchor: int
    slope: int
    steep_slope: int
    knee: int
    budget_num: int
    budget_den: int
    burst: int
    warmup: int
    rise_reference: int
    fall_reference: int
    rise_limit: int
    rise_cap: int
    fall_limit: int
    fall_cap: int
    evidence: Evidence | None = None

    def __post_init__(self) -> None:
        """Refuse what section 2 does not allow: a vector with bad parameters would prove nothing."""
        lags, past = self.lags, any(self.uses(n) for n in (0, 1, 2))
        rules = {
            "version": self.version == 3,
            "signals": 1 <= self.signals < 2**SIGNAL_COUNT,
            "classes": 2 <= self.classes <= 1000,
            "features": 0 <= self.features <= 256,
            "features used": self.features > 0 or not any(self.uses(n) for n in (1, 8, 14)),
            "zero_point": -128 <= self.zero_point <= 127,
            "lags": list(lags) == sorted(set(lags)) and all(1 <= lag <= 64 for lag in lags),
            "lags empty": bool(lags) or not past,
            "lag_weights": len(self.lag_weights) == len(lags) and all(w >= 0 for w in self.lag_weights),
            "lag_weights sum": not lags or (sum(self.lag_weights) == 32768 and self.lag_weights[0] > 0),
            "coef": len(self.coef) == SIGNAL_COUNT and all(-32768 <= c <= 32767 for c in self.coef),
            "clean_mean": len(self.clean_mean) == SIGNAL_COUNT
            and all(0 <= m <= 65535 for m in self.clean_mean),
            "bias": abs(self.bias) <= 256 * 65536,
            "doubt_mix": 0 <= self.doubt_mix <= 65536,
            "blend": 0 <= self.blend <= 65536,
            "spread_scale": self.spread_scale == round(65536 / math.log2(self.classes)),
            "level": 1 <= self.level_num < self.level_den <= 1000,
            "reference": 0 <= self.reference <= 65535,
            "anchor": self.anchor == 0 or (self.anchor == 1 and self.uses(10)),
            "slope": 0 <= self.slope <= self.steep_slope,
            "steep_slope": 1 <= self.steep_slope <= 2**24 // self.level_den,
            "knee": 0 <= self.knee <= 2**24 and self.slope * self.knee <= 2**24,
            "budget": 0 <= self.budget_num <= self.budget_den and 1 <= self.budget_den <= 1000,
            "burst": 1 <= self.burst <= 10000,
            "warmup": 0 <= self.warmup < 2**32,
            "alarm references": 0 <= self.rise_reference <= 65535 and 0 <= self.fall_reference <= 65535,
            "rise": 0 < self.rise_limit <= self.rise_cap <= 2**30 or self.rise_limit == self.rise_cap == 0,
            "fall": 0 < self.fall_limit <= self.fall_cap <= 2**30 or self.fall_limit == self.fall_cap == 0,
        }
        head = self.evidence
        if head is not None:
            rules["evidence clip"] = 1 <= head.clip <= 2**24
            rules["evidence allowance"] = 0 <= head.allowance <= 2**24
            rules["evidence shape"] = len(head.coef) == SIGNAL_COUNT and len(head.offset) == self.classes
            rules["evidence range"] = all(-32768 <= v <= 32767 for v in (*head.coef, *head.offset))
            rules["evidence alone"] = self.fall_limit == 0
        broken = [name for name, holds in rules.items() if not holds]
        if broken:
            raise ValueError(f"parameters out of range: {', '.join(broken)}")

    def uses(self, signal: int) -> bool:
        """Return whether `signal` is in the mask."""
        return bool(self.signals >> signal & 1)

    def scalars(self) -> dict[str, int]:
        """Return the scalar fields in the order of section 2."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if isinstance(value, int)}

    @property
    def depth(self) -> int:
        """The number of past inferences that are kept."""
        return self.lags[-1] if any(self.uses(n) for n in (0, 1, 2)) else 0

    @property
    def entry(self) -> int:
        """The bytes of one kept inference in a saved state."""
        return 2 + self.classes * self.uses(0) + self.features * self.uses(1)

    @property
    def mean_words(self) -> int:
        """The 32-bit words of all slow means."""
        fast, slow = self.uses(4) or self.uses(6), self.uses(5) or self.uses(7)
        strains = self.uses(12) + self.uses(13)
        return strains + self.classes * (fast + slow) + self.features * self.uses(8)

    @property
    def beliefs(self) -> int:
        """The 16-bit numbers of both beliefs."""
        return self.classes * (self.uses(10) + self.uses(11))

    @property
    def ring_size(self) -> int:
        """The bytes of working memory, section 15."""
        payload = 2 * self.beliefs + self.depth * (self.entry - 2)
        return max(4, 4 * (self.mean_words + 4 * self.depth) + (payload + 3) // 4 * 4)

    @property
    def state_size(self) -> int:
        """The bytes of a saved state, section 12."""
        return 40 + self.depth * self.entry + 4 * self.mean_words + 2 * self.beliefs + 4

    def fingerprint(self) -> int:
        """Return the CRC-32 that ties a saved state to these parameters, section 12."""
        words = [self.version, self.signals, self.classes, self.features, self.zero_point & 0xFFFF]
        words += [len(self.lags), self.bias, self.doubt_mix, self.blend, self.spread_scale]
        words += [self.level_num, self.level_den, self.reference + 65536 * self.anchor]
        words += [self.slope, self.steep_slope, self.knee]
        words += [self.budget_num, self.budget_den, self.burst, self.rise_reference, self.fall_reference]
        words += [self.warmup, self.rise_limit, self.rise_cap, self.fall_limit, self.fall_cap]
        words += [lag + 65536 * weight for lag, weight in zip(self.lags, self.lag_weights, strict=True)]
        words += [(c & 0xFFFF) + 65536 * mean for c, mean in zip(self.coef, self.clean_mean, strict=True)]
        if self.evidence is not None:
            words += [self.evidence.clip, self.evidence.allowance]
            words += [value & 0xFFFF for value in (*self.evidence.coef, *self.evidence.offset)]
        return zlib.crc32(b"".join((word & 0xFFFFFFFF).to_bytes(4, "little") for word in words))

    def threshold(self, debt: int) -> int:
        """Return the threshold at `debt`, section 9; a debt that no input can cause may not fit 32 bits."""
        moved = self.distance(abs(debt)) >> 8
        return self.reference + moved if debt >= 0 else self.reference - moved

    def distance(self, size: int) -> int:
        """Return how far a debt of this size moves the threshold, in 1/256 of Q0.16."""
        near = min(size, self.knee)
        return self.slope * near + self.steep_slope * (size - near)

    def strayed(self, debt: int) -> bool:
        """Return whether a debt counts as damaged, section 12."""
        closer = debt + self.level_num - (self.level_den if debt >= 0 else 0)
        return not any(0 <= self.threshold(d) <= 65535 for d in (debt, closer))

    def idle(self) -> int:
        """Return how many debts up to 0 have a threshold of exactly 0: damage may go so far below."""
        return _least(lambda s: self.threshold(-s) < 0) - _least(lambda s: self.threshold(-s) <= 0)

    def bounds(self) -> tuple[int, int]:
        """Return the least and the greatest debt that any input can cause, section 9."""
        shut = _least(lambda debt: self.threshold(debt) > 65535)
        open_ = _least(lambda size: self.threshold(-size) <= 0)
        return 1 - open_ - self.level_num, shut - 1 + self.level_den - self.level_num


@dataclass(frozen=True)
class Step:
    """What one step says, in the order of a `step` line."""

    threshold: int
    label: int
    risk: int
    uncertainty: int
    flagged: int
    abstain: int
    alarm: int
    warming_up: int
    reason: int
    low_mass: int
    signals: tuple[int, ...]


def word(x: int) -> int:
    """Return `x`; fail where section 1 promises 32 bits and the number needs more."""
    if not -(2**31) <= x < 2**32:
        raise OverflowError(f"{x} does not fit 32 bits")
    return x


def _signed(x: int) -> int:
    """Return the low 32 bits of `x` as two's complement."""
    return (x + 2**31) % 2**32 - 2**31


def sat(x: int) -> int:
    """Return min(x, 65535)."""
    return min(x, 65535)


def mix(a: int, b: int, share: int) -> int:
    """Return `share` of a and the remainder of b, rounded."""
    return word(a * share + b * (65536 - share) + 32768) >> 16


def _least(holds: Callable[[int], bool]) -> int:
    """Return the least n >= 0 where a monotone predicate holds."""
    high = 1
    while not holds(high):
        high *= 2
    low = 0
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low


def logarithm(x: int) -> int:
    """Return lg(x), section 6."""
    e = 0
    while x < 65536:
        x, e = 2 * x, e + 1
    f = x - 65536
    g = word(f * (65536 - f)) >> 16
    h = 28752 - (word(f * (15667 - (5383 * f >> 16))) >> 16)
    return f + (word(g * h) >> 16) - 65536 * e


def log_odds(d: int) -> int:
    """Return O(D), section 6."""
    return min(max(0, (524288 + logarithm(d + 128) - logarithm(65664 - d) + 8) >> 4), 65535)


def norm(n: int) -> tuple[int, int]:
    """Return the norm of a sum of squares as mantissa and exponent, section 5."""
    if n == 0:
        return 0, 0
    e = 0
    while n >= 2**32:
        n, e = n >> 2, e + 1
    while n < 2**30:
        n, e = n * 4, e - 1
    return math.isqrt(n), e


def entropy_scale(m: int) -> int:
    """Return s, the scale at which E(m) enters the table, section 6."""
    return next(s for s in (0, 4, 8, 12, 16) if m >> s <= 511)


def entropy_term(m: int) -> int:
    """Return E(m), section 6."""
    s = entropy_scale(m)
    i = m >> s
    f = m - i * 2**s
    t = X[i] if f == 0 else X[i] + (word((X[i + 1] - X[i]) * f + (2**s >> 1)) >> s)
    whole = (t + 2 ** (6 - s)) >> (7 - s) if s < 7 else word(t * 2 ** (s - 7))
    return whole + (word(3 * (15 - s) * m) >> 1)


class Monitor:
    """The state of section 12 and the step over it.

    Attributes
    ----------
    seen : set of str
        Names of the rare branches that were taken, so that the writer of the vectors can ask for all of them.
    """

    def __init__(self, params: Params) -> None:
        self.params = params
        self.seen: set[str] = set()
        self.steps = self.debt = self.credit = self.rise = self.fall = self.alarm = 0
        self.reset()

    def reset(self) -> None:
        """Forget past posteriors and features; all else stays."""
        self.ring: list[tuple[int, list[int], list[int]]] = []  # label, probs, features; the newest first
        self.has_mean = False
        self.fast = [0] * self.params.classes
        self.slow = [0] * self.params.classes
        self.feature_mean = [0] * self.params.features
        self.strain_fast = [0]
        self.strain_slow = [0]
        self.belief_fast = [0] * self.params.classes
        self.belief_slow = [0] * self.params.classes

    def step(self, probs: list[int], features: list[int]) -> Step:
        """Take one inference in.

        Parameters
        ----------
        probs, features : list of int
            int8 values as section 3 describes them.

        Returns
        -------
        Step
        """
        p = self.params
        u = [value + 128 for value in probs]
        x = [value - p.zero_point for value in features]
        top = max(u)
        label = u.index(top)
        second = max(u[:label] + u[label + 1 :])

        self.belief_fast = self._believe(self.belief_fast, u, 2)
        self.belief_slow = self._believe(self.belief_slow, u, 4)
        signals = self._signals(u, x, label, top, second)
        self._learn(u, x, log_odds(65536 - 256 * top))
        self.ring = [(label, probs, features), *self.ring][: p.depth]

        uncertainty = self._uncertainty(signals)
        anchor = self.belief_fast[label] if p.anchor else 256 * top
        risk = mix(uncertainty, sat(65536 - anchor), p.blend)
        reason = self._reason(signals)

        if p.strayed(self.debt):
            self.seen.add("debt started anew")
            self.debt = 0
        word(p.distance(abs(self.debt)))
        threshold = p.threshold(self.debt)
        flagged = int(risk >= threshold)
        self.debt += p.level_den - p.level_num if flagged else -p.level_num
        warming_up = int(self.steps < p.warmup)
        self.steps = min(self.steps + 1, 2**32 - 1)
        self.credit = min(p.burst * p.budget_den, (self.credit + p.budget_num) % 2**32)
        abstain = int(flagged and not warming_up and self.credit >= p.budget_den)
        self.credit -= p.budget_den * abstain
        if flagged and not warming_up and not abstain:
            self.seen.add("budget spent")
        self._watch(risk, self._rising(risk, signals, label))
        return Step(
            threshold=word(threshold),
            label=label,
            risk=risk,
            uncertainty=uncertainty,
            flagged=flagged,
            abstain=abstain,
            alarm=self.alarm,
            warming_up=warming_up,
            reason=reason,
            low_mass=int(sum(u) < 128),
            signals=tuple(signals),
        )

    def _signals(self, u: list[int], x: list[int], label: int, top: int, second: int) -> list[int]:
        p = self.params
        value = list(p.clean_mean)
        filled = [(lag, w) for lag, w in zip(p.lags, p.lag_weights, strict=True) if lag <= len(self.ring)]
        if filled:
            past = [self.ring[lag - 1] for lag, _ in filled]
            if p.uses(0):
                total = sum(
                    w * self._divergence(u, [b + 128 for b in e[1]])
                    for e, (_, w) in zip(past, filled, strict=True)
                )
                value[0] = word(total) // sum(w for _, w in filled)
            if p.uses(1):
                total = 0
                for _, _, old in past:
                    y = [b - p.zero_point for b in old]
                    dot = sum(a * b for a, b in zip(x, y, strict=True))
                    total += self._angle(dot, sum(a * a for a in x), sum(b * b for b in y))
                value[1] = total // len(filled)
            if p.uses(2):
                value[2] = sat((sum(e[0] != label for e in past) << 16) // len(filled))
        confidence, margin = sat(65536 - 256 * top), sat(65536 - 256 * (top - second))
        value[3] = mix(confidence, margin, p.doubt_mix)
        if self.has_mean:
            for n, mean in ((4, self.fast), (5, self.slow)):
                if p.uses(n):
                    value[n] = sat(65536 - ((mean[label] + 128) >> 8))
            for n, mean in ((6, self.fast), (7, self.slow)):
                if p.uses(n):
                    value[n] = self._spread(mean)
            if p.uses(8):
                shift = 0
                while max(abs(m) for m in self.feature_mean) >> shift > 32767:
                    shift += 1
                g = [(m + (2**shift >> 1)) >> shift for m in self.feature_mean]
                dot = sum(a * b for a, b in zip(x, g, strict=True))
                if not -(2**31) <= dot < 2**31:
                    raise OverflowError(f"{dot} does not fit 32 signed bits")
                if shift == 0:
                    self.seen.add("mean feature unscaled")
                if 32768 in g or -32768 in g:
                    self.seen.add("mean feature rounded up to 2^15")
                value[8] = self._angle(dot, sum(a * a for a in x), sum(b * b for b in g))
            for n, mean in ((12, self.strain_fast), (13, self.strain_slow)):
                value[n] = sat((mean[0] + 128) >> 8)
        if p.uses(14):
            value[14] = math.isqrt(65536 * sum(a * a for a in x) // p.features)
        value[9] = log_odds(65536 - 256 * top)
        for n, belief in ((10, self.belief_fast), (11, self.belief_slow)):
            value[n] = log_odds(65536 - belief[label])
            if p.uses(n) and value[n] in (0, 65535):
                self.seen.add(f"disbelief {'high' if value[n] else 'low'}")
        return [v if p.uses(n) else 0 for n, v in enumerate(value)]

    def _believe(self, belief: list[int], u: list[int], s: int) -> list[int]:
        classes = self.params.classes
        if not self.has_mean:
            belief = [65536 // classes] * classes
        prior = [b - (b >> s) + (65536 >> s) // classes for b in belief]
        joint = [word(a * (64 * c + max(1, 164 // classes))) for a, c in zip(prior, u, strict=True)]
        total, t = word(sum(joint)), 0
        while total >> t >= 65536:
            t += 1
        r = (2**31 - 1) // (total >> t)
        if sum(belief) > 65536:
            raise AssertionError("the belief is larger than one")
        return [word((j >> t) * r) >> 15 for j in joint]

    def _divergence(self, u: list[int], v: list[int]) -> int:
        def own(w: list[int]) -> tuple[int, int, int]:
            mass = sum(w)
            rest = max(0, 256 - mass)
            return mass, rest, sum(X[c] for c in w) + X[rest] - 192 * (mass + rest)

        (mass_u, rest_u, k_u), (mass_v, rest_v, k_v) = own(u), own(v)
        raw = word(sum(X[a + b] for a, b in zip(u, v, strict=True)) + X[rest_u + rest_v] - k_u - k_v)
        if raw < 0:
            self.seen.add("divergence clipped at 0")
        raw = max(0, raw)
        mass = max(256, mass_u) + max(256, mass_v)
        if mass > 512:
            raw = word((raw // mass) * 512 + word((raw % mass) * 512) // mass)
        if 2 * raw // 3 > 65535:
            self.seen.add("divergence saturated")
        return sat(word(2 * raw) // 3)

    def _angle(self, dot: int, square1: int, square2: int) -> int:
        (m1, e1), (m2, e2) = norm(square1), norm(square2)
        if m1 == 0 and m2 == 0:
            self.seen.add("both vectors zero")
            return 0
        if m1 == 0 or m2 == 0:
            self.seen.add("one vector zero")
            return 32768
        if max(square1, square2) >= 2**32:
            self.seen.add("norm scaled down")
        product = word(m1 * m2 + 32768) >> 16
        shift = -1 - e1 - e2
        if shift < 0:
            self.seen.add("dot shifted right")
        scaled = word(abs(dot) << shift if shift >= 0 else abs(dot) >> -shift)
        if scaled // product > 32768:
            self.seen.add("cosine clipped at 1")
        cosine = min(32768, scaled // product)
        if dot < 0:
            self.seen.add("obtuse angle")
            if cosine == 32768:
                self.seen.add("opposite vectors")
        return 32768 - cosine if dot >= 0 else sat(32768 + cosine)

    def _spread(self, mean: list[int]) -> int:
        rest = max(0, 2**24 - sum(mean))
        self.seen.update(f"entropy scale {entropy_scale(m)}" for m in (*mean, rest))
        total = sum(entropy_term(m) for m in mean)
        if total > 2**30:
            self.seen.add("entropy sum clipped")
        bits = word(min(2**30, total) + entropy_term(rest)) // 384
        if bits > 1048575:
            self.seen.add("entropy clipped")
        bits = min(1048575, bits)
        scale = self.params.spread_scale
        return sat(((rest + 128) >> 8) + (word((bits >> 8) * scale) >> 8) + (word(bits % 256 * scale) >> 16))

    def _learn(self, u: list[int], x: list[int], odds: int) -> None:
        def move(mean: list[int], values: list[int], k: int, unit: int = 65536) -> list[int]:
            targets = [v * unit for v in values]
            if not self.has_mean:
                return targets
            return [m + ((t - m + 2 ** (k - 1)) >> k) for m, t in zip(mean, targets, strict=True)]

        self.fast = move(self.fast, u, 2)
        self.slow = move(self.slow, u, 4)
        self.feature_mean = move(self.feature_mean, x, 4)
        self.strain_fast = move(self.strain_fast, [odds], 4, 256)
        self.strain_slow = move(self.strain_slow, [odds], 6, 256)
        self.has_mean = True

    def _uncertainty(self, signals: list[int]) -> int:
        p = self.params
        z = p.bias + sum(word(p.coef[n] * signals[n]) >> 9 for n in range(SIGNAL_COUNT) if p.uses(n))
        a = abs(word(z))
        if a >= 12 * 65536:
            self.seen.add("logistic clipped high" if z >= 0 else "logistic clipped low")
            v = 65535
        else:
            i = a >> 13
            v = S[i] + ((S[i + 1] - S[i]) * (a % 8192) >> 13)
        return v if z >= 0 else 65536 - v

    def _reason(self, signals: list[int]) -> int:
        p = self.params
        best, reason = 0, NO_REASON
        for n in range(SIGNAL_COUNT):
            pull = word(p.coef[n] * (signals[n] - p.clean_mean[n])) if p.uses(n) else 0
            if pull > best:
                best, reason = pull, n
        return reason

    def _rising(self, risk: int, signals: list[int], label: int) -> int:
        p, head = self.params, self.params.evidence
        if head is None:
            return risk - p.rise_reference
        terms = [word(head.coef[n] * signals[n]) >> 9 for n in range(SIGNAL_COUNT) if p.uses(n)]
        value = word(256 * head.offset[label] + sum(terms))
        if abs(value) > head.clip:
            self.seen.add(f"evidence clipped {'above' if value > 0 else 'below'}")
        return min(max(value, -head.clip), head.clip) - head.allowance

    def _watch(self, risk: int, rising: int) -> None:
        p = self.params
        before = self.alarm
        self.alarm &= (1 if p.rise_limit else 0) | (2 if p.fall_limit else 0)
        if p.rise_limit:
            self.rise = min(max(_signed(self.rise + rising), 0), p.rise_cap)
            if self.rise >= p.rise_limit:
                self.alarm |= 1
            elif self.rise == 0:
                self.alarm &= ~1
        if p.fall_limit:
            self.fall = min(max(_signed(self.fall + p.fall_reference - risk), 0), p.fall_cap)
            if self.fall >= p.fall_limit:
                self.alarm |= 2
            elif self.fall == 0:
                self.alarm &= ~2
        for bit, side in ((1, "rise"), (2, "fall")):
            if ~before & self.alarm & bit:
                self.seen.add(f"alarm {side}")
                if p.evidence is not None:
                    self.seen.add("alarm from evidence")
            if before & ~self.alarm & bit:
                self.seen.add(f"alarm {side} cleared")

    def _means(self) -> list[tuple[str, int]]:
        """Return attribute and length of each slow mean that a saved state holds, in its order."""
        p = self.params
        wanted = [("strain_fast", 1, p.uses(12)), ("strain_slow", 1, p.uses(13))]
        wanted += [("fast", p.classes, p.uses(4) or p.uses(6)), ("slow", p.classes, p.uses(5) or p.uses(7))]
        wanted.append(("feature_mean", p.features, p.uses(8)))
        return [(name, length) for name, length, used in wanted if used]

    def _beliefs(self) -> list[str]:
        """Return the attributes of the beliefs that a saved state holds, in its order."""
        return [name for n, name in ((10, "belief_fast"), (11, "belief_slow")) if self.params.uses(n)]

    def damage(self, counter: str, value: int) -> None:
        """Set a counter to what a memory error may leave in it: 32 bits, `alarm` 8."""
        setattr(self, counter, _signed(value) if counter in ("debt", "credit") else value)

    def _mended(self) -> tuple[int, int, int, int, int]:
        """Return debt, credit, rise, fall and alarm as `save` writes them, section 12."""
        p, steps = self.params, self.steps
        low, high = p.bounds()
        debt = self.debt if low <= self.debt <= high else 0
        if steps < 2**32 - 1:
            debt -= (debt + p.level_num * steps) % p.level_den
            debt = min(max(debt, -p.level_num * steps), (p.level_den - p.level_num) * steps)
            debt += p.level_den if debt < low else 0
        credit = min(self.credit % 2**32, p.burst * p.budget_den, p.budget_num * steps)
        alarm, sums = 0, []
        for bit, total, limit, cap in (
            (1, self.rise, p.rise_limit, p.rise_cap),
            (2, self.fall, p.fall_limit, p.fall_cap),
        ):
            total = min(max(_signed(total), 0), cap) if limit else 0
            sums.append(total)
            if total and (total >= limit or self.alarm & bit):
                alarm |= bit
        return debt, credit, sums[0], sums[1], alarm

    def save(self) -> bytes:
        """Return the bytes of section 12."""
        p = self.params
        debt, credit, rise, fall, alarm = self._mended()
        ring = self.ring[: self.steps]
        has_mean = bool(ring) if p.depth else self.has_mean and self.steps > 0
        out = b"TCUQ" + struct.pack("<4HI", 3, p.signals, p.classes, p.features, p.fingerprint())
        out += struct.pack("<IiIII", self.steps, debt, credit, rise, fall)
        out += bytes([alarm, len(ring), has_mean, p.depth])
        for label, probs, features in ring:
            out += struct.pack("<H", label)
            out += bytes(value & 0xFF for value in probs) if p.uses(0) else b""
            out += bytes(value & 0xFF for value in features) if p.uses(1) else b""
        out += bytes((p.depth - len(ring)) * p.entry)
        for name, _ in self._means():
            out += b"".join(struct.pack("<i", value * has_mean) for value in getattr(self, name))
        for name in self._beliefs():
            out += b"".join(struct.pack("<H", value * has_mean) for value in getattr(self, name))
        out += struct.pack("<I", zlib.crc32(out))
        if len(out) != p.state_size:
            raise AssertionError(f"state of {len(out)} bytes instead of {p.state_size}")
        return out

    @classmethod
    def load(cls, params: Params, state: bytes) -> Monitor:
        """Return a monitor read back from the bytes that `save` gave.

        Parameters
        ----------
        params : Params
            Those of the monitor that saved.
        state : bytes
            A sound state: `refusal` says whether it is.

        Returns
        -------
        Monitor
        """

        def int8(raw: bytes) -> list[int]:
            return list(struct.unpack(f"<{len(raw)}b", raw))

        p, new = params, cls(params)
        new.steps, new.debt, new.credit, new.rise, new.fall = struct.unpack_from("<IiIII", state, 16)
        new.alarm, fill, has_mean, _ = state[36:40]
        at = 40
        for _ in range(fill):
            entry = state[at : at + p.entry]
            cut = 2 + p.classes * p.uses(0)
            label = int.from_bytes(entry[:2], "little")
            new.ring.append((label, int8(entry[2:cut]), int8(entry[cut:])))
            at += p.entry
        at = 40 + p.depth * p.entry
        for name, length in new._means():
            setattr(new, name, list(struct.unpack_from(f"<{length}i", state, at)))
            at += 4 * length
        for name in new._beliefs():
            setattr(new, name, list(struct.unpack_from(f"<{p.classes}H", state, at)))
            at += 2 * p.classes
        new.has_mean = bool(has_mean)
        return new

    @classmethod
    def refusal(cls, params: Params, state: bytes) -> int:
        """Return what `load` answers to some bytes: 0 accepted, or a code of section 2.

        Parameters
        ----------
        params : Params
            Those of the monitor that loads.
        state : bytes
            Any bytes.

        Returns
        -------
        int
        """
        p = params
        if len(state) < 40:
            return -3
        if state[:4] != b"TCUQ":
            return -4
        if state[4:6] != struct.pack("<H", 3):
            return -5
        if struct.pack("<I", zlib.crc32(state[:-4])) != state[-4:]:
            return -4
        if state[6:16] != struct.pack("<3HI", p.signals, p.classes, p.features, p.fingerprint()):
            return -6
        if len(state) != p.state_size:
            return -3
        return 0 if cls._sound(p, state) else -4

    @classmethod
    def _sound(cls, p: Params, state: bytes) -> bool:
        """Return whether the numbers of a state are in range and do not contradict each other."""
        low, high = p.bounds()
        steps, debt, credit, rise, fall = struct.unpack_from("<IiiII", state, 16)
        alarm, fill, has_mean, depth = state[36:40]
        rules = [
            depth == p.depth,
            low <= debt <= high,
            0 <= credit <= min(p.burst * p.budget_den, p.budget_num * steps),
            alarm <= 3,
            fill <= min(depth, steps),
            has_mean <= min(1, steps),
            p.depth == 0 or (fill > 0) == (has_mean > 0),
        ]
        if steps < 2**32 - 1:
            rules.append((debt + p.level_num * steps) % p.level_den == 0)
            rules.append(-p.level_num * steps <= debt <= (p.level_den - p.level_num) * steps)
        for bit, total, limit, cap in (
            (1, rise, p.rise_limit, p.rise_cap),
            (2, fall, p.fall_limit, p.fall_cap),
        ):
            rules.append(total <= cap)
            rules.append(total > 0 if alarm & bit else total < limit or limit == 0)
        if not all(rules):
            return False
        new, padding = cls.load(p, state), state[40 + fill * p.entry : 40 + p.depth * p.entry]
        for label, probs, _ in new.ring:
            if label >= p.classes or (p.uses(0) and probs.index(max(probs)) != label):
                return False
        if any(padding) or (not has_mean and any(state[40 + p.depth * p.entry : -4])):
            return False
        for name, _ in new._means():
            least, most = -255 * 65536 if name == "feature_mean" else 0, 255 * 65536
            most = 65535 * 256 if name.startswith("strain") else most
            if not all(least <= value <= most for value in getattr(new, name)):
                return False
        return all(sum(getattr(new, name)) <= 65536 for name in new._beliefs())
