"""`Params`: everything that is decided before deployment, as a person reads it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

from .. import _core
from ..base.atomic_files import write_whole
from ..base.checks import Filled, integer, known_only, number, put
from ..base.errors import InputError, located, wrong_type, wrong_value
from ..base.fixed import ratio
from ..base.limits import Limits, read_limited
from ..log.class_names import checked_names
from . import codec
from .alarm import Alarm
from .codec import BUDGET_DEN, LEVEL_DEN, MAP_LIMIT
from .feedback import Feedback
from .heads import BLOCKS, EvidenceHead, InstantHead, Sight
from .made import PARAMS_VERSION
from .params_file import OLD, check_whole, content_from, content_of, plain, values_from
from .signals import (
    FEATURE_BASED,
    LAGGED,
    PROFILES,
    SLOW,
    STOCK_BIAS,
    STOCK_COEF,
    ordered,
    profile_signals,
    slow_signals,
)

WARMUP = 64
"""First steps, which do not abstain, unless told otherwise."""


def _whole(value: float) -> int:
    """Return the nearest integer, upwards from a half."""
    return math.floor(value + 0.5)


HORIZONS = (0, *(2**k for k in range(4, 13)))
"""Steps that the expected accuracy may look back; 0 for none."""


@dataclass(frozen=True, kw_only=True)
class Params:
    """Everything that a monitor needs to know, validated and snapped to what the core can hold.

    `tcuq.fit` makes one from a development log; the defaults are a monitor without labels.
    Numbers are snapped to the core's fixed point on construction, so that what is shown is
    what runs, and writing and reading changes nothing.

    Parameters
    ----------
    classes : int
        Number of classes, 2 to 1000.
    features : int, default 0
        Number of features a step, 0 to 256; 0 for posterior-only operation.
    feature_scale : float, default 1.0
        What one unit of int8 features is worth, as in the runtime that makes them.
    feature_zero_point : int, default 0
        The int8 value that stands for 0, as in the runtime that makes the features.
    signals : sequence of str, optional
        Signals in use. Default: profile ``"paper"``, without `instability` when there are no features.
    lags : sequence of int, default (1, 2, 4)
        Steps to look back, each 1 to 64.
    lag_weights : sequence of float, optional
        Weights of the lags in `divergence`; default proportional to 1 / lag.
    warmup : int, default 64
        First steps, which abstain only where `Feedback` withholds them.
    doubt_mix : float, default 0.5
        Share of confidence against margin in `doubt`, in [0, 1].
    blend : float, default 0.7
        Share of `uncertainty` in `risk`, in [0, 1]; the rest is how low the anchor is.
    anchor : {"confidence", "belief"}, default "confidence"
        What the rest of `risk` leans on: the confidence of this posterior, or the belief in its prediction
        after the last few steps, which needs `instant`.
    coef : mapping of str to float, optional
        Coefficient of each signal in use, in [-64, 64).
    bias : float, default -2.5
        In [-256, 256].
    clean_means : mapping of str to float, optional
        Mean of each signal on clean data; stands in while there is no past.
    level : float, default 0.1
        Share of steps to flag, 0.001 to 0.999; the nearest fraction with a denominator up to 1000 is used.
    reference : float, default 0.5
        Threshold at zero debt, in [0, 1).
    slope : float, default 0.006
        Threshold per flag of debt near zero, in risk.
    steep_slope : float, default 0.05
        The same beyond the knee.
    knee : float, default 10.0
        Debt, in flags, where the steep slope begins.
    budget : float, default 0.15
        Largest share of abstentions, in [0, 1].
    burst : int, default 8
        Abstentions that may come at once, 1 to 10000.
    alarm : Alarm, optional
        The frozen side; off by default.
    evidence : EvidenceHead, optional
        What the rise side of the alarm sums in place of risk. Its limit and cap then count evidence, `mean`
        and the allowance of that side are not used, and there is no fall side.
    sight : Sight, optional
        What the rise side of the alarm compares with its limit in place of risk: how far input and outputs
        are from clean data. Without evidence only.
    about : {"prediction", "answer"}, default "prediction"
        What signals, uncertainty and risk speak of: the top class of this posterior, or the class to act on,
        which needs `instant`.
    instant : InstantHead, optional
        Head for steps without a past. With it the monitor learns how long classes stay, goes over to `coef`
        and `bias` as far as they do, and answers with the class that it then believes in.
    centers : sequence of sequences of int, optional
        Mean features of each class on clean data, in int8 units; needed by the signal `distance`.
    horizon : int, default 0
        Steps that the expected accuracy looks back, a power of two from 16 to 4096; 0 for none.
    expected_start : float, default 0.0
        Expected accuracy before the first step.
    accuracy_error : tuple of two floats, optional
        How far the expected accuracy was off on kinds of shift left out of the fit, as a deviation, beyond
        what few new inputs explain: while the alarm is off, and while it is on. No device reads it: see
        `accuracy_band`.
    feedback : Feedback, optional
        What labels that come late change; without it they are refused.
    names : sequence of str, optional
        Names of the classes, shown wherever a class is; up to 64 printable characters each.
    notes : mapping, optional
        Free text and figures about the fit; never read by the monitor.

    Examples
    --------
    >>> params = Params(classes=10)
    >>> params.signals
    ('divergence', 'flips', 'doubt')
    >>> Params.from_json(params.to_json()) == params
    True
    >>> Params(classes=1)
    Traceback (most recent call last):
    ...
    tcuq.InputError: classes is 1, expected 2 to 1000
    """

    classes: int
    features: int = 0
    feature_scale: float = 1.0
    feature_zero_point: int = 0
    signals: tuple[str, ...] = ()
    lags: tuple[int, ...] = (1, 2, 4)
    lag_weights: Filled[tuple[float, ...]] = Filled()
    warmup: int = WARMUP
    doubt_mix: float = 0.5
    blend: float = 0.7
    anchor: str = "confidence"
    coef: Filled[Mapping[str, float]] = Filled()
    bias: float = STOCK_BIAS
    clean_means: Filled[Mapping[str, float]] = Filled()
    level: float = 0.1
    reference: float = 0.5
    slope: float = 0.006
    steep_slope: float = 0.05
    knee: float = 10.0
    budget: float = 0.15
    burst: int = 8
    alarm: Alarm = field(default_factory=Alarm)
    evidence: EvidenceHead | None = None
    sight: Sight | None = None
    about: str = "prediction"
    instant: InstantHead | None = None
    centers: tuple[tuple[int, ...], ...] | None = None
    horizon: int = 0
    expected_start: float = 0.0
    accuracy_error: tuple[float, float] | None = None
    feedback: Feedback | None = None
    names: tuple[str, ...] | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        codec.settle(self, "params", leave=("coef", "clean_means"))
        scale = number("feature_scale", self.feature_scale, 1e-30, 1e30)
        put(self, feature_scale=scale, names=checked_names(self.names, self.classes))
        put(self, notes=MappingProxyType(plain(self.notes)))
        self._check_parts()
        self._check_signals()
        self._check_rates()
        self._check_classes()
        for code, broken, problem in self._rules():
            if broken:
                raise InputError(code, problem)
        _ = self._sizes  # the core has the last word

    # Computed once: nothing that they depend on can change.

    @cached_property
    def _integers(self) -> dict[str, Any]:
        return codec.integers(self, "params") | self.alarm.integers() | {"version": PARAMS_VERSION}

    @cached_property
    def _sizes(self) -> tuple[int, int, int, int]:
        return self.core().sizes()

    def _check_parts(self) -> None:
        parts = {"alarm": Alarm, "evidence": EvidenceHead, "sight": Sight}
        parts |= {"instant": InstantHead, "feedback": Feedback}
        for name, kind in parts.items():
            part, optional = getattr(self, name), "" if name == "alarm" else " or None"
            if not isinstance(part, kind) and (part is not None or name == "alarm"):
                raise wrong_type(
                    name, part, f"{'an' if kind.__name__[0] in 'AEI' else 'a'} {kind.__name__}{optional}"
                )

    def _check_signals(self) -> None:
        names = self.signals
        if isinstance(names, str) or not all(isinstance(name, str) for name in names):
            raise wrong_value("signals", names, "a list of names")
        put(self, signals=ordered(names) if names else profile_signals("paper", self.features))
        lags, weights = codec.snap_lags(self.lags, self.lag_weights)
        put(self, lags=lags, lag_weights=weights)
        stock = {name: value for name, value in STOCK_COEF.items() if name in self.signals}
        for name, row, default in (("coef", "coef", stock), ("clean_means", "clean_mean", {})):
            given: Any = getattr(self, name)
            given = default if given is None else given
            unknown = [signal for signal in given if signal not in self.signals]
            if unknown:
                expected = f"expected one of {', '.join(self.signals)}"
                raise InputError("unknown", f"{name} names {unknown[0]!r}, {expected}")
            whole = {signal: given.get(signal, 0.0) for signal in self.signals}
            put(self, **{name: codec.checked(name, whole, codec.ROWS["params"][row])})
        for head, name in ((self.evidence, "evidence"), (self.instant, "instant")):
            known_only(f"{name} signal", head.coef if head is not None else {}, self.signals)

    def _check_rates(self) -> None:
        level = ratio("level", self.level, Fraction(1, LEVEL_DEN), 1 - Fraction(1, LEVEL_DEN), LEVEL_DEN)
        budget = ratio("budget", self.budget, Fraction(0), Fraction(1), BUDGET_DEN)
        put(self, level=float(level), budget=float(budget))
        unit = codec.slope_unit(level.denominator)
        steep = _whole(number("steep_slope", self.steep_slope, 1e-7, 1) * unit)
        steep = min(max(1, steep), MAP_LIMIT // level.denominator)
        near = min(_whole(number("slope", self.slope, 0, self.steep_slope) * unit), steep)
        bend = _whole(number("knee", self.knee, 0, 16000) * level.denominator)
        bend = min(bend, MAP_LIMIT // near) if near else bend
        put(self, slope=near / unit, steep_slope=steep / unit, knee=bend / level.denominator)

    def _check_classes(self) -> None:
        """Check what is said class by class, and the expected accuracy."""
        if self.centers is not None:
            if len(self.centers) != self.classes or any(len(row) != self.features for row in self.centers):
                raise InputError("value", f"centers have not {self.classes} rows of {self.features} values")
            ends = codec.row_range("centers")
            put(self, centers=tuple(tuple(integer("center", c, *ends) for c in row) for row in self.centers))
        if self.evidence is not None and len(self.evidence.offsets) != self.classes:
            problem = (
                f"evidence has {len(self.evidence.offsets)} offsets, expected {self.classes}, one per class"
            )
            raise InputError("value", problem)
        if self.horizon not in HORIZONS or isinstance(self.horizon, bool):
            raise wrong_value("horizon", self.horizon, f"one of {', '.join(map(str, HORIZONS))}")
        if self.expected_start and not self.horizon:
            raise wrong_value("expected_start", self.expected_start, "0 without a horizon")
        errors: Any = self.accuracy_error
        if errors is not None:
            if not self.horizon or not isinstance(errors, (tuple, list)) or len(errors) != 2:
                raise wrong_value("accuracy_error", errors, "two numbers, or none without a horizon")
            put(self, accuracy_error=tuple(number("accuracy_error", each, 0, 1) for each in errors))

    def _rules(self) -> Iterator[tuple[str, bool, str]]:
        """Yield the code of a rule between parameters, whether it is broken, and what to say then."""
        used, most = set(self.signals), codec.row_range("lags")[1]
        reading, slow = ([s for s in self.signals if s in some] for some in (FEATURE_BASED, SLOW))
        if reading:
            yield "value", not self.features, f"features is 0; signal {reading[0]!r} needs 1 or more"
        if used & set(LAGGED):
            yield "missing", not self.lags, f"lags is empty; at least one of 1 to {most} is needed"
        if self.instant is None:
            yield "conflict", self.anchor == "belief", "anchor is 'belief'; it needs an instant head"
            needing = "signal 'disbelief'" if "disbelief" in used else "about='answer'"
            needs = "disbelief" in used or self.about == "answer"
            yield "missing", needs, f"instant is None; {needing} needs an InstantHead"
        if "drift" in used:
            yield "missing", "distance" not in used, "signal 'drift' needs the signal 'distance'"
        given = "missing" if self.centers is None else "given"
        wrong = (self.centers is None) == ("distance" in used)
        yield "conflict", wrong, f"centers are {given}, expected exactly with the signal 'distance'"
        if self.sight is not None:
            yield (
                "conflict",
                self.evidence is not None,
                "sight and evidence are both given; the alarm has one",
            )
            yield "missing", "odds" not in used, "sight needs the signal odds"
            inputs = len(self.sight.gauges) or BLOCKS * ("distance" in used)
            wanted = inputs + (2 if inputs else 1) + ("distance" in used)
            own, rows = len(self.sight.means), len(self.sight.class_means)
            yield "value", own != wanted, f"sight has {own} means, expected {wanted}, one a number"
            few = f"sight has {rows} class_means, expected {self.classes}, one per class"
            yield "value", rows != self.classes, few
            falls = self.alarm.fall is not None
            yield "conflict", falls, "alarm fall is on; with sight the alarm has the rise side only"
            rise = 0.0 if self.alarm.rise is None else self.alarm.rise.limit
            low = max(0.25, self.sight.changed)
            yield "value", rise < low, f"alarm rise limit is {rise:g}, expected {low:g} or more with sight"
        if self.evidence is not None:
            lacks = not {"odds", "distance"} & used
            yield "missing", lacks, "evidence needs the signal odds or distance: they tell what is new"
            falls = self.alarm.fall is not None
            yield "conflict", falls, "alarm fall is on; with evidence the alarm has the rise side only"
        lacking = [
            name
            for name in slow
            if name not in slow_signals(self.evidence is not None, self.sight is not None)
        ]
        for name in lacking[:1]:
            yield "missing", True, f"evidence is None; signal {name!r} needs an EvidenceHead"

    @property
    def profile(self) -> str:
        """``"standard"``, ``"paper"``, or ``"custom"`` for another set of signals."""
        own = slow_signals(self.evidence is not None, self.sight is not None)
        for name in PROFILES:
            if self.signals == profile_signals(name, self.features, own):
                return name
        return "custom"

    @property
    def depth(self) -> int:
        """Past steps that are kept: the largest lag, or 0 when no signal looks back."""
        return max(self.lags) if any(s in LAGGED for s in self.signals) else 0

    @cached_property
    def fingerprint(self) -> str:
        """Eight hexadecimal digits that name these parameters in saved states and decision logs.

        It is the core's CRC-32 of what it was given (SPEC.md section 12): `notes` and
        `feature_scale`, which the core never sees, have no part in it.

        Examples
        --------
        >>> Params(classes=10).fingerprint == Params(classes=10, notes={"by": "me"}).fingerprint
        True
        """
        return f"{self.core().fingerprint():08x}"

    @cached_property
    def old_fingerprint(self) -> str:
        """The fingerprint of the same parameters in version 0.3: its states and logs have this one."""
        return f"{self.core().fingerprint(OLD):08x}"

    @property
    def ring_bytes(self) -> int:
        """Bytes of ring memory that the core needs."""
        return self._sizes[0]

    @property
    def state_bytes(self) -> int:
        """Bytes of a saved state."""
        return self._sizes[1]

    @property
    def debt_bounds(self) -> tuple[float, float]:
        """Lowest and highest debt, in flags, that any input sequence can reach (SPEC.md section 9)."""
        _, _, low, high = self._sizes
        den = self._integers["level_den"]
        return low / den, high / den

    @property
    def error_constant(self) -> float:
        """Errors beyond `max_error` x labeled accepted steps that no input, label or delay can exceed.

        Twice as many once labels of withheld steps have brought a nearly silent device back.
        ``shut + memory x (1 - max_error)``, less one unit: so many answers may be out when the first label
        comes (SPEC.md section 19). NaN without `max_error`.

        Examples
        --------
        >>> from tcuq import Feedback
        >>> Params(classes=2, feedback=Feedback(memory=16, max_error=0.05, shut=4)).error_constant
        19.15
        """
        if self.feedback is None or self.feedback.max_error is None:
            return math.nan
        return float(self.core().counters()[5] / self._integers["feedback"]["error_den"])

    def flag_bound(self, steps: int) -> float:
        """Return the largest possible ``|flag rate - level|`` after so many steps, for any input.

        Parameters
        ----------
        steps : int
            Number of steps, 1 or more.

        Examples
        --------
        >>> round(Params(classes=10).flag_bound(1000), 3)
        0.02
        >>> Params(classes=10).flag_bound(0)
        Traceback (most recent call last):
        ...
        tcuq.InputError: steps is 0, expected 1 to 9223372036854775807
        """
        low, high = self.debt_bounds
        return max(-low, high) / integer("steps", steps, 1, 2**63 - 1)

    def integers(self) -> dict[str, Any]:
        """Return the fields of the core's `tcuq_params_t`, as integers; a copy that you may change.

        Examples
        --------
        >>> Params(classes=10, level=0.1).integers()["level_den"]
        10
        """
        return deepcopy(self._integers)

    def core(self) -> _core.Core:
        """Return a fresh core monitor with these parameters."""
        return _core.Core(self._integers, self.feature_scale)

    def bank(self) -> _core.Bank:
        """Return an empty bank of core monitors with these parameters."""
        return _core.Bank(self._integers, self.feature_scale)

    def replace(self, **changes: Any) -> Params:
        """Return a copy with some fields changed.

        Examples
        --------
        >>> Params(classes=10).replace(budget=0.05).budget
        0.05
        """
        return replace(self, **changes)

    def to_json(self) -> str:
        """Return the parameter file (SPEC.md section 14)."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """Return the content of the parameter file."""
        return content_of(self)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], sealed: bool = True) -> Params:
        """Build from the content of a parameter file; unknown or missing fields, other versions are refused.

        Parameters
        ----------
        content : mapping
            As `to_dict` gives it.
        sealed : bool, default True
            Whether the checksum must be that of the content; False after an edit of your own.

        Examples
        --------
        >>> content = Params(classes=10).to_dict() | {"budget": 0.05}
        >>> Params.from_dict(content, sealed=False).budget
        0.05
        """
        params = cls(**values_from(content, cls))
        check_whole(content, cls, sealed)
        return params

    @classmethod
    def from_json(cls, text: str, sealed: bool = True) -> Params:
        """Build from the text of a parameter file.

        Parameters
        ----------
        text : str
            As `to_json` gives it.
        sealed : bool, default True
            As for `from_dict`.
        """
        return cls.from_dict(content_from(text), sealed)

    def save(self, path: str | Path) -> None:
        """Write the parameter file, whole or not at all."""
        write_whole(path, self.to_json())

    @classmethod
    def load(cls, path: str | Path, sealed: bool = True, *, limits: Limits | None = None) -> Params:
        """Read a parameter file.

        Parameters
        ----------
        path : path
            As `save` or `tcuq fit` wrote it.
        sealed : bool, default True
            As for `from_dict`.
        limits : Limits, optional
            How many bytes the file may have, and how deep it may be nested; see `tcuq.io.Limits`.
        """
        try:
            text = read_limited(path, limits=limits).decode()
        except UnicodeDecodeError:
            raise InputError("damaged", f"{path}: not a parameter file (not text)") from None
        with located(f"{path}"):
            return cls.from_dict(content_from(text, limits), sealed)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Params.from_dict, (self.to_dict(),))

    def __hash__(self) -> int:
        return hash(self.to_json())

    def __repr__(self) -> str:
        names = ("classes", "features", "profile", "fingerprint")
        return f"Params({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    def __str__(self) -> str:
        from ..fitting.words import in_words  # which knows what a fit writes into the notes

        return in_words(self)
