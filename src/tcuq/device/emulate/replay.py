"""Cases for the monitor alone: what `firmware/harness_replay.c` reads and what it should print."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

SCALARS = (
    "version",
    "signals",
    "classes",
    "features",
    "zero_point",
    "bias",
    "doubt_mix",
    "blend",
    "spread_scale",
    "level_num",
    "level_den",
    "reference",
    "anchor",
    "slope",
    "steep_slope",
    "knee",
    "budget_num",
    "budget_den",
    "burst",
    "warmup",
    "rise_reference",
    "fall_reference",
    "rise_limit",
    "rise_cap",
    "fall_limit",
    "fall_cap",
)
"""Fields of the core's parameters, in the order in which the firmware reads them."""


@dataclass
class Case:
    """One monitor and what happens to it.

    Parameters
    ----------
    fields : mapping
        Parameters as integers, as `Params.integers` gives them.
    events : list of (kind, bytes)
        "step" with a posterior and then its features; "reset", "save" and "load" with nothing.
    """

    fields: Mapping[str, Any]
    events: list[tuple[str, bytes]] = field(default_factory=list)


LETTERS = {"step": b"s", "reset": b"r", "save": b"w", "load": b"l"}


def _words(values: Iterable[int]) -> bytes:
    """Return numbers as words of 32 bits; those above 2^31 keep their bits."""
    return b"".join(struct.pack("<I", value & 0xFFFFFFFF) for value in values)


def encode(cases: Sequence[Case]) -> bytes:
    r"""Return the input of the firmware.

    Parameters
    ----------
    cases : sequence of Case

    Examples
    --------
    >>> from tcuq import Params
    >>> case = Case(Params(classes=2).integers(), [("step", bytes([100, 156])), ("reset", b"")])
    >>> encode([case])[:1], encode([case])[-4:]
    (b'c', b'sd\x9cr')
    """
    parts = []
    for case in cases:
        fields, head = case.fields, case.fields.get("evidence")
        lags = list(fields["lags"])
        numbers = [*(int(fields[name]) for name in SCALARS), len(lags), *lags, *fields["lag_weights"]]
        numbers += [*fields["coef"], *fields["clean_mean"], int(head is not None)]
        if head is not None:
            numbers += [head["clip"], head["allowance"], *head["coef"], *head["offset"]]
        parts += [b"c", _words(numbers)]
        for kind, row in case.events:
            parts += [LETTERS[kind], row]
    return b"".join(parts)
