"""What a monitor costs before it is deployed: bytes exactly, operations by formula."""

from __future__ import annotations

from dataclasses import dataclass

from .params import Params
from .signals import FEATURE_BASED, LAGGED

CONTEXT_BYTES = 52
"""`sizeof(tcuq_t)` with 32-bit pointers."""


@dataclass(frozen=True)
class Cost:
    """Cost of one monitor.

    RAM is context and ring, with 32-bit pointers; operations are of one step with all lags filled and, with
    `sight`, without an alarm, which takes about half as much of it again. Gauges are given: what computes
    them from an input comes on top, 25 to 40 instructions a value.
    Instructions are a linear model fitted to counts of the core compiled by gcc -O2 for x86-64, within 10 %
    of the count on the configurations that the tests measure.
    """

    ram_bytes: int
    state_bytes: int
    table_lookups: int
    multiplies: int
    divisions: int
    instructions: int


def cost(params: Params) -> Cost:
    """Return what these parameters cost."""
    used = set(params.signals)
    lags = len(params.lags) if used & set(LAGGED) else 0
    classes, width = params.classes, params.features if used & set(FEATURE_BASED) else 0
    divergence = lags if "divergence" in used else 0
    instability = lags if "instability" in used else 0
    odds, drift = "odds" in used, "drift" in used
    distance = "distance" in used
    blocks = distance or "magnitude" in used
    head = params.evidence is not None
    bet = head and params.evidence is not None and params.evidence.bet is not None
    learned = params.instant is not None
    gauges, numbers = (0, 0) if params.sight is None else (len(params.sight.gauges), len(params.sight.means))
    sees = params.sight is not None
    return Cost(
        ram_bytes=CONTEXT_BYTES + params.ring_bytes,
        state_bytes=params.state_bytes,
        table_lookups=classes + 1 + divergence * (classes + 1) + 2,
        multiplies=width * (bool(instability) + instability + 2 * blocks)
        + instability
        + divergence
        + 6 * (odds + 4 * learned + blocks + distance + drift + bet)
        + learned * (21 * classes + 54)
        + (2 + head + learned) * len(used)
        + sees * 14
        + gauges
        + numbers * (numbers + 1) // 2
        + 4 * numbers
        + 7,
        divisions=2 * divergence + instability + 11 * learned + head + 2 * sees + 2 * bool(lags),
        instructions=round(
            461
            + 12 * classes
            + 139 * bool(lags)
            + 44 * lags
            + divergence * (46 + 9.2 * classes)
            + instability * (76 + 4.9 * width)
            + bool(instability) * (254 + 7.4 * width)
            + blocks * (440 + 15.2 * width)
            + 110 * (odds + ("disbelief" in used))
            + learned * (997 + 160 * classes)
            + 50 * distance
            + head * (133 + 22 * len(used))
            + 300 * drift
            + 40 * bet
            + sees * 700
            + 71 * bool(gauges)
            + 129 * numbers
            + 3.8 * numbers**2
        ),
    )
