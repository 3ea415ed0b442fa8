"""Signals and features that no weight reads are dropped."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..monitor.cost import cost
from ..monitor.instant_head import InstantHead
from ..monitor.params import Params
from ..monitor.signals import FEATURE_BASED, ordered


def without_unused(params: Params) -> tuple[Params, dict[str, Any] | None]:
    """Drop signals whose coefficient is 0 unless the alarm or the belief reads them, and idle features.

    The monitor decides as before, bit for bit, at less cost. Also say what was dropped and what that saves;
    None for nothing.

    >>> slim, dropped = without_unused(Params(classes=10, features=32))
    >>> slim.features, dropped["signals"], dropped["features"]
    (0, ['instability'], 32)
    """
    assert params.coef is not None and params.clean_means is not None
    read = {name for name, value in params.coef.items() if value != 0}
    if params.instant is not None:
        read |= {name for name, value in params.instant.coef.items() if value != 0} | {"disbelief"}
    if params.evidence is not None:
        # What tells how new a step is stays too.
        read |= {*params.evidence.coef, "distance" if "distance" in params.signals else "odds"}
    if not read:  # a monitor has at least one signal
        read.add("doubt" if "doubt" in params.signals else params.signals[0])
    kept = ordered(read & set(params.signals))
    reads_features = bool(read & set(FEATURE_BASED))
    if kept == params.signals and (reads_features or not params.features):
        return params, None
    slim = params.replace(
        signals=kept,
        centers=params.centers if "distance" in kept else None,
        instant=_kept(params.instant, kept),
        coef={name: params.coef[name] for name in kept},
        clean_means={name: params.clean_means[name] for name in kept},
        **({} if reads_features else {"features": 0, "feature_scale": 1.0, "feature_zero_point": 0}),
    )
    before, after = cost(params), cost(slim)
    return slim, {
        "signals": [name for name in params.signals if name not in kept],
        "features": params.features - slim.features,
        "ram_bytes": before.ram_bytes - after.ram_bytes,
        "instructions": before.instructions - after.instructions,
    }


def _kept(head: InstantHead | None, names: tuple[str, ...]) -> InstantHead | None:
    """Return the same head without signals that are not kept."""
    if head is None:
        return None
    return replace(head, coef={name: value for name, value in head.coef.items() if name in names})
