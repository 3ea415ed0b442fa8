"""What follows from the risk of a step, also in an audit: threshold, budget, alarm (sections 8 to 11)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .labels import Labels
from .numbers import clip, least, natural_logarithm, note, sat, signed, word
from .params import Evidence, Params, Sight
from .signals import SIGNAL_COUNT, SLOW, STILLNESS_MAX, squares


def distance(p: Params, size: int) -> int:
    """Return how far a debt of this size moves the threshold, in 1/256 of Q0.16."""
    near = min(size, p.knee)
    return p.slope * near + p.steep_slope * (size - near)


def threshold(p: Params, debt: int) -> int:
    """Return the threshold at `debt`, section 9; a debt that no input can cause may not fit 32 bits."""
    moved = distance(p, abs(debt)) >> 8
    return p.reference + moved if debt >= 0 else p.reference - moved


def strayed(p: Params, debt: int) -> bool:
    """Return whether a debt counts as damaged, section 12."""
    closer = debt + p.level_num - (p.level_den if debt >= 0 else 0)
    return not (0 <= threshold(p, debt) <= 65535 or 0 <= threshold(p, closer) <= 65535)


def idle(p: Params) -> int:
    """Return how many debts up to 0 have a threshold of exactly 0: damage may go so far below."""
    return least(lambda s: threshold(p, -s) < 0) - least(lambda s: threshold(p, -s) <= 0)


def bounds(p: Params) -> tuple[int, int]:
    """Return the least and the greatest debt that any input can cause, section 9."""
    shut = least(lambda debt: threshold(p, debt) > 65535)
    open_ = least(lambda size: threshold(p, -size) <= 0)
    return 1 - open_ - p.level_num, shut - 1 + p.level_den - p.level_num


class Decision(NamedTuple):
    """What is decided of a step."""

    threshold: int
    flagged: int
    abstain: int
    alarm: int
    warming_up: int
    expected_accuracy: int
    doubtful: bool
    action: int


class Decider(Labels):
    """The counters of sections 9 to 11 and 19, and the rules over them."""

    def __init__(self, params: Params) -> None:
        super().__init__(params)
        self.debt = self.credit = self.fall = 0
        self.degradation = self.baseline = 0
        self.accuracy = params.expected_start * 256
        self.used = [n for n in range(SIGNAL_COUNT) if params.uses(n)]
        self.momentary = [n for n in self.used if n not in SLOW]
        self.reset()

    def reset(self) -> None:
        """Forget the last input; all else stays."""
        self.has_last = False
        self.last = [0] * self.params.novelty_words
        self.stillness = 0

    def decide(
        self,
        risk: int,
        uncertainty: int,
        answer: int,
        rising: int | None,
        frozen: bool | None = None,
        certainty: int | None = None,
    ) -> Decision:
        """Decide a step whose rise side adds `rising`; None where nobody knows: the alarm stays as it is.

        With `sight`, whose distance has been taken, `frozen` says whether the input stands still, and
        `certainty` how likely the answer is right.
        """
        certainty = 65535 - uncertainty if certainty is None else certainty
        p = self.params
        at, flagged = self._flag(risk)
        warming_up = int(self.steps < p.warmup)
        self.steps = min(self.steps + 1, 2**32 - 1)
        doubtful = self._doubts(risk)
        abstain = self._spend(flagged, doubtful, warming_up)
        raised = self.alarm & 1
        if frozen is not None:
            self._hold(frozen)
        elif rising is not None:
            self._sum(risk, rising)
        self._remember(answer, certainty, not abstain and not doubtful, raised)
        expected = self._expect(certainty)
        action = 2 if self.alarm & 3 else abstain
        return Decision(at, flagged, abstain, self.alarm & 3, warming_up, expected, doubtful, action)

    def _expect(self, certainty: int) -> int:
        """Return the expected accuracy after a step."""
        k = self.params.horizon
        if not k:
            return 0
        target = (certainty + 1) * 256
        past = self.accuracy % 2**24  # all of it, unless memory has failed
        self.accuracy = past + ((target - past + 2 ** (k - 1)) >> k)
        return self._corrected(sat((self.accuracy + 128) >> 8))

    def _flag(self, risk: int) -> tuple[int, int]:
        """Return the threshold of a step and whether it is flagged, section 9."""
        p = self.params
        at = threshold(p, self.debt)
        if not 0 <= at <= 65535:
            if strayed(p, self.debt):
                note("debt started anew")
                self.debt = 0
            word(distance(p, abs(self.debt)))
            at = threshold(p, self.debt)
        flagged = int(risk >= at)
        self.debt += p.level_den - p.level_num if flagged else -p.level_num
        return at, flagged

    def _spend(self, flagged: int, doubtful: bool, warming_up: int) -> int:
        """Return whether a step abstains, sections 10 and 19."""
        p, head = self.params, self.params.feedback
        self.credit = min(p.burst * p.budget_den, (self.credit + p.budget_num) % 2**32)
        abstain = int((flagged or doubtful) and not warming_up and self.credit >= p.budget_den)
        self.credit -= p.budget_den * abstain
        if flagged and not warming_up and not abstain:
            note("budget spent")
        if doubtful and head is not None:
            beyond = "withheld beyond the budget" if head.error_first else "doubtful and accepted"
            note("withheld" if abstain else beyond)
            return 1 if head.error_first else abstain
        return abstain

    def novelty(self, head: Evidence | Sight, own: list[int]) -> tuple[int, bool]:
        """Return how new this step is beside the last one, in 1/256, and whether the input stands still."""
        gap = word(squares([a - b for a, b in zip(own, self.last, strict=True)]))
        self.last = own
        if self.has_last:
            w = gap // (head.reach >> 8)
            part = "at its least" if w < 32 else "in full" if w > 256 else "in part"
            note(f"novelty {part}")
            w = clip(w, 32, 256)
        else:
            note("novelty at the first step")
            w = 256
        self.has_last = True
        doublings = 0 if w == 256 else head.reach.bit_length() - gap.bit_length()
        past = min(self.stillness, STILLNESS_MAX)  # as it is, unless memory has failed
        self.stillness = past + (word(65536 * doublings - past + 8) >> 4)
        limit = head.frozen
        if self.params.sight is not None and self.alarm & 1:
            limit -= limit >> 3
            if limit < self.stillness <= head.frozen:
                note("still enough to stay")
        if self.stillness == limit > 0:
            note("stillness at its limit")
        return (256, True) if 0 < limit < self.stillness else (w, False)

    def add_evidence(
        self, head: Evidence, signals: list[int], subject: int, novelty: int, frozen: bool
    ) -> int:
        """Return the evidence of a step alone, section 11; its mean takes it in and becomes signal 5."""
        evidence = head.clip
        if not frozen:
            pulled = weighed(head.coef, signals, self.momentary)
            evidence = _clipped(head, 256 * head.offset[subject] + pulled, "evidence")
        self.degradation = slow_mean(self.degradation, evidence, head.clip, novelty)
        signals[5] = sat(32768 + (self.degradation >> 4)) if self.params.uses(5) else 0
        return evidence

    def rising(self, risk: int, signals: Sequence[int], evidence: int, novelty: int) -> int:
        """Return what a step adds to the rise side."""
        p, head = self.params, self.params.evidence
        if head is None:
            return risk - p.rise_reference
        if head.bet_slope:
            x = _bet(head, evidence)
            return (word(x * novelty) >> 8 if x > 0 else x) - head.allowance
        slow = [n for n in SLOW if p.uses(n)]
        x = _clipped(head, head.bias + weighed(head.coef, signals, slow), "sum")
        x -= self._less_baseline(head, x, novelty)
        return (word(x * novelty) >> 8) - head.allowance

    def _less_baseline(self, head: Evidence, x: int, novelty: int) -> int:
        """Return what this device shows beyond the clean log, 0 while it learns."""
        enough = 256 * head.baseline_inputs
        if not enough:
            return 0
        if self.baseline_seen < enough:
            self.baseline = signed(self.baseline + ((x - head.baseline_mean) >> 8) * novelty)
            self.baseline_seen += novelty
            if self.baseline_seen < enough:
                return 0
            note("baseline above 0" if self.baseline > 0 else "baseline 0")
            self.baseline = 256 * (self.baseline // self.baseline_seen) if self.baseline > 0 else 0
            if self.baseline > head.baseline_most:
                note("baseline at its most")
        self.baseline_seen = enough
        self.baseline = min(self.baseline % 2**32, head.baseline_most)
        return self.baseline

    def _moved(self) -> int:
        """Return by how much labels have moved the limit of the alarm."""
        return 0 if self.params.feedback is None else (self.params.rise_limit >> 2) * self.alarm_quarters()

    def _hold(self, frozen: bool) -> None:
        """Let the alarm of section 21 take a step in."""
        was_up, self.fall = self.alarm & 1, 0
        left = min(self.alarm >> 2, self.params.least_raised) if was_up else 0
        held = self.hold(self._moved(), frozen)
        if left and not held:
            note("kept though the distance says otherwise")
        up = held or left > 0
        left = max(0, left - 1) if was_up else self.params.least_raised
        self.alarm = up + 4 * left * up

    def _sum(self, risk: int, rising: int) -> None:
        """Let both sides of the alarm take a step in."""
        p, moved = self.params, self._moved()
        limit, cap, clear = p.rise_limit + moved, p.rise_cap + moved, max(0, p.rise_clear + moved)
        self.rise = clip(signed(self.rise + rising), 0, cap)
        self.fall = clip(signed(self.fall + p.fall_reference - risk), 0, p.fall_cap)
        was_up, was_down = self.alarm & 1 and p.rise_limit > 0, self.alarm & 2 and p.fall_limit > 0
        down = self.fall > 0 and (was_down or self.fall >= p.fall_limit)
        left = min(self.alarm >> 2, p.least_raised) if was_up else 0
        up = was_up or 0 < limit <= self.rise
        if up and not was_up:
            left = p.least_raised
        elif left:
            left -= 1
            if self.rise <= clear:
                note("kept below the clear sum")
        elif was_up and self.rise <= clear:
            if self.rise:
                note("starts again at 0")
            up, self.rise = False, 0
        self.alarm = bool(up) + 2 * bool(down) + 4 * left
        for side, before, now in (("rise", was_up, up), ("fall", was_down, down)):
            if bool(now) != bool(before):
                note(f"alarm {side}" if now else f"alarm {side} cleared")
                if now and p.evidence is not None:
                    note("alarm from evidence")


def weighed(coef: Sequence[int], signals: Sequence[int], some: Iterable[int]) -> int:
    """Return the sum of some signals times their coefficients, Q16.16."""
    return sum([word(coef[n] * signals[n]) >> 9 for n in some])


def slow_mean(past: int, target: int, most: int, novelty: int) -> int:
    """Return a mean that goes by novelty after one more step, section 6."""
    past = clip(past, -most, most)  # as it is, unless memory has failed
    return past + (word((target - past) * novelty + 1024) >> 11)


def _clipped(head: Evidence, value: int, what: str) -> int:
    if abs(word(value)) > head.clip:
        note(f"{what} clipped {'above' if value > 0 else 'below'}")
    return clip(value, -head.clip, head.clip)


def _bet(head: Evidence, evidence: int) -> int:
    """Return the natural logarithm of a bet that pays with the evidence."""
    f = head.bet_base + (word(head.bet_slope * (evidence >> 8)) >> 8)
    note("bet pays" if f >= 65536 else "bet loses")
    if f < 400:
        note("bet near its least")
    if f > 2**20 - 400:
        note("bet near its largest")
    return natural_logarithm(f)
