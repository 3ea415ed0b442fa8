"""`InstantHead`: the head for a stream whose neighboring steps have nothing to do with each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..base.checks import number
from ..base.errors import InputError, wrong_value
from ..base.fixed import ONE, snap
from .fixed_point import COEF_UNIT, RANGE, as_json, coefficients, part_from, put, real_range
from .signals import SIGNALS


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
    class_mix : sequence of float, optional
        Share of each class in development, each above 0: turns the correction by class mix on. What a
        posterior says of a class is then divided by the square root of how much more often than that it has
        been saying so. It assumes that classes come as often in the field as in development; where one is
        truly rare or absent there, it does harm.

    Examples
    --------
    >>> InstantHead({"odds": 11.09}, -5.545).integers()["bias"]
    -363397
    """

    coef: Mapping[str, float]
    bias: float = 0.0
    class_mix: Sequence[float] | None = None

    def __post_init__(self) -> None:
        put(self, coef=coefficients("instant", self.coef))
        put(self, bias=snap(number("instant bias", self.bias, *real_range("instant bias", ONE)), ONE))
        if self.class_mix is not None:
            put(self, class_mix=_shares(self.class_mix))

    def __hash__(self) -> int:
        return hash((tuple(self.coef.items()), self.bias, self.class_mix))

    def __reduce__(self) -> tuple[Any, ...]:
        return part_from, (InstantHead, "instant", self.to_dict())

    def integers(self) -> dict[str, Any]:
        """Return the fields of the core's `tcuq_instant_t`."""
        shares = self.class_mix
        return {
            "bias": round(self.bias * ONE),
            "coef": [round(self.coef.get(name, 0.0) * COEF_UNIT) for name in SIGNALS],
            "class_mix": None if shares is None else [round(share * ONE) for share in shares],
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the `instant` object of a parameter file."""
        return {name: as_json(getattr(self, name)) for name in ("coef", "bias", "class_mix")}


def _shares(given: Any) -> tuple[float, ...]:
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise wrong_value("class_mix", given, "a list")
    low, high = RANGE["instant class_mix"]
    shares = tuple(number(f"class_mix[{place}]", share, 0, 1) for place, share in enumerate(given))
    if not 0.99 < sum(shares) < 1.01:
        raise InputError("value", f"class_mix sums to {sum(shares):.3f}, expected 1")
    return tuple(min(max(low, round(share * ONE)), high) / ONE for share in shares)
