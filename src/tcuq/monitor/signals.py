"""The numbered signals, the profiles over them, and the stock values of a monitor without labels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from ..base.errors import InputError, wrong_value
from . import made

SIGNALS: tuple[str, ...] = tuple(made.SIGNALS)
"""Names by number; a number is never given to another signal."""

NUMBER = {name: number for number, name in enumerate(SIGNALS)}

LAGGED = made.LAGGED
"""Signals that read single past steps through the ring."""

FEATURE_BASED = made.FEATURE
"""Signals that read features."""

SLOW = made.SLOW
"""Signals that are slow means of the past, this step included: with evidence, one of them with sight."""

PROFILES = {"standard": made.PROFILE_STANDARD, "paper": made.PROFILE_PAPER}
"""Sets of signals by the name that `fit` takes; without features, those that read features are left out."""

STOCK_COEF = {"divergence": 1.5, "flips": 1.0, "doubt": 3.0, "odds": 0.5}
"""Coefficients for a user without labels. Feature signals stay out: their sign differs between networks."""

STOCK_BIAS = -2.5

EVEN_ODDS = 16 * math.log(2)
"""Coefficient of a log-odds signal, and minus twice the bias, that give back the probability behind it."""

STOCK_INSTANT = ({"odds": EVEN_ODDS}, -EVEN_ODDS / 2)
"""Instant head without labels: uncertainty is one minus the posterior."""

STOCK_STEADY = ({"disbelief": EVEN_ODDS}, -EVEN_ODDS / 2)
"""Head for full persistence without labels: uncertainty is one minus the belief."""

DESCRIPTION = made.SIGNALS
"""What it means when a signal is high, in words for reports."""

REASONS = {**NUMBER, **{name: number for name, (number, _) in made.REASONS.items()}}
"""Why a step was not trusted: a signal, or labels have shown too many errors. 255 is none."""

MEANING = {**DESCRIPTION, **{name: text for name, (_, text) in made.REASONS.items()}}


def slow_signals(evidence: bool, sight: bool) -> tuple[str, ...]:
    """Return the slow signals that there are with these heads."""
    return SLOW if evidence else ("degradation",) if sight else ()


def profile_signals(profile: str, features: int, slow: Sequence[str] = SLOW) -> tuple[str, ...]:
    """Return the signals of a profile, without those that need features or a head when there are none."""
    if profile not in PROFILES:
        raise wrong_value("profile", profile, f"one of {', '.join(PROFILES)}")
    left_out = (() if features > 0 else FEATURE_BASED) + tuple(s for s in SLOW if s not in slow)
    return tuple(s for s in PROFILES[profile] if s not in left_out)


def ordered(names: Iterable[str]) -> tuple[str, ...]:
    """Return distinct signal names in registry order; refuse unknown ones."""
    wanted = list(names)
    for name in wanted:
        if name not in NUMBER:
            raise InputError("unknown", f"signal {name!r} is unknown, expected one of {', '.join(SIGNALS)}")
    if not wanted:
        raise InputError("missing", "signals is empty; at least one is needed")
    return tuple(s for s in SIGNALS if s in wanted)


def mask(names: Sequence[str]) -> int:
    """Return the core's bit mask of some signals."""
    return sum(1 << NUMBER[name] for name in names)
