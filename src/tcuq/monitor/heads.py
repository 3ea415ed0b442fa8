"""Heads beside that of the past: evidence, which the alarm may sum in place of risk; and a step alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..base.checks import put
from ..base.errors import InputError, wrong_value
from ..base.fixed import ONE
from .codec import ROWS, Part, checked, settle

BET_LEAST, BET_MOST = 258 / ONE, 16.0
"""Factors of a bet, between which the core has their logarithm."""


@dataclass(frozen=True)
class EvidenceHead(Part):
    """How much more likely a step is on degraded input than on clean, as a natural logarithm.

    The evidence of a step is the sum of coefficient x signal, over signals of this step, plus the offset of
    the class that was answered, clipped. The offsets keep a hard class that stays for a while from looking
    like a shift. `degradation` is its slow mean. What the alarm sums is the bias plus the coefficients of
    `degradation` and `drift` times these, clipped, as far as the step is new. Numbers are snapped to what the
    core can hold.

    Parameters
    ----------
    coef : mapping of str to float
        Coefficients by signal name, in [-64, 64); a signal that is not named gets 0.
    offsets : sequence of float
        One a class, in [-128, 128).
    clip : float, default 4.0
        One step adds at most this much, and takes off at most this much; up to 8.
    reach : int, default 256
        Squared distance to the step before from which on an input is as new as any, 256 to 2^32 - 1
        (SPEC.md section 6). Steps closer than that count less, down to an eighth: an object that stays before
        a camera says the same again and again.
    bias : float, default 0.0
        Of what is summed, in [-256, 256].
    allowance : float, default 0.0
        Taken off at every step, after the clip; 0 to 256.
    bet : tuple of float, optional
        Base and slope: the alarm sums log(base + slope x evidence of the step) instead. Where the
        mean of base + slope x evidence, given the past, is at most 1 on clean data, false alarms come on
        average at most once in exp(limit) steps: proved, without independence.
    frozen : float, default 0.0
        Mean number of doublings that the movement of the input is short of `reach`, above which the input
        stands still: each step then speaks for degraded input as much as one can, up to 32; 0 for never.
    baseline : tuple of int, float and float, optional
        A device's baseline: inputs, mean and most. What is summed during the first so many new inputs (up to
        1,000) of a device, beyond its clean mean, is taken off from then on; at most `most`, up to 8.

    Examples
    --------
    >>> EvidenceHead({"doubt": 8.0}, [-1.0, -3.0]).integers()["offset"]
    [-256, -768]
    """

    part = "evidence"
    __hash__ = Part.__hash__

    coef: Mapping[str, float]
    offsets: Sequence[float]
    clip: float = 4.0
    reach: int = 256
    bias: float = 0.0
    allowance: float = 0.0
    bet: tuple[float, float] | None = None
    frozen: float = 0.0
    baseline: tuple[int, float, float] | None = None

    def __post_init__(self) -> None:
        settle(self, self.part, leave=("baseline", "bet"))
        if self.baseline is not None and self.bet is not None:
            raise InputError(
                "conflict", "evidence has both baseline and bet; a bet is fair only without a baseline"
            )
        for name, words in (("baseline", "inputs, mean and most"), ("bet", "base and slope")):
            if getattr(self, name) is not None:
                put(self, **{name: self._several(name, getattr(self, name), words)})
        if self.baseline is not None and self.baseline[0] == 0:
            raise wrong_value("inputs of a baseline", 0, "1 to 1000")
        if self.bet is not None:
            base, slope = self.bet[0], max(1 / ONE, self.bet[1])
            if not (base - slope * self.clip >= BET_LEAST and base + slope * self.clip < BET_MOST):
                expected = f"expected factors from {BET_LEAST:g} to {BET_MOST:g} at both clips"
                raise InputError("value", f"base and slope of the bet are {base:g} and {slope:g}, {expected}")
            put(self, bet=(base, slope))

    def _several(self, name: str, given: Any, words: str) -> tuple[Any, ...]:
        """Return the numbers of an option that has some, each in the range of its row."""
        rows = [row for row in ROWS[self.part].values() if row.real == name]
        if isinstance(given, str) or not isinstance(given, Sequence) or len(given) != len(rows):
            raise wrong_value(f"evidence {name}", given, words)
        return tuple(
            checked(f"evidence {row.name}", value, row) for row, value in zip(rows, given, strict=True)
        )


@dataclass(frozen=True)
class InstantHead(Part):
    """A second linear head over the signals, for steps without a past.

    With it the monitor learns on line how far classes stay, the persistence s, and weighs the signals by
    (1 - s) x this head + s x the head of `Params.coef` and `Params.bias`. Numbers are snapped to what the
    core can hold.

    Parameters
    ----------
    coef : mapping of str to float
        Coefficients by signal name, in [-64, 64); a signal that is not named gets 0.
    bias : float, default 0.0
        In [-256, 256].

    Examples
    --------
    >>> InstantHead({"odds": 11.09}, -5.545).integers()["bias"]
    -363397
    """

    part = "instant"
    __hash__ = Part.__hash__

    coef: Mapping[str, float]
    bias: float = 0.0

    def __post_init__(self) -> None:
        settle(self, self.part)
