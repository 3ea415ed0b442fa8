"""How a step is decided, once more: SPEC.md sections 8 to 11 and 19 in plain integers, without the core."""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..base.errors import InputError
from ..base.fixed import ONE
from ..log.log import Log
from ..monitor.monitor import Monitor, watch
from ..monitor.params import Params
from ..monitor.signals import NUMBER, SIGNALS, SLOW
from ..monitor.state import State

END = 24576
"""3 nats: labels have decided against an alarm, or for one."""

KNOWN, VOUCHED, ALARM = 1 << 15, 1 << 14, 1 << 13


def label_rows(labels: npt.ArrayLike | None, first: int, count: int, classes: int) -> dict[int, list[Any]]:
    """Return labels by the place of the step after which they came, in their order.

    A label has the number of the last step when it came, the number of its step, and the true class, -1
    where none is right or -2 where the answer was.
    """
    by_place: dict[int, list[Any]] = defaultdict(list)
    rows = np.zeros((0, 3), dtype=np.int64) if labels is None else np.asarray(labels)
    if rows.ndim != 2 or rows.shape[1] != 3 or rows.dtype.kind not in "iu":
        raise InputError("value", f"labels are {rows.dtype} {rows.shape}, expected rows of three integers")
    for after, step, label in rows.tolist():
        if not (step <= after and first <= after < first + count and -2 <= label < classes):
            raise InputError(
                "value",
                f"label {label} for step {step} after step {after}, expected a class, -1 or -2, for that "
                f"step or one before, and after a step of {first} to {first + count - 1}",
            )
        by_place[after - first].append((after - step, label))
    return by_place


class Told:
    """What a device with feedback holds of its labels."""

    def __init__(self, params: Params, state: bytes | None = None) -> None:
        self.p: dict[str, int] = params.integers()["feedback"]
        self.bits = 6 if params.classes <= 64 else 10
        self.quarter: int = params.integers()["rise_limit"] >> 2
        memory = self.p["memory"]
        self.entries = [0] * memory
        self.debt = self.correction = self.case = self.next = self.quarters = self.taken = 0
        self.recovered = 0
        self.lowest = (
            0 if params.integers()["evidence"] and params.integers()["evidence"]["bet_slope"] else -2
        )
        if state is not None:
            form = struct.Struct(f"<ihhHH{memory}H")
            end = len(state) - 4 - (2 * (5 * params.classes + 6) if params.instant is not None else 0)
            values = form.unpack_from(state, end - form.size - 2 * (memory & 1))
            self.debt, self.correction, self.case, self.next, moved, *self.entries = values
            self.quarters = moved % 16 - 16 if moved % 16 > 13 else moved % 16
            self.recovered = moved // 16
            self.taken = int.from_bytes(state[20:24], "little")

    @property
    def bound(self) -> int:
        """Most that the error debt can be."""
        p = self.p
        return p["error_shut"] - 1 + p["memory"] * (p["error_den"] - p["error_num"])

    def doubtful(self, risk: int) -> bool:
        """Tell whether a step of this risk is doubtful."""
        left = self.p["error_shut"] - self.debt
        high = left <= 0 or risk * self.p["error_shut"] >= self.p["error_reference"] * left
        return self.p["error_num"] > 0 and high

    @property
    def move(self) -> int:
        """What is added to the limit of the alarm."""
        return self.quarter * self.quarters

    def remember(self, answer: int, uncertainty: int, vouched: bool, raised: bool, changed: bool) -> None:
        """Take a step in, after its alarm."""
        certainty = (65535 - uncertainty) >> (3 + self.bits)
        self.entries[self.next] = answer + (certainty << self.bits) + ALARM * raised + VOUCHED * vouched
        self.next = (self.next + 1) % self.p["memory"]
        self.taken += 1
        self.case = 0 if changed else self.case

    def label(self, ago: int, label: int, raised: bool) -> bool:
        """Take a label; return whether it withdraws the alarm."""
        memory = self.p["memory"]
        if ago >= min(memory, self.taken):
            return False
        at = (self.next - 1 - ago) % memory
        entry = self.entries[at]
        if entry & KNOWN:
            return False
        self.entries[at] |= KNOWN
        right = label == -2 or label == entry % (1 << self.bits)
        sure = (entry % ALARM | (1 << self.bits) - 1) >= ALARM - (self.p["error_reference"] >> 5)
        num, shut, vouched = self.p["error_num"], self.p["error_shut"], bool(entry & VOUCHED)
        paid = min(4095, self.bound // num) if num else 0
        if not vouched and right and sure and 4 * self.debt >= 3 * shut and self.recovered < paid:
            self.recovered += 1
            vouched = True
        if vouched and num:
            self.recovered -= self.debt == -shut and right and self.recovered > 0
            self.debt = max(-shut, self.debt + (0 if right else self.p["error_den"]) - num)
        certainty = (entry % ALARM >> self.bits << self.bits) + (1 << (self.bits - 1))
        self.correction += (32768 * right - 4 * certainty - self.correction + 16) >> 5
        if bool(entry & ALARM) != raised:
            return False
        self.case += -self.p["right_score"] if right else self.p["wrong_score"]
        self.case = 0 if raised == (self.case > 0) else self.case
        if abs(self.case) < END:
            return False
        self.case = 0
        self.quarters = min(13, self.quarters + 2) if raised else max(self.lowest, self.quarters - 1)
        return raised


def watch_told(monitor: Monitor, log: Log, told: dict[int, list[Any]]) -> tuple[npt.NDArray[Any], ...]:
    """Run a monitor over a log as `watch` does, with signals, and labels when they came."""
    parts, values = [], []
    for piece in log.pieces():
        if piece.start:
            monitor.reset()
        ends = sorted(at + 1 for at in told if piece.start <= at < piece.stop)
        for start, stop in zip([piece.start, *ends], [*ends, piece.stop], strict=True):
            if start < stop:
                steps, signals = watch(monitor, log.take(slice(start, stop)), signals=True)
                parts.append(steps)
                values.append(signals)
            for ago, label in told.get(stop - 1, []) if stop in ends else []:
                monitor._core.feedback(monitor.steps - 1 - ago, label)
    return np.concatenate(parts), np.concatenate(values)


TOP = ONE - 1
Ints = npt.NDArray[np.int64]


class Evidence(NamedTuple):
    """What an alarm of evidence goes by at each step.

    Of the step, and what is summed: clipped and above an own reference, Q16.16. Looks are in 1/256;
    severity is the slow mean after each step, Q16.16.
    """

    own: list[int]
    slow: list[int]
    looks: list[int]
    severity: Ints


class Rules:
    """Sections 9 to 11 of SPEC.md, and the expected accuracy of section 8."""

    def __init__(self, params: Params) -> None:
        self.p: dict[str, Any] = params.integers()

    def threshold(self, debt: int) -> int:
        """Return the threshold at a debt."""
        p = self.p
        size = abs(debt)
        near = min(size, p["knee"])
        moved: int = (p["slope"] * near + p["steep_slope"] * (size - near)) >> 8
        reference: int = p["reference"]
        return reference + moved if debt >= 0 else reference - moved

    @property
    def bounds(self) -> tuple[int, int]:
        """Lowest and highest debt that any input can reach."""
        shut = _least(lambda size: self.threshold(size) > TOP)
        opened = _least(lambda size: self.threshold(-size) <= 0)
        num, den = self.p["level_num"], self.p["level_den"]
        return 1 - opened - num, shut - 1 + den - num

    def stood_still(self, values: Ints, starts: Collection[int]) -> npt.NDArray[np.bool_]:
        """Return where the input of a fresh monitor stood still (SPEC.md section 6).

        A reset that is not among `starts` can only make steps appear to stand still that did not.
        """
        reach, still = self.p["evidence"]["reach"], self.p["evidence"]["still"]
        distances = np.square(np.diff(values, axis=0, prepend=values[:1])).sum(1)
        stillness, still_steps = 0, []
        for step, distance in enumerate(distances.tolist()):
            short = reach.bit_length() - distance.bit_length() if distance // (reach >> 8) < 256 else 0
            stillness = 0 if step in starts else stillness + ((ONE * short - stillness + 8) >> 4)
            still_steps.append(stillness > still)
        return np.array(still_steps, dtype=bool)

    def evidence(
        self,
        signals: Ints,
        classes: Ints,
        looks: Ints,
        start: State | None,
        still: npt.NDArray[np.bool_] | None = None,
    ) -> Evidence:
        """Return what the alarm goes by at each step.

        Signals and looks are in Q0.16; `classes` are those that the risk speaks about.
        """
        head = self.p["evidence"]
        clip, weights = head["clip"], (looks + 1) >> 8
        own = 256 * np.array(head["offset"], dtype=np.int64)[classes]
        for number, coef in enumerate(head["coef"]):
            if SIGNALS[number] not in SLOW:
                own += (coef * signals[:, number]) >> 9
        own = np.clip(own, -clip, clip)
        if still is not None:
            own[still] = clip
        severity = _severity(own.tolist(), weights.tolist(), start)
        slow = np.full(len(own), head["bias"], dtype=np.int64)
        told = {"severity": np.clip(32768 + (severity >> 4), 0, TOP), "drift": signals[:, NUMBER["drift"]]}
        for name, values in told.items():
            if self.p["signals"] >> NUMBER[name] & 1:
                slow += (head["coef"][NUMBER[name]] * values) >> 9
        above = _above_own(head, np.clip(slow, -clip, clip).tolist(), weights.tolist(), start)
        return Evidence(own.tolist(), above, weights.tolist(), severity)

    def added(self, evidence: Evidence) -> list[int]:
        """Return what the rise side adds at each step: evidence or the outcome of a bet, by the look."""
        head = self.p["evidence"]
        if head["bet_slope"]:
            bets = [_bet(head["bet_base"], head["bet_slope"], value) for value in evidence.own]
            values = [(x * w) >> 8 if x > 0 else x for x, w in zip(bets, evidence.looks, strict=True)]
        else:
            values = [(x * w) >> 8 for x, w in zip(evidence.slow, evidence.looks, strict=True)]
        return [value - head["allowance"] for value in values]

    def expected_accuracy(
        self, uncertainties: list[int], start: State | None, corrections: Ints | int = 0
    ) -> Ints:
        """Return the expected accuracy after each step, Q0.16; 0 where the parameters have no horizon."""
        k = self.p["horizon"]
        if not k:
            return np.zeros(len(uncertainties), dtype=np.int64)
        value, expected = start.accuracy if start else self.p["expected_start"] * 256, []
        for uncertainty in uncertainties:
            value += ((ONE - uncertainty) * 256 - value + (1 << (k - 1))) >> k
            expected.append(min(TOP, (value + 128) >> 8))
        return np.asarray(np.clip(np.array(expected, dtype=np.int64) + 2 * corrections, 0, TOP))

    def replay(
        self,
        risks: list[int],
        start: State | None,
        evidence: Evidence | None = None,
        heard: Heard | None = None,
    ) -> dict[str, Ints]:
        """Return what the rules say about each step, from the risks alone.

        With an evidence head, alarm and severity need the evidence too; without that they are left out.
        Risks are in Q0.16. Where the alarm cannot be told, labels are taken to find it off.
        """
        p = self.p
        num, den, spend, refill = p["level_num"], p["level_den"], p["budget_den"], p["budget_num"]
        most = p["burst"] * spend
        warmup = p["warmup"]
        debt, credit, step = (start.debt, start.credit, start.steps) if start else (0, 0, 0)
        rows = []
        sides = self._sides(risks, start, evidence)
        raised: dict[str, list[int]] = {side: [] for side in sides}
        debts, corrections = [], []
        for at, risk in enumerate(risks):
            threshold = self.threshold(debt)
            flagged = risk >= threshold
            debt += den - num if flagged else -num
            warm = step < warmup
            step += 1
            credit = min(most, credit + refill)
            doubtful = heard is not None and heard.told.doubtful(risk)
            abstain = (flagged or doubtful) and not warm and credit >= spend
            if abstain:
                credit -= spend
            abstain |= doubtful and p["feedback"]["error_first"] > 0
            rise = sides.get("rise")
            before = rise is not None and rise.raised
            for name, side in sides.items():
                raised[name].append(side.step(heard.told.move if heard is not None and side is rise else 0))
            if heard is not None:
                now = rise is not None and rise.raised
                heard.told.remember(
                    heard.answers[at], heard.uncertainties[at], not (abstain or doubtful), now, now != before
                )
                corrections.append(heard.told.correction)
                for ago, label in heard.labels.get(at, []):
                    if heard.told.label(ago, label, now) and rise is not None:
                        rise.raised, rise.total, rise.held, now = False, 0, 0, False
                debts.append(heard.told.debt)
            rows.append((threshold, flagged, abstain, warm))
        columns = np.array(rows, dtype=np.int64).reshape(-1, 4).T
        derived = dict(zip(("threshold", "flagged", "abstain", "warming_up"), columns, strict=True))
        if sides:
            rises, falls = (np.array(raised.get(side, 0), dtype=np.int64) for side in ("rise", "fall"))
            derived["alarm"] = rises + 2 * falls
            derived["severity"] = 0 * rises if evidence is None else evidence.severity
        if heard is not None:
            heard.debts, heard.corrections = debts, np.array(corrections, dtype=np.int64)
        return derived

    def _sides(self, risks: list[int], start: State | None, evidence: Evidence | None) -> dict[str, _Side]:
        """Return the sides of the alarm; none where what they sum is not known."""
        if evidence is not None:
            return {"rise": _Side(self.p, self.added(evidence), "rise", start)}
        if self.p["evidence"] is not None:
            return {}
        up, down = self.p["rise_reference"], self.p["fall_reference"]
        return {
            "rise": _Side(self.p, [risk - up for risk in risks], "rise", start),
            "fall": _Side(self.p, [down - risk for risk in risks], "fall", start),
        }


class Heard:
    """What a replay needs of labels, and what it then knows.

    `told` is as before the first step, and afterwards as after the last.
    """

    def __init__(self, told: Told, answers: list[int], uncertainties: list[int], labels: Any) -> None:
        self.told, self.answers, self.uncertainties, self.labels = told, answers, uncertainties, labels
        self.debts: list[int] = []
        self.corrections = np.zeros(0, dtype=np.int64)


class _Side:
    """One side of the alarm."""

    def __init__(self, p: dict[str, Any], added: list[int], side: str, start: State | None) -> None:
        self.added = iter(added)
        self.limit, self.cap = p[f"{side}_limit"], p[f"{side}_cap"]
        self.clear: int = p["rise_clear"] if side == "rise" else 0
        self.hold: int = p["hold"] if side == "rise" else 0
        self.total, self.raised, self.held = 0, False, 0
        if start is not None:
            self.total, bit = (start.rise, 1) if side == "rise" else (start.fall, 2)
            self.raised, self.held = bool(start.alarm & bit), start.held if side == "rise" else 0

    def step(self, move: int) -> bool:
        """Take one step; `move` is what labels have added to the limit."""
        total = self.total + next(self.added)
        self.total = 0 if total < 0 else min(self.cap + move, total)
        if not self.limit:
            return False
        if not self.raised:
            self.raised, self.held = self.total >= self.limit + move, self.hold
        elif self.held:
            self.held -= 1
        elif self.total <= max(0, self.clear + move):
            self.raised, self.total = False, 0
        return self.raised


def _severity(evidence: list[int], looks: list[int], start: State | None) -> Ints:
    """Return the slow mean of the evidence after each step, Q16.16."""
    value, said = start.severity if start else 0, []
    for each, look in zip(evidence, looks, strict=True):
        value += ((each - value) * look + 1024) >> 11
        said.append(value)
    return np.array(said, dtype=np.int64)


def _above_own(head: dict[str, Any], values: list[int], looks: list[int], start: State | None) -> list[int]:
    """Return what is summed, less the own reference of a device once it has that (SPEC.md section 11)."""
    whole, above = 256 * head["own_looks"], []
    if not whole:
        return values
    own, seen = (start.own, start.own_seen) if start else (0, 0)
    for value, look in zip(values, looks, strict=True):
        if seen < whole:
            own, seen = own + ((value - head["own_mean"]) >> 8) * look, seen + look
            if seen >= whole:
                own, seen = min(256 * (own // seen) if own > 0 else 0, head["own_most"]), whole
        above.append(value - own if seen >= whole else value)
    return above


def _bet(base: int, slope: int, evidence: int) -> int:
    """Return the natural logarithm of what a bet multiplies the stake by, Q16.16 (SPEC.md section 11)."""
    factor = base + ((slope * (evidence >> 8)) >> 8)
    scale = max(0, factor.bit_length() - 16)
    log = _log2(factor >> scale) + ONE * scale
    return (((log - 12) >> 4) * 45426) >> 12


def _log2(x: int) -> int:
    """Return log2(x / 65536) in Q16.16 (SPEC.md section 6)."""
    whole = 0
    while x < ONE:
        x, whole = 2 * x, whole + 1
    f = x - ONE
    g = (f * (ONE - f)) >> 16
    h = 28752 - ((f * (15667 - ((5383 * f) >> 16))) >> 16)
    return f + ((g * h) >> 16) - ONE * whole


def _least(holds: Callable[[int], bool]) -> int:
    """Return the least size from 0 on at which a condition holds; it must stay true from there on."""
    high = 1
    while not holds(high):
        high *= 2
    low = 0
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low
