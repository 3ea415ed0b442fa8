"""The numbered signals, the profiles over them, and the stock values of a monitor without labels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from .. import _core
from ..base.errors import InputError, wrong_value

SIGNALS: tuple[str, ...] = _core.SIGNAL_NAMES
"""Names by number; a number is never given to another signal."""

NUMBER = {name: number for number, name in enumerate(SIGNALS)}


def _of(mask: int) -> tuple[str, ...]:
    """Return the names of the signals in a mask."""
    return tuple(name for name, number in NUMBER.items() if mask >> number & 1)


LAGGED = _of(_core.LAGGED_SIGNALS)
"""Signals that read single past steps through the ring."""

FEATURE_BASED = _of(_core.FEATURE_SIGNALS)
"""Signals that read features."""

SLOW = ("severity", "drift")
"""Signals that are slow means of the past, this step included; they need an evidence head."""

BELIEF = ("disbelief",)
"""Signals that read a belief over the classes, which includes the current step."""

PROFILES = {"standard": _of(_core.STANDARD_SIGNALS), "paper": _of(_core.PAPER_SIGNALS)}
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

DESCRIPTION = dict(zip(SIGNALS, _core.SIGNAL_MEANINGS, strict=True))
"""What it means when a signal is high, in words for reports."""


REASONS = {**NUMBER, "error_limit": 254}
"""Why a step was not trusted: a signal, or labels have shown too many errors. 255 is none."""

MEANING = {**DESCRIPTION, "error_limit": "labels have shown too many errors at such a risk"}


def profile_signals(profile: str, features: int, evidence: bool = True) -> tuple[str, ...]:
    """Return the signals of a profile, without those that need features when there are none.

    Without features, only posteriors are read; without `evidence`, no signal of an evidence head is.
    """
    if profile not in PROFILES:
        raise wrong_value("profile", profile, f"one of {', '.join(PROFILES)}")
    left_out = (() if features > 0 else FEATURE_BASED) + (() if evidence else SLOW)
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
