"""Parameters: their ranges and what follows from them (section 2), the fingerprint (section 12)."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

NAMES = (
    "divergence",
    "instability",
    "flips",
    "doubt",
    "odds",
    "severity",
    "magnitude",
    "distance",
    "disbelief",
    "drift",
)
SIGNAL_COUNT = len(NAMES)
EVIDENCE_NUMBERS = (
    *("clip", "reach", "still", "bias", "allowance"),
    *("own_looks", "own_mean", "own_most", "bet_base", "bet_slope"),
)
"""Of an evidence head, in the order of the fingerprint and of vector files."""


@dataclass(frozen=True)
class Evidence:
    """The head of section 11 that the alarm may sum in place of risk."""

    clip: int
    allowance: int
    coef: tuple[int, ...]
    offset: tuple[int, ...]
    bet_base: int = 0
    bet_slope: int = 0
    reach: int = 2**20
    bias: int = 0
    still: int = 0
    own_looks: int = 0
    own_mean: int = 0
    own_most: int = 0

    def numbers(self) -> list[int]:
        """Return the numbers in the order of a `evidence` line."""
        return [getattr(self, name) for name in EVIDENCE_NUMBERS]

    def broken(self, classes: int) -> list[str]:
        """Return the names of the rules that do not hold."""
        most = self.bet_slope * (self.clip >> 8) >> 8
        on = self.bet_slope > 0
        rules = {
            "evidence clip": 1 <= self.clip <= 2**19,
            "evidence allowance": 0 <= self.allowance <= 2**24,
            "evidence shape": len(self.coef) == SIGNAL_COUNT and len(self.offset) == classes,
            "evidence range": all(-32768 <= v <= 32767 for v in (*self.coef, *self.offset)),
            "bet_slope": 0 <= self.bet_slope <= 32767,
            "bet_base": 0 <= self.bet_base <= 2**20 and (on or self.bet_base == 0),
            "reach": 256 <= self.reach < 2**32,
            "still": 0 <= self.still <= 2**21,
            "evidence bias": abs(self.bias) <= 256 * 65536,
            "own_looks": 0 <= self.own_looks <= (0 if on else 1000),
            "own_mean": abs(self.own_mean) <= (2**19 if self.own_looks else 0),
            "own_most": 0 <= self.own_most <= (2**19 if self.own_looks else 0),
            "bet": not on or (self.bet_base - most - 1 >= 256 and self.bet_base + most < 2**20),
        }
        return [name for name, holds in rules.items() if not holds]


@dataclass(frozen=True)
class Instant:
    """The head for a stream without persistence."""

    bias: int
    coef: tuple[int, ...]

    def broken(self, classes: int) -> list[str]:
        """Return the names of the rules that do not hold."""
        rules = {
            "instant bias": abs(self.bias) <= 256 * 65536,
            "instant coef": len(self.coef) == SIGNAL_COUNT and all(-32768 <= c <= 32767 for c in self.coef),
        }
        return [name for name, holds in rules.items() if not holds]


@dataclass(frozen=True)
class Feedback:
    """What labels change, section 19."""

    memory: int
    error_num: int = 0
    error_den: int = 1
    error_reference: int = 0
    error_shut: int = 0
    error_first: int = 0
    wrong_score: int = 0
    right_score: int = 0

    def broken(self, classes: int) -> list[str]:
        """Return the names of the rules that do not hold."""
        rules = {
            "memory": 1 <= self.memory <= 1024,
            "error": 0 <= self.error_num < self.error_den <= 1000,
            "error_reference": 0 <= self.error_reference <= 65535,
            "error_shut": 0 <= self.error_shut <= 32767,
            "error_first": 0 <= self.error_first <= 65535,
            "scores": 0 <= self.wrong_score <= 65535 and 0 <= self.right_score <= 65535,
        }
        return [name for name, holds in rules.items() if not holds]

    def numbers(self) -> list[int]:
        """Return the fields in the order of section 2."""
        return [getattr(self, field.name) for field in fields(self)]

    def bounds(self) -> tuple[int, int]:
        """Return the least and the greatest error debt that labels can cause."""
        return -self.error_shut, self.error_shut - 1 + self.memory * (self.error_den - self.error_num)


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
    level_num: int
    level_den: int
    reference: int
    anchor: int
    about: int
    horizon: int
    expected_start: int
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
    rise_clear: int
    hold: int
    evidence: Evidence | None = None
    instant: Instant | None = None
    centers: tuple[int, ...] | None = None
    feedback: Feedback | None = None

    def __post_init__(self) -> None:
        """Refuse what section 2 does not allow: a vector with bad parameters would prove nothing."""
        lags, past = self.lags, any(self.uses(n) for n in (0, 1, 2))
        rules = {
            "version": self.version == 5,
            "signals": 1 <= self.signals < 2**SIGNAL_COUNT,
            "classes": 2 <= self.classes <= 1000,
            "features": 0 <= self.features <= 256,
            "features used": self.features > 0 or not any(self.uses(n) for n in (1, 6, 7, 9)),
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
            "level": 1 <= self.level_num < self.level_den <= 1000,
            "reference": 0 <= self.reference <= 65535,
            "anchor": self.anchor == 0 or (self.anchor == 1 and self.instant is not None),
            "about": self.about == 0 or (self.about == 1 and self.instant is not None),
            "horizon": self.horizon == 0 or 4 <= self.horizon <= 12,
            "expected_start": 0 <= self.expected_start <= (65535 if self.horizon else 0),
            "signal 8": not self.uses(8) or self.instant is not None,
            "signal 5": not self.uses(5) or self.evidence is not None,
            "signal 9": not self.uses(9) or (self.evidence is not None and self.uses(7)),
            "centers": (self.centers is not None) == self.uses(7),
            "centers shape": self.centers is None or len(self.centers) == self.classes * self.features,
            "centers range": all(-128 <= value <= 127 for value in self.centers or ()),
            "slope": 0 <= self.slope <= self.steep_slope,
            "steep_slope": 1 <= self.steep_slope <= 2**24 // max(1, self.level_den),
            "knee": 0 <= self.knee <= 2**24 and self.slope * self.knee <= 2**24,
            "budget": 0 <= self.budget_num <= self.budget_den and 1 <= self.budget_den <= 1000,
            "burst": 1 <= self.burst <= 10000,
            "warmup": 0 <= self.warmup < 2**32,
            "alarm references": 0 <= self.rise_reference <= 65535 and 0 <= self.fall_reference <= 65535,
            "rise": 0 < self.rise_limit <= self.rise_cap <= 2**30 or self.rise_limit == self.rise_cap == 0,
            "fall": 0 < self.fall_limit <= self.fall_cap <= 2**30 or self.fall_limit == self.fall_cap == 0,
            "rise_clear": 0 <= self.rise_clear < max(1, self.rise_limit),
            "hold": 0 <= self.hold <= 63,
        }
        rules["evidence alone"] = self.evidence is None or self.fall_limit == 0
        rules["evidence looks"] = self.evidence is None or self.uses(4) or self.uses(7)
        rules["feedback rise_cap"] = self.feedback is None or self.rise_cap <= 2**28
        broken = [name for name, holds in rules.items() if not holds]
        for head in (self.evidence, self.instant, self.feedback):
            broken += [] if head is None else head.broken(self.classes)
        if broken:
            raise ValueError(f"parameters out of range: {', '.join(broken)}")

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Params:
        """Return parameters from integers by name, as `tcuq.Params.integers` gives them."""

        def part(kind: type[Any], values: Mapping[str, Any] | None) -> Any:
            if values is None:
                return None
            names = {field.name for field in fields(kind)}
            listed = {name: value for name, value in values.items() if name in names}
            return kind(**{n: tuple(v) if isinstance(v, list) else v for n, v in listed.items()})

        heads = {"evidence": Evidence, "instant": Instant, "feedback": Feedback}
        made = {name: part(kind, given.get(name)) for name, kind in heads.items()}
        centers = given.get("centers")
        made["centers"] = None if centers is None else tuple(c - 256 * (c > 127) for c in centers)
        whole: Params = part(cls, {**given, **made})
        return whole

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
        """The 32-bit words of what was seen last and of all slow means."""
        return self.look_words + 8 * self.uses(9)

    @property
    def look_words(self) -> int:
        """The words that the next look is compared with."""
        return 0 if self.evidence is None else 8 if self.uses(7) else 1

    @property
    def beliefs(self) -> int:
        """The 16-bit numbers of a saved state: beliefs, class mix, deficits."""
        return 5 * self.classes + 6 if self.instant is not None else 0

    @property
    def remembered(self) -> int:
        """The 16-bit entries of past steps that labels may be for, an even number."""
        return 0 if self.feedback is None else self.feedback.memory + self.feedback.memory % 2

    @property
    def feedback_bytes(self) -> int:
        """The bytes of what labels need, in memory and in a saved state."""
        return 0 if self.feedback is None else 4 + 2 * (4 + self.remembered)

    @property
    def answer_bits(self) -> int:
        """The bits of an answer in such an entry, section 19."""
        return 6 if self.classes <= 64 else 10

    @property
    def ring_size(self) -> int:
        """The bytes of working memory, section 15."""
        payload = 2 * self.beliefs + self.depth * (self.entry - 2)
        words = self.mean_words + 4 * self.depth
        return max(4, 4 * words + self.feedback_bytes + (payload + 3) // 4 * 4)

    @property
    def state_size(self) -> int:
        """The bytes of a saved state, section 12."""
        lists = 4 * self.mean_words + self.feedback_bytes + 2 * self.beliefs
        return 64 + self.depth * self.entry + lists + 4

    def fingerprint(self) -> int:
        """Return the CRC-32 that ties a saved state to these parameters, section 12."""
        words = [self.version, self.signals, self.classes, self.features, self.zero_point & 0xFFFF]
        words += [len(self.lags), self.bias, self.doubt_mix, self.blend]
        words += [self.level_num, self.level_den, self.reference + 65536 * self.anchor]
        words += [self.about + 65536 * self.horizon, self.expected_start]
        words += [self.slope, self.steep_slope, self.knee]
        words += [self.budget_num, self.budget_den, self.burst, self.rise_reference, self.fall_reference]
        words += [self.hold, self.warmup, self.rise_limit, self.rise_cap, self.rise_clear]
        words += [self.fall_limit, self.fall_cap]
        words += [lag + 65536 * weight for lag, weight in zip(self.lags, self.lag_weights, strict=True)]
        words += [(c & 0xFFFF) + 65536 * mean for c, mean in zip(self.coef, self.clean_mean, strict=True)]
        if self.evidence is not None:
            head = self.evidence
            words += [*head.numbers(), *(value & 0xFFFF for value in (*head.coef, *head.offset))]
        if self.instant is not None:
            words += [self.instant.bias, *(value & 0xFFFF for value in self.instant.coef)]
        if self.feedback is not None:
            words += self.feedback.numbers()
        tail = bytes(value & 0xFF for value in self.centers or ())
        return zlib.crc32(b"".join((word & 0xFFFFFFFF).to_bytes(4, "little") for word in words) + tail)
