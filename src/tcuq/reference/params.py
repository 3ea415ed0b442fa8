"""Parameters: their ranges and what follows from them (section 2), the fingerprint (section 12)."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any, get_type_hints

from .signals import SIGNAL_COUNT

# Numbers of section 2 with their ranges: of 16 bits, of an alarm's sum, Q16.16, a table of coefficients.
Word = Annotated[int, 0, 65535]
Sum = Annotated[int, 0, 2**30]
Bias = Annotated[int, -(2**24), 2**24]
Coef = Annotated[tuple[int, ...], -32768, 32767]


def ranges_of(kind: type[Any]) -> dict[str, tuple[int, int]]:
    """Return the least and the largest value of each number of a part."""
    hints = get_type_hints(kind, include_extras=True)
    return {name: hint.__metadata__ for name, hint in hints.items() if hasattr(hint, "__metadata__")}


class Part:
    """Numbers with the ranges of section 2, and rules between them."""

    def broken(self) -> list[str]:
        """Return the names of the fields out of range and of the rules that do not hold."""
        found = []
        for name, (low, high) in ranges_of(type(self)).items():
            value = getattr(self, name)
            values = (value,) if isinstance(value, int) else value or ()
            found += [] if all(low <= each <= high for each in values) else [name]
        return found + [name for name, holds in self.rules().items() if not holds]

    def rules(self) -> dict[str, bool]:
        """Return whether each rule holds, by name."""
        return {}


@dataclass(frozen=True)
class Evidence(Part):
    """The head of section 11 that the alarm may sum in place of risk."""

    clip: Annotated[int, 1, 2**19]
    allowance: Annotated[int, 0, 2**24]
    coef: Coef
    offset: Coef
    bet_base: Annotated[int, 0, 2**20] = 0
    bet_slope: Annotated[int, 0, 32767] = 0
    reach: Annotated[int, 256, 2**32 - 1] = 2**20
    bias: Bias = 0
    frozen: Annotated[int, 0, 2**21] = 0
    baseline_inputs: Annotated[int, 0, 1000] = 0
    baseline_mean: Annotated[int, -(2**19), 2**19] = 0
    baseline_most: Annotated[int, 0, 2**19] = 0

    def numbers(self) -> list[int]:
        """Return the single numbers, in the order of the fingerprint and of vector files."""
        first = [self.clip, self.reach, self.frozen, self.bias, self.allowance]
        baseline = [self.baseline_inputs, self.baseline_mean, self.baseline_most]
        return [*first, *baseline, self.bet_base, self.bet_slope]

    def rules(self) -> dict[str, bool]:
        """Return whether each rule holds, by name."""
        most, on = self.bet_slope * (self.clip >> 8) >> 8, self.bet_slope > 0
        return {
            "baseline without bet": not (on and self.baseline_inputs),
            "baseline unused": self.baseline_inputs > 0 or self.baseline_mean == self.baseline_most == 0,
            "bet unused": on or self.bet_base == 0,
            "bet": not on or (self.bet_base - most - 1 >= 256 and self.bet_base + most < 2**20),
        }


@dataclass(frozen=True)
class Instant(Part):
    """The head for a stream without persistence."""

    bias: Bias
    coef: Coef


@dataclass(frozen=True)
class Sight(Part):
    """What the alarm of section 21 compares with clean data."""

    mean: Annotated[tuple[int, ...], -(2**20), 2**20]
    scale: Annotated[tuple[int, ...], 1, 1023]
    shift: Annotated[tuple[int, ...], 0, 24]
    class_mean: Annotated[tuple[int, ...], -128, 127]
    matrix: Coef
    gauges: Annotated[int, 0, 16] = 0
    reach: Annotated[int, 256, 2**32 - 1] = 2**20
    frozen: Annotated[int, 0, 2**21] = 0
    baseline_inputs: Annotated[int, 0, 1000] = 0
    odds_weight: Annotated[int, 0, 4096] = 0
    clear_weight: Annotated[int, 16, 4095] = 16
    matrix_shift: Annotated[int, 0, 15] = 0
    changed: Annotated[int, 0, 2**22] = 0
    accuracy_bias: Annotated[int, -(2**20), 2**20] = 0
    accuracy_odds: Annotated[int, -32768, 32767] = 0
    accuracy_far: Annotated[int, -32768, 32767] = 0
    accuracy_both: Annotated[int, -32768, 32767] = 0

    def numbers(self) -> list[int]:
        """Return the single numbers, in the order of the fingerprint and of vector files."""
        first = [self.gauges, self.reach, self.frozen, self.baseline_inputs]
        first += [self.odds_weight, self.clear_weight, self.matrix_shift, self.changed]
        return [*first, *self.accuracy()]

    def accuracy(self) -> list[int]:
        """Return the coefficients of the log-odds that a step is right."""
        return [self.accuracy_bias, self.accuracy_odds, self.accuracy_far, self.accuracy_both]

    def fingerprint(self) -> bytes:
        """Return the bytes of the fingerprint that are its own."""
        single, signed = self.numbers(), self.accuracy()[1:]
        words = [value & 0xFFFFFFFF for value in single[: -len(signed)]]
        words += [value & 0xFFFF for value in signed]
        for mean, scale, shift in zip(self.mean, self.scale, self.shift, strict=True):
            words += [mean & 0xFFFFFFFF, scale + 65536 * shift]
        tables = bytes(value & 0xFF for value in self.class_mean)
        tables += b"".join((value & 0xFFFF).to_bytes(2, "little") for value in self.matrix)
        return b"".join(word.to_bytes(4, "little") for word in words) + tables


@dataclass(frozen=True)
class Feedback(Part):
    """What labels change, section 19."""

    memory: Annotated[int, 1, 1024]
    error_num: Annotated[int, 0, 999] = 0
    error_den: Annotated[int, 1, 1000] = 1
    error_reference: Word = 0
    error_shut: Annotated[int, 0, 32767] = 0
    error_first: Word = 0
    wrong_score: Word = 0
    right_score: Word = 0

    def rules(self) -> dict[str, bool]:
        """Return whether each rule holds, by name."""
        return {"error": self.error_num < self.error_den}

    def numbers(self) -> list[int]:
        """Return the fields in the order of section 2."""
        return [getattr(self, field.name) for field in fields(self)]

    def bounds(self) -> tuple[int, int]:
        """Return the least and the greatest error debt that labels can cause."""
        return -self.error_shut, self.error_shut - 1 + self.memory * (self.error_den - self.error_num)


@dataclass(frozen=True)
class Params(Part):
    """The fields of section 2, under the same names and in the same order."""

    version: Annotated[int, 5, 5]
    signals: Annotated[int, 1, 2**SIGNAL_COUNT - 1]
    classes: Annotated[int, 2, 1000]
    features: Annotated[int, 0, 256]
    zero_point: Annotated[int, -128, 127]
    lags: Annotated[tuple[int, ...], 1, 64]
    lag_weights: Annotated[tuple[int, ...], 0, 32768]
    coef: Coef
    clean_mean: Annotated[tuple[int, ...], 0, 65535]
    bias: Bias
    doubt_mix: Annotated[int, 0, 65536]
    blend: Annotated[int, 0, 65536]
    level_num: Annotated[int, 1, 999]
    level_den: Annotated[int, 2, 1000]
    reference: Word
    anchor: Annotated[int, 0, 1]
    about: Annotated[int, 0, 1]
    horizon: Annotated[int, 0, 12]
    expected_start: Word
    slope: Annotated[int, 0, 2**24]
    steep_slope: Annotated[int, 1, 2**24]
    knee: Annotated[int, 0, 2**24]
    budget_num: Annotated[int, 0, 1000]
    budget_den: Annotated[int, 1, 1000]
    burst: Annotated[int, 1, 10000]
    warmup: Annotated[int, 0, 2**32 - 1]
    rise_reference: Word
    fall_reference: Word
    rise_limit: Sum
    rise_cap: Sum
    fall_limit: Sum
    fall_cap: Sum
    rise_clear: Sum
    least_raised: Annotated[int, 0, 63]
    evidence: Evidence | None = None
    instant: Instant | None = None
    centers: Annotated[tuple[int, ...] | None, -128, 127] = None
    sight: Sight | None = None
    feedback: Feedback | None = None

    def __post_init__(self) -> None:
        """Refuse what section 2 does not allow: a vector with bad parameters would prove nothing."""
        broken = self.broken()
        for head in (self.evidence, self.instant, self.sight, self.feedback):
            broken += [] if head is None else head.broken()
        if broken:
            raise ValueError(f"parameters out of range: {', '.join(broken)}")

    def rules(self) -> dict[str, bool]:
        """Return whether each rule holds, by name."""
        lags, past = self.lags, any(self.uses(n) for n in (0, 1, 2))
        learns, sums, sees = self.instant is not None, self.evidence is not None, self.sight is not None
        needs_alarm = 0 if self.sight is None else max(16384, self.sight.changed)
        tables = [each.coef for each in (self, self.evidence, self.instant) if each is not None]
        return {
            "features used": self.features > 0 or not any(self.uses(n) for n in (1, 6, 7, 9)),
            "lags": list(lags) == sorted(set(lags)),
            "lags empty": bool(lags) or not past,
            "lag_weights": len(self.lag_weights) == len(lags),
            "lag_weights sum": not lags or (sum(self.lag_weights) == 32768 and self.lag_weights[0] > 0),
            "coef shape": all(len(each) == SIGNAL_COUNT for each in (self.clean_mean, *tables)),
            "level": self.level_num < self.level_den,
            "anchor and about": learns or self.anchor == self.about == 0,
            "horizon": self.horizon == 0 or self.horizon >= 4,
            "expected_start": self.horizon > 0 or self.expected_start == 0,
            "signal 8": learns or not self.uses(8),
            "signal 5": sums or sees or not self.uses(5),
            "signal 9": (sums and self.uses(7)) or not self.uses(9),
            "centers": (self.centers is not None) == self.uses(7),
            "centers shape": self.centers is None or len(self.centers) == self.classes * self.features,
            "slope": self.slope <= self.steep_slope <= 2**24 // max(1, self.level_den),
            "knee": self.slope * self.knee <= 2**24,
            "budget": self.budget_num <= self.budget_den,
            "rise": 0 < self.rise_limit <= self.rise_cap or self.rise_limit == self.rise_cap == 0,
            "fall": 0 < self.fall_limit <= self.fall_cap or self.fall_limit == self.fall_cap == 0,
            "rise_clear": self.rise_clear < max(1, self.rise_limit),
            "evidence shape": self.evidence is None or len(self.evidence.offset) == self.classes,
            "evidence alone": not (sums or sees) or self.fall_limit == 0,
            "evidence novelty": not sums or self.uses(4) or self.uses(7),
            "sight alone": not sees or (not sums and self.uses(4)),
            "sight limit": not sees or (self.rise_limit >= needs_alarm and self.rise_cap <= 2**22),
            "sight shape": self._sight_has_its_shape(),
            "feedback rise_cap": self.feedback is None or self.rise_cap <= 2**28,
        }

    def _sight_has_its_shape(self) -> bool:
        """Return whether the lists of `sight` are as long as section 21 says."""
        head, count = self.sight, self.sight_count
        if head is None:
            return True
        lists = len(head.mean) == len(head.scale) == len(head.shift) == count
        tables = (len(head.class_mean), len(head.matrix)) == (self.classes * count, count * (count + 1) // 2)
        return lists and tables

    @property
    def sight_count(self) -> int:
        """K of section 21, 0 without `sight`."""
        inputs = self.sight_inputs
        return 0 if self.sight is None else inputs + 1 + (inputs > 0) + self.uses(7)

    @property
    def sight_inputs(self) -> int:
        """G of section 21: gauges, or the sums of the features in their place."""
        return 0 if self.sight is None else self.sight.gauges or 8 * self.uses(7)

    @property
    def sight_words(self) -> int:
        """The words of what that alarm remembers."""
        return 0 if self.sight is None else 9 + 4 * self.sight_count

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Params:
        """Return parameters from integers by name, as `tcuq.Params.integers` gives them."""

        def table(value: Any) -> Any:
            return tuple(c - 256 * (c > 127) for c in value) if isinstance(value, bytes) else value

        def part(kind: type[Any], values: Mapping[str, Any] | None) -> Any:
            if values is None:
                return None
            names = {field.name for field in fields(kind)}
            listed = {name: value for name, value in values.items() if name in names}
            return kind(**{n: tuple(v) if isinstance(v, list) else table(v) for n, v in listed.items()})

        heads = {"evidence": Evidence, "instant": Instant, "sight": Sight, "feedback": Feedback}
        made = {name: part(kind, given.get(name)) for name, kind in heads.items()}
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
        return self.novelty_words + 8 * self.uses(9) + self.sight_words

    @property
    def novelty_words(self) -> int:
        """The words that the next novelty is compared with."""
        return 0 if self.evidence is None and self.sight is None else 8 if self.uses(7) else 1

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
        words += [self.least_raised, self.warmup, self.rise_limit, self.rise_cap, self.rise_clear]
        words += [self.fall_limit, self.fall_cap]
        words += [lag + 65536 * weight for lag, weight in zip(self.lags, self.lag_weights, strict=True)]
        words += [(c & 0xFFFF) + 65536 * mean for c, mean in zip(self.coef, self.clean_mean, strict=True)]
        if self.evidence is not None:
            head = self.evidence
            words += [*head.numbers(), *(value & 0xFFFF for value in (*head.coef, *head.offset))]
        if self.instant is not None:
            words += [self.instant.bias, *(value & 0xFFFF for value in self.instant.coef)]
        labels = [] if self.feedback is None else self.feedback.numbers()
        own = b"" if self.sight is None else self.sight.fingerprint()
        tail = bytes(value & 0xFF for value in self.centers or ())
        first, last = (
            b"".join((word & 0xFFFFFFFF).to_bytes(4, "little") for word in some) for some in (words, labels)
        )
        return zlib.crc32(first + own + last + tail)
