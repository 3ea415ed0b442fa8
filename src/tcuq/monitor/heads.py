"""Heads beside that of the past: evidence, which the alarm may sum in place of risk; and a step alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.checks import integer, number
from ..base.errors import InputError, wrong_value
from ..base.fixed import ONE, snap
from . import fixed_point as fixed
from .fixed_point import (
    COEF_UNIT,
    OFFSET_LIMIT,
    OFFSET_UNIT,
    RANGE,
    as_json,
    coefficients,
    part_from,
    put,
    real_range,
)
from .signals import NUMBER, SIGNALS, SLOW

FIELDS = ("coef", "offsets", "clip", "reach", "still", "bias", "allowance", "own", "bet")
"""Of a parameter file, in its order."""

Floats = npt.NDArray[np.float64]

BET_LEAST, BET_MOST = 258 / ONE, 16.0
"""Factors of a bet, between which the core has their logarithm."""


@dataclass(frozen=True)
class EvidenceHead:
    """How much more likely a step is on degraded input than on clean, as a natural logarithm.

    The evidence of a step is the sum of coefficient x signal, over signals of this step, plus the offset of
    the class that was answered, clipped. The offsets keep a hard class that stays for a while from looking
    like a degradation. `severity` is its slow mean. What the alarm sums is the bias plus the coefficients of
    `severity` and `drift` times these, clipped, as far as the step is new. Numbers are snapped to what the
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
    still : float, default 0.0
        Mean number of doublings that the movement of the input is short of `reach`, above which the input
        stands still: each step then speaks for degraded input as much as one can, up to 32; 0 for never.
    own : tuple of int, float and float, optional
        A device's own reference: looks, mean and most. What is summed during the first so many looks (up to
        1,000) of a device, beyond its clean mean, is taken off from then on; at most `most`, up to 8.

    Examples
    --------
    >>> head = EvidenceHead({"doubt": 8.0}, [-1.0, -3.0])
    >>> signals = np.zeros((2, len(SIGNALS)))
    >>> signals[:, SIGNALS.index("doubt")] = 0.25
    >>> head.values(signals, np.array([0, 1])).tolist()
    [1.0, -1.0]
    """

    coef: Mapping[str, float]
    offsets: Sequence[float]
    clip: float = 4.0
    reach: int = 256
    bias: float = 0.0
    allowance: float = 0.0
    bet: tuple[float, float] | None = None
    still: float = 0.0
    own: tuple[int, float, float] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.offsets, str) or not isinstance(self.offsets, Sequence):
            raise wrong_value("evidence offsets", self.offsets, "a list")
        offsets = tuple(
            fixed.snap_below(f"evidence offsets[{place}]", value, OFFSET_LIMIT, OFFSET_UNIT)
            for place, value in enumerate(self.offsets)
        )
        fixed.put(self, coef=fixed.coefficients("evidence", self.coef), offsets=offsets)
        for name in ("clip", "still", "bias", "allowance"):
            least, most = real_range(f"evidence {name}", ONE)
            value = snap(number(f"evidence {name}", getattr(self, name), least, most), ONE)
            fixed.put(self, **{name: max(least, value)})
        fixed.put(self, reach=integer("evidence reach", self.reach, *RANGE["evidence reach"]))
        fixed.put(self, own=None if self.own is None else self._checked_own(self.own))
        fixed.put(self, bet=None if self.bet is None else self._checked_bet(self.bet))

    def _checked_own(self, own: Any) -> tuple[int, float, float]:
        if isinstance(own, str) or not isinstance(own, Sequence) or len(own) != 3:
            raise wrong_value("evidence own", own, "looks, mean and most")
        if self.bet is not None:
            raise InputError("conflict", "evidence has both own and bet; a bet is fair only without own")
        looks = integer("looks of an own reference", own[0], 1, RANGE["evidence own_looks"][1])
        mean = number("mean of an own reference", own[1], *real_range("evidence own_mean", ONE))
        most = number("most of an own reference", own[2], 0, real_range("evidence own_most", ONE)[1])
        return looks, snap(mean, ONE), snap(most, ONE)

    def _checked_bet(self, bet: Any) -> tuple[float, float]:
        if isinstance(bet, str) or not isinstance(bet, Sequence) or len(bet) != 2:
            raise wrong_value("evidence bet", bet, "base and slope")
        base = snap(number("base of the bet", bet[0], 0, RANGE["evidence bet_base"][1] / ONE), ONE)
        least, most = 1 / ONE, RANGE["evidence bet_slope"][1] / ONE
        slope = max(least, snap(number("slope of the bet", bet[1], least, most), ONE))
        if not (base - slope * self.clip >= BET_LEAST and base + slope * self.clip < BET_MOST):
            expected = f"expected factors from {BET_LEAST:g} to {BET_MOST:g} at both clips"
            raise InputError("value", f"base and slope of the bet are {base:g} and {slope:g}, {expected}")
        return base, slope

    def __hash__(self) -> int:
        return hash(repr(self.to_dict()))

    def __reduce__(self) -> tuple[Any, ...]:
        return fixed.part_from, (EvidenceHead, "evidence", self.to_dict())

    def integers(self) -> dict[str, Any]:
        """Return the fields of the core's `tcuq_evidence_t`, in its order: exported C relies on it."""
        looks, mean, most = self.own or (0, 0.0, 0.0)
        base, slope = self.bet or (0.0, 0.0)
        return {
            "clip": round(self.clip * ONE),
            "reach": self.reach,
            **{name: round(getattr(self, name) * ONE) for name in ("still", "bias", "allowance")},
            "own_looks": looks,
            "own_mean": round(mean * ONE),
            "own_most": round(most * ONE),
            "bet_base": round(base * ONE),
            "bet_slope": round(slope * ONE),
            "coef": [round(self.coef.get(name, 0.0) * COEF_UNIT) for name in SIGNALS],
            "offset": [round(value * OFFSET_UNIT) for value in self.offsets],
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the `evidence` object of a parameter file."""
        return {name: fixed.as_json(getattr(self, name)) for name in FIELDS}

    def values(self, signals: Floats, subjects: npt.NDArray[Any]) -> Floats:
        """Return the evidence of each step in nats, as in the core where the input does not stand still.

        Parameters
        ----------
        signals : array of shape (T, number of signals)
            As `Monitor.run` gives them.
        subjects : array of T integers
            Classes that the parameters speak about: answers, or predictions.
        """
        offsets = np.array(self.integers()["offset"], dtype=np.int64)
        return self._clipped(signals, 256 * offsets[subjects], slow=False)

    def added(self, signals: Floats, subjects: npt.NDArray[Any], looks: Floats) -> Floats:
        """Return what the alarm adds to its sum at each step, as in the core; with a bet, within 0.001.

        An own reference is not taken off: it depends on what the device has seen before.

        Parameters
        ----------
        signals, subjects : arrays
            As of `values`.
        looks : array of T numbers
            How new each step is, as `Monitor.run` gives it.
        """
        weight = np.round(np.asarray(looks) * 256).astype(np.int64)
        if self.bet is not None:
            value = np.log(self.bet[0] + self.bet[1] * self.values(signals, subjects))
            return np.where(value > 0, value * weight / 256, value) - self.allowance
        value = self._clipped(signals, np.full(len(weight), round(self.bias * ONE)), slow=True)
        return (np.round(value * ONE).astype(np.int64) * weight >> 8) / ONE - self.allowance

    def _clipped(self, signals: Floats, start: npt.NDArray[np.int64], slow: bool) -> Floats:
        p = self.integers()
        read = [NUMBER[name] for name in SIGNALS if (name in SLOW) == slow]
        units = np.round(np.asarray(signals)[:, read] * ONE).astype(np.int64)
        terms = (units * np.array(p["coef"], dtype=np.int64)[read]) >> 9
        return np.asarray(np.clip(start + terms.sum(1), -p["clip"], p["clip"]) / ONE)


@dataclass(frozen=True)
class InstantHead:
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

    coef: Mapping[str, float]
    bias: float = 0.0

    def __post_init__(self) -> None:
        put(self, coef=coefficients("instant", self.coef))
        put(self, bias=snap(number("instant bias", self.bias, *real_range("instant bias", ONE)), ONE))

    def __hash__(self) -> int:
        return hash((tuple(self.coef.items()), self.bias))

    def __reduce__(self) -> tuple[Any, ...]:
        return part_from, (InstantHead, "instant", self.to_dict())

    def integers(self) -> dict[str, Any]:
        """Return the fields of the core's `tcuq_instant_t`."""
        return {
            "bias": round(self.bias * ONE),
            "coef": [round(self.coef.get(name, 0.0) * COEF_UNIT) for name in SIGNALS],
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the `instant` object of a parameter file."""
        return {name: as_json(getattr(self, name)) for name in ("coef", "bias")}
