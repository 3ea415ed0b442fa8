# SPDX-License-Identifier: MIT
"""The monitor of SPEC.md in plain Python integers, slow and literal.

Written from SPEC.md alone: it shares neither code nor tables with the C core, so that a number on which both
agree was derived twice. Section numbers in the comments are those of SPEC.md.
"""

from __future__ import annotations

from dataclasses import dataclass

from oracle_feedback import Labels
from oracle_math import (
    S,
    X,
    log_odds,
    mix,
    natural_logarithm,
    norm,
    sat,
    signed,
    wide_logarithm,
    word,
)
from oracle_mixture import Mixed, guard, mixed, plain_likelihood
from oracle_params import NAMES, SIGNAL_COUNT, Evidence, Feedback, Instant, Params
from oracle_state import SLOW_MAX, STILLNESS_MAX

__all__ = [
    "ERROR_REASON",
    "NAMES",
    "NO_REASON",
    "SIGNAL_COUNT",
    "Evidence",
    "Feedback",
    "Instant",
    "Monitor",
    "Params",
    "Step",
]

NO_REASON = 255
ERROR_REASON = 254
SLOW = (5, 9)
"""The signals that are means, taken after the step itself."""


def blocks(values: list[int]) -> list[int]:
    """Return eight sums of neighboring values, section 6, "Look"."""
    d = len(values)
    return [sum(values[j * d >> 3 : (j + 1) * d >> 3]) for j in range(8)]


def far(square: int) -> int:
    """Return a square as signals 6, 7 and 9 give it: log2 of it and 1, over 24."""
    x = wide_logarithm(square + 1) + 16 * 65536
    return sat(word((x >> 4) * 2731) >> 12)


@dataclass(frozen=True)
class Step:
    """What one step says, in the order of a `step` line."""

    threshold: int
    severity: int
    prediction: int
    answer: int
    risk: int
    uncertainty: int
    persistence: int
    look: int
    expected_accuracy: int
    flagged: int
    abstain: int
    alarm: int
    warming_up: int
    reason: int
    low_mass: int
    signals: tuple[int, ...]


@dataclass(frozen=True)
class Reading:
    """One inference as section 3 reads it, and the class that the step speaks of."""

    u: list[int]
    x: list[int]
    away: list[int]
    prediction: int
    top: int
    second: int
    subject: int
    belief: list[int] | None


class Monitor(Labels):
    """The state of section 12 and the step over it.

    Attributes
    ----------
    mixture : Mixed or None
        What the experts said of the last step, None without an `instant` head.
    """

    mixture: Mixed | None = None

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
        prediction = u.index(top)
        second = max(u[:prediction] + u[prediction + 1 :])

        self._believe(u)
        answer = self.mixture.answer if p.about and self.mixture is not None else prediction
        if answer != prediction:
            self.branches.add("answer is not the prediction")
        subject = answer if p.about else prediction
        away = []
        if p.centers is not None:
            center = p.centers[subject * p.features : (subject + 1) * p.features]
            away = [a - b for a, b in zip(features, center, strict=True)]
        belief = None if self.mixture is None else self.mixture.belief
        reading = Reading(u, x, away, prediction, top, second, subject, belief)
        signals = self._signals(reading)
        self.ring = [(prediction, probs, features), *self.ring][: p.depth]
        look, evidence, still = 0, 0, False
        if p.evidence is not None:
            look, still = self._look(p.evidence, features, signals[4])
            evidence = p.evidence.clip if still else self._evidence(p.evidence, signals, subject)
            self._slow(p.evidence, evidence, blocks(away), look, signals)
        self.has_last = True

        persistence = 0 if self.mixture is None else self.mixture.persistence
        bias, coef = self._head(persistence >> 1)
        uncertainty = self._uncertainty(signals, bias, coef)
        if still:
            guess = 65536 - 65536 // p.classes
            self.branches.add("still, above a guess" if uncertainty > guess else "still, a guess")
            uncertainty = max(uncertainty, guess)
        self._expect(uncertainty)
        anchor = belief[subject] if p.anchor and belief is not None else 256 * u[subject]
        risk = mix(uncertainty, sat(65536 - anchor), p.blend)

        if p.strayed(self.debt):
            self.branches.add("debt started anew")
            self.debt = 0
        word(p.distance(abs(self.debt)))
        threshold = p.threshold(self.debt)
        flagged = int(risk >= threshold)
        reason = self._reason(signals, coef) if flagged else NO_REASON
        self.debt += p.level_den - p.level_num if flagged else -p.level_num
        warming_up = int(self.steps < p.warmup)
        self.steps = min(self.steps + 1, 2**32 - 1)
        self.credit = min(p.burst * p.budget_den, (self.credit + p.budget_num) % 2**32)
        doubtful = self._doubts(risk)
        abstain = int((flagged or doubtful) and not warming_up and self.credit >= p.budget_den)
        self.credit -= p.budget_den * abstain
        if flagged and not warming_up and not abstain:
            self.branches.add("budget spent")
        if doubtful:
            abstain = self._hold_back(abstain)
            reason = ERROR_REASON if abstain and reason == NO_REASON else reason
        raised = self.alarm & 1
        self._watch(risk, self._rising(risk, signals, evidence, look))
        self._remember(answer, uncertainty, not abstain and not doubtful, raised)
        expected = sat((self.accuracy + 128) >> 8)
        return Step(
            threshold=word(threshold),
            severity=0 if p.evidence is None else self.severity,
            prediction=prediction,
            answer=answer,
            risk=risk,
            uncertainty=uncertainty,
            persistence=persistence,
            look=sat(256 * look),
            expected_accuracy=self._corrected(expected) if p.horizon else 0,
            flagged=flagged,
            abstain=abstain,
            alarm=self.alarm & 3,
            warming_up=warming_up,
            reason=reason,
            low_mass=int(sum(u) < 128),
            signals=tuple(signals),
        )

    def _signals(self, reading: Reading) -> list[int]:
        p, u, x, subject = self.params, reading.u, reading.x, reading.subject
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
                value[2] = sat((sum(e[0] != reading.prediction for e in past) << 16) // len(filled))
        gap = reading.top - reading.second
        confidence, margin = sat(65536 - 256 * reading.top), sat(65536 - 256 * gap)
        value[3] = mix(confidence, margin, p.doubt_mix)
        value[4] = log_odds(65536 - 256 * u[subject])
        if p.uses(6):
            value[6] = far(sum(a * a for a in x))
        value[7] = far(sum(a * a for a in reading.away))
        if p.uses(8) and reading.belief is not None:
            value[8] = log_odds(65536 - reading.belief[subject])
            if value[8] in (0, 65535):
                self.branches.add(f"disbelief {'high' if value[8] else 'low'}")
        return [v if p.uses(n) else 0 for n, v in enumerate(value)]

    def _believe(self, u: list[int]) -> None:
        """Let the experts take a posterior in, where there is an `instant` head."""
        head, names = self.params.instant, [f"expert_{k}" for k in range(1, 5)]
        if head is None:
            return
        if not self.has_last:
            for name in names:
                setattr(self, name, [65536 // len(u)] * len(u))
        q = plain_likelihood(u)
        behind_by = 0
        if self.params.evidence is not None and not self.alarm & 1:
            behind_by = guard(self.rise, self.params.rise_limit)
        self.mixture = mixed(
            q, [getattr(self, name) for name in names], self.class_mix, self.deficits, behind_by
        )
        for name, belief in zip(names, self.mixture.experts, strict=True):
            setattr(self, name, belief)
        self.class_mix, self.deficits, self.started = self.mixture.class_mix, self.mixture.deficits, True
        if 65535 in self.deficits:
            self.branches.add("deficit saturated")
        if 1 in self.mixture.weights:
            self.branches.add("weight 1")

    def _head(self, h: int) -> tuple[int, list[int]]:
        """Return bias and coef of section 7: between those of two heads where there is an `instant` one."""
        p, head = self.params, self.params.instant
        if head is None:
            return p.bias, list(p.coef)
        coef = [low + (word((c - low) * h) >> 15) for c, low in zip(p.coef, head.coef, strict=True)]
        return head.bias + (word(((p.bias - head.bias) >> 10) * h) >> 5), coef

    def _expect(self, uncertainty: int) -> None:
        k = self.params.horizon
        if k:
            target = (65536 - uncertainty) * 256
            past = self.accuracy % 2**24  # all of it, unless memory has failed
            self.accuracy = past + ((target - past + 2 ** (k - 1)) >> k)

    def _divergence(self, u: list[int], v: list[int]) -> int:
        def own(w: list[int]) -> tuple[int, int, int]:
            mass = sum(w)
            rest = max(0, 256 - mass)
            return mass, rest, sum(X[c] for c in w) + X[rest] - 192 * (mass + rest)

        (mass_u, rest_u, k_u), (mass_v, rest_v, k_v) = own(u), own(v)
        raw = word(sum(X[a + b] for a, b in zip(u, v, strict=True)) + X[rest_u + rest_v] - k_u - k_v)
        if raw < 0:
            self.branches.add("divergence clipped at 0")
        raw = max(0, raw)
        mass = max(256, mass_u) + max(256, mass_v)
        if mass > 512:
            raw = word((raw // mass) * 512 + word((raw % mass) * 512) // mass)
        if 2 * raw // 3 > 65535:
            self.branches.add("divergence saturated")
        return sat(word(2 * raw) // 3)

    def _angle(self, dot: int, square1: int, square2: int) -> int:
        (m1, e1), (m2, e2) = norm(square1), norm(square2)
        if m1 == 0 and m2 == 0:
            self.branches.add("both vectors zero")
            return 0
        if m1 == 0 or m2 == 0:
            self.branches.add("one vector zero")
            return 32768
        product = word(m1 * m2 + 32768) >> 16
        shift = -1 - e1 - e2
        scaled = word(abs(dot) << shift)
        if scaled // product > 32768:
            self.branches.add("cosine clipped at 1")
        cosine = min(32768, scaled // product)
        if dot < 0:
            self.branches.add("obtuse angle")
            if cosine == 32768:
                self.branches.add("opposite vectors")
        return 32768 - cosine if dot >= 0 else sat(32768 + cosine)

    def _look(self, head: Evidence, features: list[int], odds: int) -> tuple[int, bool]:
        """Return how new this step is beside the one before, in 1/256, and whether the input stands still."""
        p = self.params
        own = blocks(features) if p.uses(7) else [odds]
        gap = word(sum((a - b) ** 2 for a, b in zip(own, self.last, strict=True)))
        self.last = own
        if self.has_last:
            w = gap // (head.reach >> 8)
            part = "at its least" if w < 32 else "in full" if w > 256 else "in part"
            self.branches.add(f"look {part}")
            w = min(max(w, 32), 256)
        else:
            self.branches.add("look at the first step")
            w = 256
        doublings = 0 if w == 256 else head.reach.bit_length() - gap.bit_length()
        past = min(self.stillness, STILLNESS_MAX)  # as it is, unless memory has failed
        self.stillness = past + (word(65536 * doublings - past + 8) >> 4)
        if self.stillness == head.still > 0:
            self.branches.add("stillness at its limit")
        if 0 < head.still < self.stillness:
            return 256, True
        return w, False

    def _slow(self, head: Evidence, evidence: int, gaps: list[int], look: int, signals: list[int]) -> None:
        """Let the means that go by looks take a step in, and set their signals."""

        def taken(past: int, target: int, most: int) -> int:
            past = min(max(past, -most), most)  # as it is, unless memory has failed
            return past + (word((target - past) * look + 1024) >> 11)

        self.severity = taken(self.severity, evidence, head.clip)
        if self.params.uses(5):
            signals[5] = sat(32768 + (self.severity >> 4))
        if self.params.uses(9):
            self.slow = [taken(past, 256 * gap, SLOW_MAX) for past, gap in zip(self.slow, gaps, strict=True)]
            drifts = [abs(value) >> 6 for value in self.slow]
            if max(drifts) > 16383:
                self.branches.add("drift clipped")
            signals[9] = far(sum(min(drift, 16383) ** 2 for drift in drifts))

    def _uncertainty(self, signals: list[int], bias: int, coef: list[int]) -> int:
        p = self.params
        z = bias + sum(word(coef[n] * signals[n]) >> 9 for n in range(SIGNAL_COUNT) if p.uses(n))
        a = abs(word(z))
        if a >= 12 * 65536:
            self.branches.add("logistic clipped high" if z >= 0 else "logistic clipped low")
            v = 65535
        else:
            i = a >> 13
            v = S[i] + ((S[i + 1] - S[i]) * (a % 8192) >> 13)
        return v if z >= 0 else 65536 - v

    def _reason(self, signals: list[int], coef: list[int]) -> int:
        p = self.params
        best, reason = 0, NO_REASON
        for n in range(SIGNAL_COUNT):
            pull = word(coef[n] * (signals[n] - p.clean_mean[n])) if p.uses(n) else 0
            if pull > best:
                best, reason = pull, n
        return reason

    def _pulled(self, coef: tuple[int, ...], signals: list[int], some: list[int]) -> int:
        return sum(word(coef[n] * signals[n]) >> 9 for n in some if self.params.uses(n))

    def _clipped(self, head: Evidence, value: int, what: str) -> int:
        if abs(word(value)) > head.clip:
            self.branches.add(f"{what} clipped {'above' if value > 0 else 'below'}")
        return min(max(value, -head.clip), head.clip)

    def _evidence(self, head: Evidence, signals: list[int], subject: int) -> int:
        """Return the evidence of this step alone, section 11."""
        momentary = [n for n in range(SIGNAL_COUNT) if n not in SLOW]
        pulled = self._pulled(head.coef, signals, momentary)
        return self._clipped(head, 256 * head.offset[subject] + pulled, "evidence")

    def _rising(self, risk: int, signals: list[int], evidence: int, look: int) -> int:
        p, head = self.params, self.params.evidence
        if head is None:
            return risk - p.rise_reference
        if head.bet_slope:
            x = self._bet(head, evidence)
            return (word(x * look) >> 8 if x > 0 else x) - head.allowance
        x = self._clipped(head, head.bias + self._pulled(head.coef, signals, [*SLOW]), "sum")
        x -= self._reference(head, x, look)
        return (word(x * look) >> 8) - head.allowance

    def _reference(self, head: Evidence, x: int, look: int) -> int:
        """Return what this device shows beyond the clean log, 0 while it learns: section 11."""
        enough = 256 * head.own_looks
        if not enough:
            return 0
        if self.own_seen < enough:
            self.own = signed(self.own + ((x - head.own_mean) >> 8) * look)
            self.own_seen += look
            if self.own_seen < enough:
                return 0
            self.branches.add("own reference above 0" if self.own > 0 else "own reference 0")
            self.own = 256 * (self.own // self.own_seen) if self.own > 0 else 0
            if self.own > head.own_most:
                self.branches.add("own reference at its most")
        self.own_seen = enough
        self.own = min(self.own % 2**32, head.own_most)
        return self.own

    def _bet(self, head: Evidence, value: int) -> int:
        """Return the natural logarithm of a bet that pays with the evidence, section 11."""
        f = head.bet_base + (word(head.bet_slope * (value >> 8)) >> 8)
        self.branches.add("bet pays" if f >= 65536 else "bet loses")
        if f < 400:
            self.branches.add("bet near its least")
        if f > 2**20 - 400:
            self.branches.add("bet near its largest")
        return natural_logarithm(f)

    def _watch(self, risk: int, rising: int) -> None:
        p = self.params
        moved = 0 if p.feedback is None else (p.rise_limit >> 2) * self.alarm_level()
        limit, cap, clear = p.rise_limit + moved, p.rise_cap + moved, max(0, p.rise_clear + moved)
        self.rise = min(max(signed(self.rise + rising), 0), cap)
        self.fall = min(max(signed(self.fall + p.fall_reference - risk), 0), p.fall_cap)
        was_up, was_down = self.alarm & 1 and p.rise_limit > 0, self.alarm & 2 and p.fall_limit > 0
        down = self.fall > 0 and (was_down or self.fall >= p.fall_limit)
        held = min(self.alarm >> 2, p.hold) if was_up else 0
        up = was_up or 0 < limit <= self.rise
        if up and not was_up:
            held = p.hold
        elif held:
            held -= 1
            if self.rise <= clear:
                self.branches.add("held below the clear sum")
        elif was_up and self.rise <= clear:
            if self.rise:
                self.branches.add("starts again at 0")
            up, self.rise = False, 0
        self.alarm = bool(up) + 2 * bool(down) + 4 * held
        for side, before, now in (("rise", was_up, up), ("fall", was_down, down)):
            if now and not before:
                self.branches.add(f"alarm {side}")
                if p.evidence is not None:
                    self.branches.add("alarm from evidence")
            if before and not now:
                self.branches.add(f"alarm {side} cleared")
