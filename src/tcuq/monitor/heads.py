"""Heads beside that of the past: evidence, which the alarm may sum in place of risk; and a step alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.checks import number, put
from ..base.errors import InputError, wrong_value
from ..base.fixed import ONE
from .codec import ROWS, SCALE, Part, checked, settle, snapped

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


_NATS, _DOUBLINGS = 16 * math.log(2), 8.0
"""What a signal of log-odds, and that of the distance, are worth."""
BLOCKS = 8
BLOCK_NAMES = tuple(f"features_{block}" for block in range(BLOCKS))
"""Sums of neighboring features, which `Sight` looks at where a step has no gauges."""

_ACCURACY = tuple(
    zip(
        (ROWS["sight"][f"accuracy_{name}"] for name in ("bias", "odds", "far", "both")),
        (1.0, _NATS, _DOUBLINGS, _NATS * _DOUBLINGS),
        strict=True,
    )
)
"""Rows of what the expected accuracy is made of, and how much larger their coefficients are in the core."""


def _listed(name: str, given: Any, expected: str, count: int | None = None) -> Sequence[Any]:
    """Return what must be a list, of `count` items if given."""
    if isinstance(given, (str, bytes)) or not isinstance(given, Sequence):
        raise wrong_value(name, given, expected)
    if count is not None and len(given) != count:
        raise wrong_value(name, given, expected)
    return given


@dataclass(frozen=True)
class Sight(Part):
    """How far the input and the outputs are from clean data: what the alarm compares with its limit.

    Every step has numbers: its gauges, or without any the sums of its features in eight blocks where the
    signal distance is used; the log-odds against its class, that distance, and the distance of the first
    ones. Their slow means, less the clean mean of the class
    and what the device's first inputs showed, give one distance with a covariance of them all (SPEC.md
    section 21). Numbers are snapped to what the core can hold.

    Parameters
    ----------
    means, deviations : sequence of float
        Of each number on clean data, in its own unit.
    class_means : sequence of sequences of float
        Of each number, class by class: how many deviations it is above `means`, in [-8, 8).
    matrix : sequence of float
        Rows of an upper triangle, one after the other. A gap to clean data, in deviations, times the matrix
        is a vector whose length is 1 at the end of what clean data shows.
    gauges : sequence of str
        Names of the gauges, at most 16.
    gauge_scales : sequence of float, optional
        What 1.0 of each gauge is in the core, 256 unless given: a gauge must stay below 32767 of these.
    reach : int, default 256
        As of `EvidenceHead`.
    frozen : float, default 0.0
        As of `EvidenceHead`.
    baseline : int, default 0
        First new inputs of a device whose means come off from then on, up to 1000; half a deviation at most.
    odds_weight : float, default 0.0
        Of the slow odds, which speak beside the length; up to 16.
    clear_weight : float, default 20.0
        Nats of a squared length of 1, by which an alarm ends; 1 to 255.
    changed : float, default 1.0
        Distance from which on a step is `changed`, up to the limit of the alarm.
    accuracy : tuple of four floats
        What the expected accuracy is a mean of: the log-odds that a step is right, as a bias, and
        coefficients of its own log-odds (the mean of those of the uncertainty and of what risk leans on),
        of how far clean data are (log2 of 1 + distance / limit), and of their product.

    Examples
    --------
    >>> Sight([0.5], [0.125], [[0.0], [1.0]], [1.0]).units()
    (65536.0,)
    """

    part = "sight"
    __hash__ = Part.__hash__

    means: Sequence[float]
    deviations: Sequence[float]
    class_means: Sequence[Sequence[float]]
    matrix: Sequence[float]
    gauges: Sequence[str] = ()
    gauge_scales: Sequence[float] = ()
    reach: int = 256
    frozen: float = 0.0
    baseline: int = 0
    odds_weight: float = 0.0
    clear_weight: float = 20.0
    changed: float = 1.0
    accuracy: Sequence[float] = (0.0, 1.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        lists = ("means", "deviations", "matrix", "gauge_scales")
        settle(self, self.part, leave=("gauges", "class_means", "accuracy", *lists))
        names = tuple(_listed("sight gauges", self.gauges, "a list of names"))
        if not all(isinstance(name, str) and name for name in names):
            raise wrong_value("sight gauges", self.gauges, "a list of names")
        if len(set(names)) != len(names) or len(names) > ROWS[self.part]["gauges"].high:
            raise wrong_value("sight gauges", names, "at most 16 names, each one different")
        scales = _listed("sight gauge_scales", self.gauge_scales, f"{len(names)} numbers")
        put(self, gauges=names, gauge_scales=tuple(scales) or (256.0,) * len(names))
        count = len(_listed("sight means", self.means, "a list of numbers"))
        lengths = {"means": count, "deviations": count, "gauge_scales": len(names)}
        lengths["matrix"] = count * (count + 1) // 2
        for name in lists:
            given = _listed(f"sight {name}", getattr(self, name), f"{lengths[name]} numbers", lengths[name])
            low = 1e-12 if name in ("deviations", "gauge_scales") else -1e12
            put(self, **{name: tuple(number(f"sight {name}", each, low, 1e12) for each in given)})
        four = _listed("sight accuracy", self.accuracy, "four numbers", len(_ACCURACY))
        accuracy = (
            checked("sight accuracy", number("sight accuracy", value, -1e9, 1e9) * unit, row) / unit
            for value, (row, unit) in zip(four, _ACCURACY, strict=True)
        )
        put(self, accuracy=tuple(accuracy))
        given = _listed("sight class_means", self.class_means, f"rows of {count} numbers")
        rows = tuple(self._row(row) for row in given)
        put(self, class_means=rows)
        units = self.units()
        most = ROWS[self.part]["mean"].high
        means = (
            snapped("sight means", m * u, -most, most, 16) / u for m, u in zip(self.means, units, strict=True)
        )
        shift = self._matrix_shift
        matrix = (round(each * 2**shift) / 2**shift for each in self.matrix)
        put(self, means=tuple(means), matrix=tuple(matrix))

    def _row(self, row: Any) -> tuple[float, ...]:
        count, limits = len(self.means), ROWS[self.part]["class_mean"]
        given = _listed("sight class_means", row, f"rows of {count} numbers", count)
        return tuple(snapped("sight class_means", each, limits.low, limits.high, 16) for each in given)

    @property
    def numbers(self) -> tuple[str, ...]:
        """Names of the numbers of a step: gauges or blocks, odds, distance where it is used, all gauges.

        Examples
        --------
        >>> Sight([0.5], [0.125], [[0.0], [1.0]], [1.0]).numbers
        ('odds',)
        """
        if not self.gauges:
            return ("odds",) if len(self.means) < BLOCKS else (*BLOCK_NAMES, "odds", "distance", "blocks")
        features = ("distance",) * (len(self.means) - len(self.gauges) - 2)
        return (*self.gauges, "odds", *features, "gauges")

    def units(self) -> tuple[float, ...]:
        """Return what 1.0 of each number is in the core: gauges have scales, sums are raw, signals 65536."""
        inputs = self.gauge_scales or (1.0,) * (BLOCKS if len(self.means) > BLOCKS else 0)
        return (*inputs, *(float(ONE) for _ in range(len(self.means) - len(inputs))))

    def own(self, gauges: npt.NDArray[Any], names: Sequence[str] | None) -> npt.NDArray[Any] | None:
        """Return the gauges of the fit among named ones, None where one lacks; unnamed ones as they are."""
        if not self.gauges:
            return None
        if names is not None and gauges.shape[1] != len(names):
            expected = f"expected {len(names)}, one a name"
            raise InputError("value", f"gauges have {gauges.shape[1]} values per step, {expected}")
        if names is not None and not {*self.gauges} <= {*names}:
            return None
        places = [*names].index if names is not None else None
        return gauges if places is None else gauges[:, [places(name) for name in self.gauges]]

    def gauge_rows(self, gauges: npt.NDArray[Any]) -> npt.NDArray[np.int16]:
        """Return rows of gauges as the core takes them."""
        rows = np.asarray(gauges, np.float64)
        if rows.shape[1] != len(self.gauges):
            expected = f"expected {len(self.gauges)} a step: {', '.join(self.gauges)}"
            raise InputError("value", f"gauges have {rows.shape[1]} values per step, {expected}")
        if not np.isfinite(rows).all():
            raise wrong_value("gauges", "not finite", "finite numbers")
        units = np.rint(rows * np.array(self.gauge_scales))
        return np.ascontiguousarray(np.clip(units, -32768, 32767), np.int16)

    @property
    def _matrix_shift(self) -> int:
        """The largest shift with which all of the matrix fits."""
        largest = max((abs(each) for each in self.matrix), default=0.0)
        most = ROWS[self.part]["matrix"].high
        if largest > most:
            raise wrong_value("sight matrix", largest, f"numbers up to {most}")
        return max(shift for shift in range(16) if shift == 0 or largest * 2**shift <= most)

    def integers(self) -> dict[str, Any]:
        """Return the fields of the core's struct."""
        units, rows = self.units(), ROWS[self.part]
        scales, shifts = [], []
        for deviation, unit in zip(self.deviations, units, strict=True):
            factor = 4096 / (16 * unit * deviation)  # of a gap in 1/16
            room = (
                shift for shift in range(rows["shift"].high + 1) if factor * 2**shift <= rows["scale"].high
            )
            shifts.append(max(room, default=0))
            scales.append(min(max(round(factor * 2 ** shifts[-1]), 1), rows["scale"].high))
        return {
            "gauges": len(self.gauges),
            "reach": self.reach,
            "frozen": round(self.frozen * ONE),
            "baseline_inputs": self.baseline,
            "odds_weight": round(self.odds_weight * SCALE["q8"]),
            "clear_weight": round(self.clear_weight * SCALE["q4"]),
            "matrix_shift": self._matrix_shift,
            "changed": round(self.changed * ONE),
            **{
                row.name: round(value * unit * SCALE[row.unit])
                for value, (row, unit) in zip(self.accuracy, _ACCURACY, strict=True)
            },
            "mean": [round(mean * unit * 16) for mean, unit in zip(self.means, units, strict=True)],
            "scale": scales,
            "shift": shifts,
            "class_mean": bytes(round(16 * each) & 255 for row in self.class_means for each in row),
            "matrix": [round(each * 2**self._matrix_shift) for each in self.matrix],
        }
