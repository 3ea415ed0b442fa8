"""What a monitor remembers: start, reset, saved bytes and what a load refuses (section 12)."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import TypeVar

from .decide import Decider, bounds
from .numbers import signed
from .params import Params
from .sight import (
    BACK_WITHIN,
    CALM_MOST,
    LENGTH_MOST,
    LISTS,
    MANY_STAYS,
    MEAN_MOST,
    NAT,
    SINGLE,
    STAY_FADES,
    STAY_MOST,
)
from .signals import SLOW_MAX, STILLNESS_MAX

VERSION = 4
HEADER = 64

# Bits of `filled`: `last` and beliefs hold a value until a reset; class mix and deficits from then on.
SINCE_RESET, SINCE_START = 1, 2
# No bit of `filled`, but a step that was ever taken.
SINCE_STEP = 4

AnyState = TypeVar("AnyState", bound="State")


class State(Decider):
    """The counters of a monitor and what lies in its working memory."""

    def __init__(self, params: Params) -> None:
        super().__init__(params)
        self.started = False
        self.class_mix = [65536 // params.classes] * params.classes
        self.deficits = [0] * 6
        self.slow = [0] * 8

    def reset(self) -> None:
        """Forget past posteriors and features, and how still the input stood; all else stays."""
        super().reset()
        self.ring: list[tuple[int, list[int], list[int]]] = []  # the newest first
        self.experts = [0] * (4 * self.params.classes)

    def lists(self) -> list[tuple[str, int, str, int]]:
        """Return name, length, format and since when it holds of each list of a state, in its order."""
        p = self.params
        learns, labels, sees = p.instant is not None, p.feedback is not None, p.sight is not None
        wanted = [
            ("last", p.novelty_words, "i", SINCE_RESET, p.novelty_words > 0),
            ("slow", 8, "i", SINCE_STEP, p.uses(9)),
            *((name, 1, "i" if n == 0 else "I", SINCE_STEP, sees) for n, name in enumerate(SINGLE)),
            *((name, p.sight_count, "i", SINCE_STEP, sees) for name in LISTS),
            ("error_debt", 1, "i", SINCE_STEP, labels),
            *((name, 1, "h", SINCE_STEP, labels) for name in ("correction", "case")),
            *((name, 1, "H", SINCE_STEP, labels) for name in ("next", "quarters")),
            ("entries", p.remembered, "H", SINCE_STEP, labels),
            ("experts", 4 * p.classes, "H", SINCE_RESET, learns),
            ("class_mix", p.classes, "H", SINCE_START, learns),
            ("deficits", 6, "H", SINCE_START, learns),
        ]
        return [(name, length, form, bit) for name, length, form, bit, used in wanted if used]

    def damage(self, counter: str, value: int) -> None:
        """Set a counter to what a memory error may leave in it; `entry` is the first of the entries."""
        if counter in LISTS:
            getattr(self, counter)[0] = signed(value)
        elif counter in ("debt", "credit", "degradation", "baseline", "error_debt", "slow_odds"):
            setattr(self, counter, signed(value))
        elif counter in ("correction", "case"):
            setattr(self, counter, (value + 2**15) % 2**16 - 2**15)
        elif counter == "entry":
            self.entries[0] = value % 2**16
        else:
            bits = 8 if counter == "alarm" else 16 if counter in ("next", "quarters") else 32
            setattr(self, counter, value % 2**bits)

    def save(self) -> bytes | None:
        """Return the bytes of a state, None where a number is out of its range: memory has failed."""
        p, head = self.params, self.params.evidence
        settles = head if head is not None else p.sight
        filled = SINCE_RESET * self.has_last | SINCE_START * self.started
        since = filled | SINCE_STEP * (self.steps > 0)
        out = b"TCUQ" + struct.pack("<2HI2HI", VERSION, 0, p.signals, p.classes, p.features, p.fingerprint())
        out += struct.pack("<IiiII", self.steps, self.debt, self.credit, self.rise, self.fall)
        # What nobody reads is saved as 0.
        out += struct.pack("<iI", self.degradation if head else 0, self.stillness if settles else 0)
        sets = settles is not None and settles.baseline_inputs > 0
        out += struct.pack("<iI", self.baseline if head and sets else 0, self.baseline_seen if sets else 0)
        out += struct.pack("<I", self.accuracy if p.horizon else 0)
        out += bytes([self.alarm, len(self.ring), filled, p.depth])
        for prediction, probs, features in self.ring:
            out += struct.pack("<H", prediction)
            out += bytes(value & 0xFF for value in probs) if p.uses(0) else b""
            out += bytes(value & 0xFF for value in features) if p.uses(1) else b""
        out += bytes((p.depth - len(self.ring)) * p.entry)
        for name, length, form, bit in self.lists():
            held_now = getattr(self, name)
            values = [held_now] if isinstance(held_now, int) else held_now
            out += struct.pack(f"<{length}{form}", *(values if since & bit else [0] * length))
        out += struct.pack("<I", zlib.crc32(out))
        if len(out) != p.state_size:
            raise AssertionError(f"state of {len(out)} bytes instead of {p.state_size}")
        return None if self.refusal(p, out) else out

    @classmethod
    def load(cls: type[AnyState], params: Params, state: bytes) -> AnyState:
        """Return a monitor read back from a valid state: `refusal` says whether it is."""
        p, new = params, cls(params)
        new.steps, new.debt, new.credit, new.rise, new.fall = struct.unpack_from("<IiIII", state, 20)
        new.degradation, new.stillness, new.baseline = struct.unpack_from("<iIi", state, 40)
        new.baseline_seen, new.accuracy = struct.unpack_from("<2I", state, 52)
        new.alarm, fill, filled, _ = state[60:HEADER]
        cut = 2 + p.classes * p.uses(0)
        for n in range(fill):
            entry = state[HEADER + n * p.entry : HEADER + (n + 1) * p.entry]
            prediction = int.from_bytes(entry[:2], "little")
            new.ring.append((prediction, int8(entry[2:cut]), int8(entry[cut:])))
        since = filled | SINCE_STEP * (new.steps > 0)
        for name, bit, values in new._stored(state):
            if since & bit:
                setattr(new, name, values[0] if isinstance(getattr(new, name), int) else values)
        new.has_last = bool(filled & SINCE_RESET)
        new.started = bool(filled & SINCE_START)
        return new

    def _stored(self, state: bytes) -> Iterator[tuple[str, int, list[int]]]:
        """Yield name, since when it holds and values of each list in the bytes of a state."""
        at = HEADER + self.params.depth * self.params.entry
        for name, length, form, bit in self.lists():
            yield name, bit, list(struct.unpack_from(f"<{length}{form}", state, at))
            at += struct.calcsize(f"<{length}{form}")

    @classmethod
    def refusal(cls, params: Params, state: bytes) -> int:
        """Return what `load` answers to any bytes: 0 accepted, or a code of section 2."""
        p = params
        if len(state) < HEADER:
            return -3
        if state[:4] != b"TCUQ":
            return -4
        if state[4:6] != struct.pack("<H", VERSION):
            return -5
        if struct.pack("<I", zlib.crc32(state[:-4])) != state[-4:]:
            return -4
        if state[8:20] != struct.pack("<I2HI", p.signals, p.classes, p.features, p.fingerprint()):
            return -6
        if len(state) != p.state_size:
            return -3
        return 0 if cls._header_is_valid(p, state) and cls._content_is_valid(p, state) else -4

    @classmethod
    def _header_is_valid(cls, p: Params, state: bytes) -> bool:
        """Return whether the numbers of a header are in range and do not contradict each other."""
        low, high = bounds(p)
        steps, debt, credit, rise, fall = struct.unpack_from("<IiiII", state, 20)
        degradation, stillness, baseline, baseline_seen, accuracy = struct.unpack_from("<iIi2I", state, 40)
        alarm, fill, filled, depth = state[60:HEADER]
        clip = 0 if p.evidence is None else p.evidence.clip
        settles = p.evidence if p.evidence is not None else p.sight
        enough = 0 if settles is None else 256 * settles.baseline_inputs
        most = 0 if p.evidence is None else p.evidence.baseline_most
        learns, labels = p.instant is not None, p.feedback is not None
        more = (p.rise_limit >> 2) * 13 if labels else 0
        above, early = (more, 0) if p.sight is None else (0, 131072 // 4)
        rules = [
            state[6:8] == bytes(2),
            depth == p.depth,
            low <= debt <= high,
            0 <= credit <= p.burst * p.budget_den,
            -clip <= degradation <= clip,
            stillness <= (0 if settles is None else STILLNESS_MAX),
            baseline_seen <= enough,
            0 <= baseline <= most
            if baseline_seen == enough or p.evidence is None
            else abs(baseline) <= 4096 * baseline_seen,
            accuracy < 65536 * 256 if p.horizon else accuracy == 0,
            alarm >> 2 <= (p.least_raised if alarm & 1 else 0),
            rise <= p.rise_cap + above,
            fall <= p.fall_cap,
            p.rise_limit > 0 or not alarm & 1,
            rise > p.rise_clear or p.least_raised > 0 or labels or p.sight is not None
            if alarm & 1
            else rise < max(1, p.rise_limit + more + early),
            fall > 0 if alarm & 2 else fall < max(1, p.fall_limit),
            fill <= min(depth, steps),
            filled <= 3,
            filled == 0 or steps > 0,
            learns or not filled & SINCE_START,
            not (learns and filled == SINCE_RESET),
            p.depth == 0 or (fill > 0) == bool(filled & SINCE_RESET),
        ]
        return all(rules)

    @classmethod
    def _content_is_valid(cls, p: Params, state: bytes) -> bool:
        """Return whether entries, means and beliefs are in range; the header is."""
        fill, new = state[61], cls.load(p, state)
        since = state[62] | SINCE_STEP * (new.steps > 0)
        for prediction, probs, _ in new.ring:
            if prediction >= p.classes or (p.uses(0) and probs.index(max(probs)) != prediction):
                return False
        if any(state[HEADER + fill * p.entry : HEADER + p.depth * p.entry]):
            return False
        return all(
            new._holds(name, values) if since & bit else not any(values)
            for name, bit, values in new._stored(state)
        )

    def _most_of(self, name: str) -> int:
        """Return the largest size of a word of section 21."""
        single = (MEAN_MOST + STAY_MOST, STAY_FADES, self.params.classes - 1, MANY_STAYS)
        most = (*single, BACK_WITHIN, CALM_MOST + 2 * NAT, 2, 65535, 65535)
        lists = (MEAN_MOST + 2 * STAY_MOST, STAY_MOST, 2**30, LENGTH_MOST)
        return dict(zip((*SINGLE, *LISTS), (*most, *lists), strict=True))[name]

    def _holds(self, name: str, values: list[int]) -> bool:
        """Return whether a list that holds a value is in its range."""
        p, head, first = self.params, self.params.feedback, values[0]
        if name == "last":
            low, high = (-32768, 32767) if p.uses(7) else (0, 65535)
            return all(low <= value <= high for value in values)
        if name == "slow":
            return all(-SLOW_MAX <= value <= SLOW_MAX for value in values)
        if name in SINGLE or name in LISTS:
            return all(abs(value) <= self._most_of(name) for value in values)
        if name == "experts":
            return all(sum(values[at : at + p.classes]) <= 65536 for at in range(0, len(values), p.classes))
        if name == "class_mix":
            return sum(values) <= 65536 + 16 * p.classes
        if name == "deficits":
            return 0 in values
        if name == "error_debt" and head is not None:
            return head.bounds()[0] <= first <= head.bounds()[1]
        if name == "next" and head is not None:
            return first < head.memory and (first == self.steps or self.steps >= head.memory)
        if name == "entries" and head is not None:
            filled = min(self.steps, head.memory)
            answers = [value % 2**p.answer_bits for value in values[:filled]]
            return max(answers) < p.classes and not any(values[filled:])
        return True  # any number of 16 bits


def int8(raw: bytes) -> list[int]:
    """Return bytes as signed numbers."""
    return list(struct.unpack(f"<{len(raw)}b", raw))
