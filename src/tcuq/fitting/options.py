"""What `fit` may be told, checked and grouped by the stage that reads it.

`tcuq.fit` documents each keyword. A new option goes into the group of its stage here, with its check, and
into the signature and docstring of `fit`; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from ..base.checks import integer, number

ALARMS = ("evidence", "risk", "proved")


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """How the logs are read."""

    use_features: bool = True
    feature_scale: float | None = None
    feature_zero_point: int | None = None
    logits: bool = False
    logits_scale: float | None = None


@dataclass(frozen=True, kw_only=True)
class SignalOptions:
    """What the monitor computes; `Params` checks it."""

    profile: str = "standard"
    signals: Sequence[str] | None = None
    lags: Sequence[int] = (1, 2, 4)
    lag_weights: Sequence[float] | None = None
    window: int = 16
    doubt_mix: float = 0.5


@dataclass(frozen=True, kw_only=True)
class HeadOptions:
    """How coefficients are learned, and what risk makes of the uncertainty."""

    about: str | None = None
    class_mix: bool = False
    risk_signals: Sequence[str] | None = None
    nonnegative: bool = False
    calibrate: bool | None = None
    l2: float = 1.0
    blend: float | None = None
    anchor: str | None = None

    def __post_init__(self) -> None:
        number("l2", self.l2, 1e-9, 1e9)
        if self.about not in (None, "answer", "prediction"):
            raise ValueError(f"about is {self.about!r}, expected 'answer' or 'prediction'")


@dataclass(frozen=True, kw_only=True)
class ThresholdOptions:
    """How often to flag and to abstain; `Params` checks it."""

    level: float | Literal["budget"] | None = None
    budget: float = 0.15
    burst: int = 8
    warmup: int | None = None


@dataclass(frozen=True, kw_only=True)
class AlarmOptions:
    """What the alarm sums, and how often it may be wrong."""

    run_length: int = 10_000
    alarm: str = "evidence"
    evidence: bool | Literal["auto"] | None = None
    evidence_clip: float | None = None

    def __post_init__(self) -> None:
        if self.evidence not in (None, True, False, "auto"):
            raise ValueError(f"evidence is {self.evidence!r}, expected True, False or 'auto'")
        if self.alarm not in ALARMS:
            raise ValueError(f"alarm is {self.alarm!r}, expected one of {', '.join(ALARMS)}")
        integer("run_length", self.run_length, 10, 10_000_000)


@dataclass(frozen=True, kw_only=True)
class FindingOptions:
    """What is measured and said at the end."""

    explain: bool = True
    drop_unused: bool = True


@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """All options of a fit.

    Parameters
    ----------
    read, signals, head, threshold, alarm, findings
        One group a stage.
    seed : int
        For the shuffle and the bootstrap.

    Examples
    --------
    >>> options = FitOptions.of(l2=3.0, explain=False)
    >>> options.head.l2, options.findings.explain, options.alarm.run_length
    (3.0, False, 10000)
    """

    read: ReadOptions = field(default_factory=ReadOptions)
    signals: SignalOptions = field(default_factory=SignalOptions)
    head: HeadOptions = field(default_factory=HeadOptions)
    threshold: ThresholdOptions = field(default_factory=ThresholdOptions)
    alarm: AlarmOptions = field(default_factory=AlarmOptions)
    findings: FindingOptions = field(default_factory=FindingOptions)
    seed: int = 0

    def __post_init__(self) -> None:
        integer("seed", self.seed, 0, 2**63 - 1)

    @classmethod
    def of(cls, **given: Any) -> FitOptions:
        """Return the options of some keywords of `fit`; what is not given keeps its default."""
        seed = given.pop("seed", 0)
        groups: dict[str, Any] = {}
        for name, kind in GROUPS.items():
            mine = [each.name for each in fields(kind) if each.name in given]
            groups[name] = kind(**{each: given.pop(each) for each in mine})
        if given:
            raise TypeError(f"fit() got an unexpected keyword argument {next(iter(given))!r}")
        return cls(**groups, seed=seed)


GROUPS: dict[str, Any] = {
    "read": ReadOptions,
    "signals": SignalOptions,
    "head": HeadOptions,
    "threshold": ThresholdOptions,
    "alarm": AlarmOptions,
    "findings": FindingOptions,
}
"""The groups of `FitOptions`. No two of them have an option of the same name."""
