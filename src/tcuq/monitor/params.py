"""`Params`: everything that is decided before deployment, as a person reads it and as the core holds it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any

from .. import _core
from ..base.checks import integer, known_only, number
from ..base.fixed import ONE, ratio, snap, weights_q15
from .alarm import Alarm, alarm_from
from .evidence_head import EvidenceHead, head_from
from .signals import FEATURE_BASED, LAGGED, SIGNALS, mask, ordered, profile_signals

FORMAT = "tcuq-params"
COEF_UNIT = 512
COEF_LIMIT = 64.0
MAX_LAG = 64

STOCK_COEF = {
    "divergence": 1.5,
    "flips": 1.0,
    "doubt": 3.0,
    "surprise_fast": 1.0,
    "surprise_slow": 0.5,
    "spread_fast": 0.5,
    "spread_slow": 0.5,
    "odds": 0.5,
    "disbelief_fast": 2.0,
    "disbelief_slow": 0.5,
    "strain_fast": 0.25,
    "strain_slow": 0.25,
}
"""Coefficients for a user without labels. Feature signals stay out: their sign differs between networks."""

STOCK_BIAS = -2.5

ANCHORS = ("confidence", "belief")
"""What risk leans on beside the uncertainty, by the core's number."""

READABLE = (1, _core.PARAMS_VERSION)
"""Versions of a parameter file; one of layout 1 has no `anchor`, which was the confidence."""


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
    features : int
        Number of features a step, 0 to 256; 0 for posterior-only operation.
    feature_scale, feature_zero_point : float, int
        How float features become int8, as in the runtime that makes them.
    signals : sequence of str, optional
        Signals in use. Default: profile ``"paper"``, without `instability` when there are no features.
    lags : sequence of int
        Steps to look back, each 1 to 64.
    lag_weights : sequence of float, optional
        Weights of the lags in `divergence`; default proportional to 1 / lag.
    window : int
        Longest lag that is allowed, 1 to 64. It sets the default warm-up and cannot change the risk:
        nothing older than the largest lag is ever read.
    warmup : int, optional
        Steps that never abstain; default 4 x window.
    doubt_mix : float
        Share of confidence against margin in `doubt`, in [0, 1].
    blend : float
        Share of `uncertainty` in `risk`, in [0, 1]; the rest is how low the anchor is.
    anchor : {"confidence", "belief"}
        What the rest of `risk` leans on: the confidence of this posterior, or the belief in its label after
        the last few steps, which needs the signal `disbelief_fast`.
    coef : mapping of str to float, optional
        Coefficient of each signal in use, in [-64, 64).
    bias : float
        In [-256, 256].
    clean_means : mapping of str to float, optional
        Mean of each signal on clean data; stands in while there is no past.
    level : float
        Share of steps to flag, 0.001 to 0.999; the nearest fraction with a denominator up to 1000 is used.
    reference : float
        Threshold at zero debt, in [0, 1).
    slope, steep_slope : float
        Threshold per flag of debt near zero and beyond the knee, in risk.
    knee : float
        Debt, in flags, where the steep slope begins.
    budget : float
        Largest share of abstentions, in [0, 1].
    burst : int
        Abstentions that may come at once, 1 to 10000.
    alarm : Alarm
        The frozen side.
    evidence : EvidenceHead, optional
        What the rise side of the alarm sums in place of risk. Its limit and cap then count evidence, `mean`
        and the allowance of that side are not used, and there is no fall side.
    notes : mapping
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
    ValueError: classes is 1; 2 to 1000 is accepted
    """

    classes: int
    features: int = 0
    feature_scale: float = 1.0
    feature_zero_point: int = 0
    signals: tuple[str, ...] = ()
    lags: tuple[int, ...] = (1, 2, 4)
    lag_weights: tuple[float, ...] | None = None
    window: int = 16
    warmup: int | None = None
    doubt_mix: float = 0.5
    blend: float = 0.7
    anchor: str = "confidence"
    coef: Mapping[str, float] | None = None
    bias: float = STOCK_BIAS
    clean_means: Mapping[str, float] | None = None
    level: float = 0.1
    reference: float = 0.5
    slope: float = 0.006
    steep_slope: float = 0.05
    knee: float = 10.0
    budget: float = 0.15
    burst: int = 8
    alarm: Alarm = field(default_factory=Alarm)
    evidence: EvidenceHead | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "classes", integer("classes", self.classes, 2, 1000))
        put(self, "features", integer("features", self.features, 0, 256))
        scale = number("feature_scale", self.feature_scale, 1e-30, 1e30)
        put(self, "feature_scale", scale)
        put(self, "feature_zero_point", integer("feature_zero_point", self.feature_zero_point, -128, 127))
        given = self.signals
        if isinstance(given, str) or not all(isinstance(name, str) for name in given):
            raise ValueError(f"signals is {given!r}; a list of names is needed")
        signals = ordered(given) if given else profile_signals("paper", self.features)
        put(self, "signals", signals)
        needing = [s for s in signals if s in FEATURE_BASED]
        if needing and self.features == 0:
            raise ValueError(f"features is 0; signal {needing[0]!r} needs 1 to 256")
        self._snap_lags()
        put(self, "doubt_mix", snap(number("doubt_mix", self.doubt_mix, 0, 1), ONE))
        put(self, "blend", snap(number("blend", self.blend, 0, 1), ONE))
        self._check_anchor()
        put(self, "coef", self._by_signal("coef", self.coef, STOCK_COEF, -COEF_LIMIT, COEF_LIMIT, COEF_UNIT))
        put(self, "clean_means", self._by_signal("clean_means", self.clean_means, {}, 0, 1, ONE))
        put(self, "bias", snap(number("bias", self.bias, -256, 256), ONE))
        self._snap_decisions()
        if not isinstance(self.alarm, Alarm):
            raise TypeError(f"alarm is {type(self.alarm).__name__}; an Alarm is needed")
        self._check_evidence()
        put(self, "notes", MappingProxyType(_plain(self.notes)))
        self.core()  # the core has the last word

    def _check_anchor(self) -> None:
        if self.anchor not in ANCHORS:
            raise ValueError(f"anchor is {self.anchor!r}; one of {', '.join(ANCHORS)} is accepted")
        if self.anchor == "belief" and "disbelief_fast" not in self.signals:
            raise ValueError("anchor is 'belief'; it needs the signal 'disbelief_fast'")

    def _check_evidence(self) -> None:
        head = self.evidence
        if head is None:
            return
        if not isinstance(head, EvidenceHead):
            raise TypeError(f"evidence is {type(head).__name__}; an EvidenceHead or None is needed")
        if len(head.offsets) != self.classes:
            raise ValueError(
                f"evidence has {len(head.offsets)} offsets; one for each of {self.classes} classes is needed"
            )
        known_only("evidence signal", head.coef, self.signals)
        if self.alarm.fall is not None:
            raise ValueError("alarm fall is on; with evidence the alarm has the rise side only")

    def _snap_lags(self) -> None:
        put = object.__setattr__
        put(self, "window", integer("window", self.window, 1, MAX_LAG))
        lags = tuple(integer("lag", lag, 1, MAX_LAG) for lag in self.lags)
        if len(set(lags)) != len(lags):
            raise ValueError(f"lags {list(lags)} repeat; distinct ones are needed")
        if not lags and any(s in LAGGED for s in self.signals):
            raise ValueError("lags is empty; at least one of 1 to 64 is needed")
        if lags and max(lags) > self.window:
            raise ValueError(f"lag {max(lags)} is longer than the window; 1 to {self.window} is accepted")
        order = sorted(range(len(lags)), key=lambda i: lags[i])
        weights = self.lag_weights
        if weights is not None and len(weights) == len(lags):
            weights = tuple(weights[i] for i in order)
        lags = tuple(sorted(lags))
        put(self, "lags", lags)
        put(self, "lag_weights", tuple(w / 32768 for w in weights_q15(lags, weights)) if lags else ())
        warmup = 4 * self.window if self.warmup is None else self.warmup
        put(self, "warmup", integer("warmup", warmup, 0, 2**32 - 1))

    def _snap_decisions(self) -> None:
        put = object.__setattr__
        level = ratio("level", self.level, Fraction(1, 1000), Fraction(999, 1000))
        put(self, "level", float(level))
        put(self, "budget", float(ratio("budget", self.budget, Fraction(0), Fraction(1))))
        put(self, "burst", integer("burst", self.burst, 1, 10000))
        put(self, "reference", min(1 - 1 / ONE, snap(number("reference", self.reference, 0, 1), ONE)))
        unit = 256 * ONE / level.denominator
        steep = math.floor(number("steep_slope", self.steep_slope, 1e-7, 1) * unit + 0.5)
        steep = min(max(1, steep), 2**24 // level.denominator)
        slope = math.floor(number("slope", self.slope, 0, self.steep_slope) * unit + 0.5)
        slope = min(slope, steep)
        knee = math.floor(number("knee", self.knee, 0, 16000) * level.denominator + 0.5)
        if slope:
            knee = min(knee, 2**24 // slope)
        put(self, "steep_slope", steep / unit)
        put(self, "slope", slope / unit)
        put(self, "knee", knee / level.denominator)

    def _by_signal(
        self,
        name: str,
        given: Mapping[str, float] | None,
        default: Mapping[str, float],
        low: float,
        high: float,
        unit: int,
    ) -> Mapping[str, float]:
        values = default if given is None else given
        unknown = [s for s in values if s not in (SIGNALS if given is None else self.signals)]
        if unknown:
            raise ValueError(f"{name} names {unknown[0]!r}; one of {', '.join(self.signals)} is accepted")
        snapped = {}
        for signal in self.signals:
            value = snap(number(f"{name}[{signal}]", values.get(signal, 0.0), low, high), unit)
            snapped[signal] = min(value, high - 1 / unit)
        return MappingProxyType(snapped)

    @property
    def profile(self) -> str:
        """``"paper"``, ``"extended"``, or ``"custom"`` for another set of signals."""
        for name in ("paper", "extended"):
            if self.signals == profile_signals(name, self.features):
                return name
        return "custom"

    @property
    def depth(self) -> int:
        """Past steps that are kept: the largest lag, or 0 when no signal looks back."""
        return max(self.lags) if any(s in LAGGED for s in self.signals) else 0

    @property
    def ring_bytes(self) -> int:
        """Bytes of ring memory that the core needs."""
        return self.core().sizes()[0]

    @property
    def state_bytes(self) -> int:
        """Bytes of a saved state."""
        return self.core().sizes()[1]

    @property
    def debt_bounds(self) -> tuple[float, float]:
        """Lowest and highest debt, in flags, that any input sequence can reach (SPEC.md section 9)."""
        _, _, low, high = self.core().sizes()
        den = self.integers()["level_den"]
        return low / den, high / den

    def flag_bound(self, steps: int) -> float:
        """Return the largest possible |flag rate - level| after so many steps, for any input.

        Examples
        --------
        >>> round(Params(classes=10).flag_bound(1000), 3)
        0.02
        """
        low, high = self.debt_bounds
        return max(-low, high) / steps

    def integers(self) -> dict[str, Any]:
        """Return the fields of the core's `tcuq_params_t`, as integers.

        Examples
        --------
        >>> Params(classes=10, level=0.1).integers()["level_den"]
        10
        """
        assert self.coef is not None and self.clean_means is not None and self.lag_weights is not None
        level = Fraction(self.level).limit_denominator(1000)
        budget = Fraction(self.budget).limit_denominator(1000)
        unit = 256 * ONE / level.denominator
        return {
            "version": _core.PARAMS_VERSION,
            "signals": mask(self.signals),
            "classes": self.classes,
            "features": self.features,
            "zero_point": self.feature_zero_point,
            "lags": list(self.lags),
            "lag_weights": [round(w * 32768) for w in self.lag_weights],
            "coef": [round(self.coef.get(s, 0.0) * COEF_UNIT) for s in SIGNALS],
            "clean_mean": [round(self.clean_means.get(s, 0.0) * ONE) for s in SIGNALS],
            "bias": round(self.bias * ONE),
            "doubt_mix": round(self.doubt_mix * ONE),
            "blend": round(self.blend * ONE),
            "spread_scale": round(ONE / math.log2(self.classes)),
            "level_num": level.numerator,
            "level_den": level.denominator,
            "reference": round(self.reference * ONE),
            "anchor": ANCHORS.index(self.anchor),
            "slope": round(self.slope * unit),
            "steep_slope": round(self.steep_slope * unit),
            "knee": round(self.knee * level.denominator),
            "budget_num": budget.numerator,
            "budget_den": budget.denominator,
            "burst": self.burst,
            "warmup": self.warmup,
            **self.alarm.integers(),
            "evidence": None if self.evidence is None else self.evidence.integers(),
        }

    def core(self) -> _core.Core:
        """Return a fresh core monitor with these parameters."""
        return _core.Core(self.integers(), self.feature_scale)

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
        content: dict[str, Any] = {"format": FORMAT, "version": _core.PARAMS_VERSION}
        for item in fields(self):
            value = getattr(self, item.name)
            if isinstance(value, Mapping):
                value = dict(value)
            elif isinstance(value, tuple):
                value = list(value)
            elif isinstance(value, (Alarm, EvidenceHead)):
                value = value.to_dict()
            content[item.name] = value
        return content

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Params:
        """Build from the content of a parameter file; unknown fields and versions are refused."""
        if not isinstance(content, Mapping) or content.get("format") != FORMAT:
            raise ValueError(f'not a parameter file: "format" must be "{FORMAT}"')
        version = content.get("version")
        if version not in READABLE or isinstance(version, bool):
            accepted = " or ".join(map(str, READABLE))
            raise ValueError(f"parameters have version {version}; {accepted} is accepted")
        values = {k: v for k, v in content.items() if k not in ("format", "version")}
        if version == 1 and "anchor" in values:
            raise ValueError("parameters of version 1 hold an anchor; it is accepted from version 2 on")
        known = [item.name for item in fields(cls)]
        known_only("field", values, known)
        if "classes" not in values:
            raise ValueError("field 'classes' is missing; 2 to 1000 is accepted")
        for name in ("signals", "lags", "lag_weights"):
            if name in values:
                values[name] = _list(name, values[name])
        if values.get("signals") == ():
            raise ValueError("signals is empty; at least one is needed")
        for name in ("coef", "clean_means", "notes"):
            if name in values and not isinstance(values[name], Mapping):
                raise ValueError(f"{name} is {values[name]!r}; an object is needed")
        if "alarm" in values:
            values["alarm"] = alarm_from(values["alarm"])
        if "evidence" in values:
            values["evidence"] = head_from(values["evidence"])
        return cls(**values)

    @classmethod
    def from_json(cls, text: str) -> Params:
        """Build from the text of a parameter file."""
        try:
            content = json.loads(text.removeprefix("\ufeff"), object_pairs_hook=_once)
        except (json.JSONDecodeError, RecursionError) as error:
            raise ValueError(f"not JSON: {error}") from None
        return cls.from_dict(content)

    def save(self, path: str | Path) -> None:
        """Write the parameter file, whole or not at all."""
        from ..base.whole_files import write_whole

        write_whole(path, self.to_json())

    @classmethod
    def load(cls, path: str | Path) -> Params:
        """Read a parameter file."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise ValueError(f"{path}: not a parameter file (not text)") from None
        try:
            return cls.from_json(text)
        except (ValueError, TypeError) as error:
            raise ValueError(f"{path}: {error}") from None

    def __reduce__(self) -> tuple[Any, ...]:
        return (Params.from_dict, (self.to_dict(),))

    def __hash__(self) -> int:
        return hash(self.to_json())


def _list(name: str, value: Any) -> tuple[Any, ...]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise ValueError(f"{name} is {value!r}; a list is needed")
    return tuple(value)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object; a key that comes twice is a mistake that one of its readers would never see."""
    content = dict(pairs)
    if len(content) < len(pairs):
        twice = next(key for i, (key, _) in enumerate(pairs) if key in dict(pairs[:i]))
        raise ValueError(f"field {twice!r} comes twice")
    return content


def _plain(notes: Any) -> dict[str, Any]:
    """Return notes as a JSON file would give them back, so that a round trip changes nothing."""
    if not isinstance(notes, Mapping):
        raise ValueError(f"notes is {notes!r}; an object is needed")
    try:
        content: dict[str, Any] = json.loads(json.dumps(dict(notes), allow_nan=False))
        json.dumps(content, ensure_ascii=False).encode()
    except (TypeError, ValueError) as error:
        raise ValueError(f"notes cannot be written as JSON: {error}") from None
    return content
