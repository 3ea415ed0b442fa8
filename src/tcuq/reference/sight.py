"""The alarm that sees the input: one distance from clean data (section 21)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .numbers import clip, note, sat, signed, wide_logarithm, word
from .params import Params, Sight
from .signals import far

MEAN_MOST, STAY_MOST, LENGTH_MOST = 65536, 4096, 8192
BASE_MOST, BY_CHANCE = STAY_MOST // 2, 1024
STAY_FROM, STAY_FADES = 768, 2048
MANY_STAYS, BACK_WITHIN = 60, 60
NAT = 4096
ENOUGH = 10 * NAT
CALM_MOST = 17 * ENOUGH

SINGLE = (
    *("slow_odds", "stay_length", "stay_class", "stays", "recent", "calm", "again"),
    "object",
    "objects",
)
LISTS = ("slow_numbers", "stay_numbers", "base_numbers", "raised_lengths")
"""What the alarm remembers, in the order of a state: single words, then a word a number each."""


def cut(x: int, most: int) -> int:
    """Return the number of -most..most that is nearest to `x`."""
    return clip(x, -most, most)


def standard(head: Sight, i: int, x: int) -> int:
    """Return N_i(x): a number in deviations of clean data."""
    return cut(word(word(16 * x - head.mean[i]) * head.scale[i]) >> head.shift[i], 24576)


def lengths(head: Sight, gaps: Sequence[int]) -> list[int]:
    """Return the lengths of some gaps."""
    out, row = [], iter(head.matrix)
    for i in range(len(gaps)):
        total = 0
        for gap in gaps[i:]:
            total = word(total + next(row) * (gap >> 4))
        if abs(total >> head.matrix_shift) > LENGTH_MOST:
            note("length clipped")
        out.append(cut(total >> head.matrix_shift, LENGTH_MOST))
    return out


class Sighted:
    """What the alarm remembers of numbers and stays, beside the counters that it moves."""

    def __init__(self, params: Params) -> None:
        self.params = params
        self.steps = self.rise = self.alarm = self.baseline_seen = 0
        self.slow_odds = self.stay_length = self.stay_class = self.stays = 0
        self.recent = self.calm = self.again = self.object = self.objects = 0
        self.base_numbers = [0] * params.sight_count
        self.raised_lengths = [0] * params.sight_count
        self.moved, self.far = 255, 0
        self.afresh()

    def afresh(self) -> None:
        """Forget what moved."""
        self.slow_odds = 0
        self.slow_numbers = [0] * self.params.sight_count
        self.stay_numbers = [0] * self.params.sight_count

    def over(self) -> int:
        """Return how far the distance is above its limit, Q16.16."""
        return word(256 * self.rise) // (self.params.rise_limit >> 8)

    def look(
        self, head: Sight, signals: list[int], inputs: Sequence[int] | None, subject: int, w: int
    ) -> None:
        """Take the numbers of a step in: the distance, signal 5, and which number moved most."""
        p, raised = self.params, self.alarm & 1
        z = self._numbers(head, signals, inputs, subject)
        if self.stay_class != subject:
            self._begin_stay(head, subject)
        length = min(self.stay_length, STAY_FADES)
        self._settle(head, z, 0 if raised else w * (STAY_FADES - length) >> 11)
        self.stay_length = min(STAY_FADES, length + w)
        self.rise = min(self.rise, p.rise_cap)
        steady = length >= STAY_FROM and not raised and self.rise < p.rise_limit - p.rise_limit // 10

        def nearer(mean: int, value: int, k: int) -> int:
            mean = cut(mean, MEAN_MOST)
            return mean + (word((value - mean) * (max(w, 48) * k) + 32768) >> 16)

        self.slow_numbers = [nearer(m, x, 21) for m, x in zip(self.slow_numbers, z, strict=True)]
        if steady:
            note("a mean of the stay")
            self.stay_numbers = [nearer(m, x, 11) for m, x in zip(self.stay_numbers, z, strict=True)]
            if max(map(abs, self.stay_numbers)) > STAY_MOST:
                note("mean of a stay at its most")
        self.stay_numbers = [cut(m, STAY_MOST) for m in self.stay_numbers]
        gaps = [cut(a - b, 49152) for a, b in zip(self.slow_numbers, self.stay_numbers, strict=True)]
        self.slow_odds = nearer(self.slow_odds, z[p.sight_inputs], 11)
        found = lengths(head, gaps)
        few = self._few_objects(w, max(w, 48) * 21)
        excess = word((self.slow_odds - self.stay_numbers[p.sight_inputs]) * head.odds_weight) >> 4
        excess = word((excess >> 4) * math.isqrt(few)) >> 4
        least = -19661 if p.sight_count > 1 else excess
        if excess < least:
            note("sure answers take off no more")
        square = word(sum(each * each for each in found)) >> 8
        root = math.isqrt(word(square * (few >> 8)))
        self.rise = clip(word(256 * root + max(least, excess)), 0, p.rise_cap)
        if self.rise == p.rise_cap:
            note("distance at its cap")
        if raised:
            self._calm_down(head, z, w)
        if self.calm <= NAT:
            self.raised_lengths = found
        most = max(map(abs, gaps))
        first = [abs(gap) for gap in gaps].index(most)
        self.moved = 255 if most == 0 else first + 128 * (gaps[first] < 0)
        self.far = sat(wide_logarithm(65536 + self.over()) >> 3)
        signals[5] = self.far if p.uses(5) else 0

    def _numbers(
        self, head: Sight, signals: Sequence[int], inputs: Sequence[int] | None, subject: int
    ) -> list[int]:
        """Return z: what a step says, less the means of its class and of this device."""
        p, count = self.params, self.params.sight_count
        usual = head.class_mean[subject * count : (subject + 1) * count]
        base = [0] * count
        if 256 * head.baseline_inputs <= self.baseline_seen:
            most = BASE_MOST if head.baseline_inputs else 0
            base = self.base_numbers = [cut(b, most) for b in self.base_numbers]

        def number(i: int, x: int) -> int:
            return standard(head, i, x) - 256 * usual[i] - base[i]

        if inputs is None:
            z = [0] * p.sight_inputs
            note("input not seen" if head.gauges else "no gauges")
        else:
            z = [number(i, inputs[i]) for i in range(p.sight_inputs)]
        z += [number(len(z), signals[4])]
        if p.uses(7):
            z += [number(len(z), signals[7])]
        if p.sight_inputs:
            q = sum((each >> 6) ** 2 for each in z[: p.sight_inputs])
            z += [0 if inputs is None else number(len(z), far(q))]
        return z

    def _few_objects(self, w: int, rate: int) -> int:
        """Return how much of a square counts where slow means are those of few objects, Q0.16."""
        left, new = 65536 - rate, clip(w - 32, 0, 96) * 256 // 96
        past, others = sat(self.object), sat(self.objects)
        others = word(min(65535, others + ((past * past >> 16) * new >> 8)) * left) >> 16
        self.objects = word(others * left) >> 16
        self.object = sat((word((past * left >> 16) * (256 - new)) >> 8) + rate)
        spread = self.objects + (self.object * self.object >> 16)
        note("few objects" if spread > 2731 else "every step another object")
        return (5352 << 16) // (2621 + max(2731, spread))

    def right(self, head: Sight, against: int) -> int:
        """Return the log-odds that a step is right, Q16.16, from those against it."""
        odds = 32768 - against
        if self.far > 33480:
            note("far beyond what accuracy counts")
        far_ = min(self.far, 33480)
        both = word(odds * far_) >> 16
        total = head.accuracy_bias + (word(head.accuracy_odds * odds) >> 9)
        return word(total + (word(head.accuracy_far * far_) >> 9) + (word(head.accuracy_both * both) >> 9))

    def _begin_stay(self, head: Sight, subject: int) -> None:
        """Begin with another class: what the last stay had of its own comes off."""
        off = [0 if self.alarm & 1 else cut(each, STAY_MOST) for each in self.stay_numbers]
        if self.alarm & 1:
            note("a stay under an alarm")
        else:
            self.slow_odds = cut(self.slow_odds, MEAN_MOST) - off[self.params.sight_inputs]
            self.stays = min(self.stays, MANY_STAYS - 1) + 1
        self.slow_numbers = [cut(a, MEAN_MOST) - b for a, b in zip(self.slow_numbers, off, strict=True)]
        self.stay_numbers = [0] * self.params.sight_count
        self.stay_class, self.stay_length = subject, 0

    def _settle(self, head: Sight, z: Sequence[int], v: int) -> None:
        """Let the baseline of a device take a step in that counts as much as `v`."""
        whole = 256 * head.baseline_inputs
        if self.baseline_seen < whole and v > 0:
            self.baseline_seen += v
            self.base_numbers = [signed(b + (x >> 4) * v) for b, x in zip(self.base_numbers, z, strict=True)]
            if self.baseline_seen >= whole:
                note("baseline of numbers")
                means = [abs(b) // self.baseline_seen * (1 if b > 0 else -1) for b in self.base_numbers]
                beyond = [16 * mean - cut(16 * mean, BY_CHANCE) for mean in means]
                if max(map(abs, beyond)) > BASE_MOST:
                    note("baseline of numbers at its most")
                self.base_numbers = [cut(mean, BASE_MOST) for mean in beyond]
                slow = zip(self.slow_numbers, self.base_numbers, strict=True)
                self.slow_numbers = [cut(a, MEAN_MOST) - b for a, b in slow]
        self.baseline_seen = min(self.baseline_seen, whole)

    def _calm_down(self, head: Sight, z: Sequence[int], w: int) -> None:
        """Add up whether steps under an alarm are like clean ones or like those that raised it."""
        gaps = [cut(x - m, 49152) for x, m in zip(z, self.stay_numbers, strict=True)]
        self.raised_lengths = [cut(each, LENGTH_MOST) for each in self.raised_lengths]
        total = 0
        for there, here in zip(self.raised_lengths, lengths(head, gaps), strict=True):
            total = word(total + there * ((there >> 1) - here))
        e = cut(word(cut(total >> 8, LENGTH_MOST) * head.clear_weight), 2 * NAT)
        self.calm = max(0, min(self.calm, CALM_MOST) + (word(e * max(w, 160)) >> 8))

    def hold(self, move: int, frozen: bool) -> bool:
        """Return whether the alarm is on after a step; labels have moved its limit by `move`."""
        p, again, recent = self.params, min(self.again, 2), min(self.recent, BACK_WITHIN)
        self.stays, self.again, self.recent = min(self.stays, MANY_STAYS), again, max(0, recent - 1)
        calm = min(self.calm, CALM_MOST)
        clear = max(0, p.rise_clear + move)
        if not self.alarm & 1:
            self.calm = 0
            limit = p.rise_limit + move + (131072 // (4 + self.stays) if self.stays < MANY_STAYS else 0)
            if limit > self.rise >= p.rise_limit + move:
                note("below the limit of the first stays")
            if self.rise < limit and not frozen:
                return False
            note("raised by stillness" if frozen else "raised by distance")
            self.again = min(2, again + 1) if recent and self.rise >= limit else 0
            if self.again == 2:
                note("the same alarm again and again")
            return True
        settled = calm >= ENOUGH * 4**again
        if not settled and again and calm < ENOUGH and self.rise < clear and not frozen:
            note("held until calm")
        if frozen or (not settled and (self.rise >= clear or (again > 0 and calm < ENOUGH))):
            return True
        note("cleared by distance" if self.rise < clear else "cleared by calm")
        if self.rise >= clear:
            self.afresh()
            self.rise = 0
        self.recent, self.calm = BACK_WITHIN, 0
        return False
