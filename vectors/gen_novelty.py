# SPDX-License-Identifier: MIT
"""Cases of evidence that is weighed by its novelty, and of the numbers that outlive a reset."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gen_base import (
    MIXED,
    STANDARD,
    STANDARD_POSTERIORS,
    Case,
    Dice,
    Marks,
    Row,
    dwell,
    make,
    one_hot,
)
from gen_learned import HEAD, OFF, evidence, learned
from oracle import SIGNAL_COUNT, Evidence

ODDS = 0x10
SILENT = (0,) * SIGNAL_COUNT
FULL = (32767,) * SIGNAL_COUNT
BOTH = ("save", "load")
LARGEST = 2**24


def _case(
    name: str,
    why: str,
    head: Evidence,
    predictions: Iterable[int],
    marks: Marks | None = None,
    **changes: Any,
) -> Case:
    """Return a case whose evidence is `offset` of the prediction, where the head's coefficients are 0."""
    base: dict[str, Any] = {"rise_limit": 4 * 65536, "rise_cap": 9 * 65536, "evidence": head, **OFF}
    classes = len(head.offset)
    params = make(ODDS, classes, 0, (), **(base | changes))
    rows: list[Row] = [
        ([v - 128 for v in one_hot(classes, prediction, 250, 1)], []) for prediction in predictions
    ]
    return Case(name, why, params, rows, marks or {})


def _streams() -> Iterable[Case]:
    """Yield streams that repeat themselves, alternate, saturate, at the ends of the spread."""
    up = (300, -200, 450, 420)
    head = Evidence(4 * 65536, 0, SILENT, up, spread=3000)
    yield _case(
        "novelty_repeats", "an object that stays: down to the least weight", head, [0] * 110 + [1] * 8
    )
    yield _case("novelty_alternates", "each step another evidence: full weight", head, [0, 1] * 20)
    runs = [t // 7 % 4 for t in range(60)]
    yield _case("novelty_runs", "runs, and clearing that is not weighed", head, runs, {30: ("reset",)})
    near = [2 + t % 2 for t in range(60)]
    yield _case("novelty_nearly_repeats", "steps that differ a little", head, near, {20: BOTH})
    wide = Evidence(LARGEST, 0, FULL, (32767, -32768), spread=LARGEST)
    yield _case(
        "novelty_clip", "evidence at either clip: the largest gap", wide, [0, 1, 1, 0] * 8, rise_cap=2**30
    )
    yield _case(
        "novelty_spread_largest", "a spread of 2^24", wide, [0] * 40, rise_limit=2**28, rise_cap=2**30
    )
    for spread in (16, 17, 31, 32):
        # One class at the clip for longest products, the others a few units of 1/256 apart.
        head = Evidence(2**23 - 600, 0, SILENT, (32767, 32764, 32763), spread=spread)
        predictions = [0, 0, 1, 1, 2, 0, 0, 0, 1, 2] * 3
        caps = {"rise_limit": 2**27, "rise_cap": 2**30}
        yield _case(f"novelty_spread_{spread}", "a small spread", head, predictions, {15: BOTH}, **caps)
    head = Evidence(LARGEST, 0, FULL, (32767, 32767), spread=31)
    yield _case("novelty_largest_product", "the largest evidence by the largest weight", head, [0] * 12)
    least = Evidence(1, 0, SILENT, (30, -30), spread=16)
    yield _case(
        "novelty_clip_least", "a clip of one unit", least, [0, 1, 0, 0, 0] * 5, rise_limit=1, rise_cap=2
    )
    taken = Evidence(4 * 65536, 299 * 256, SILENT, up, spread=3000)
    yield _case("novelty_allowance", "what the allowance leaves is weighed", taken, [0, 0, 2, 0, 3] * 7)
    bet = Evidence(2 * 65536, 1000, SILENT, up, 60000, 20000, 900)
    yield _case(
        "novelty_bet", "the logarithm of a bet is weighed", bet, [t // 9 % 4 for t in range(50)], {25: BOTH}
    )
    off = {"rise_limit": 0, "rise_cap": 0}
    yield _case("novelty_side_off", "a spread and no alarm", taken, [0, 0, 1, 2] * 5, {10: BOTH}, **off)


def _profiles() -> Iterable[Case]:
    """Yield profiles with a spread, with and without an `instant` head."""
    base: dict[str, Any] = {"about": 1, "anchor": 1, "horizon": 6, "expected_start": 50000, "warmup": 5}
    for name, mask, features, mix, bet, marks in (
        ("novelty_standard", STANDARD, 4, "none", (0, 0), {20: ("reset",), 30: BOTH}),
        ("novelty_standard_mix", STANDARD, 4, "uneven", (52000, 9000), {12: BOTH, 25: ("reset", *BOTH)}),
        (
            "novelty_posteriors",
            STANDARD_POSTERIORS,
            0,
            "none",
            (60000, 12000),
            dict.fromkeys(range(0, 9), BOTH),
        ),
    ):
        dice = Dice(name)
        plain = evidence(4, dice, *bet)
        head = Evidence(plain.clip, 300, HEAD, plain.offset, *bet, spread=5000)
        changes: dict[str, Any] = {"rise_limit": 2 * 65536, "rise_cap": 5 * 65536, "evidence": head, **OFF}
        params = learned(mask, 4, features, dice, mix, **changes, **base)
        yield Case(name, "standard profile, evidence by its novelty", params, dwell(dice, params, 40), marks)
    name = "novelty_mixed"
    dice = Dice(name)
    head = Evidence(90000, 20, HEAD, tuple(dice.between(-900, 100) for _ in range(5)), spread=700)
    params = make(MIXED, 5, 4, (1, 2, 4), rise_limit=90000, rise_cap=10**6, evidence=head, **OFF)
    yield Case(name, "no instant head", params, dwell(dice, params, 34), {20: ("reset", *BOTH)})


def _states() -> Iterable[Case]:
    """Yield states that are refused and counters after a memory error."""
    head = Evidence(2 * 65536, 0, SILENT, (300, -200, 700), spread=3000)
    mixed = [0, 2, 1, 0, 0, 2, 2, 2, 1, 1] * 4
    clip = 4 * 65536 + 1
    started = [(48, 4, clip), (48, 4, -clip), (48, 4, 1 << 31), (52, 4, 32767**2 + 1), (52, 4, 1 << 31)]
    fresh = [(48, 4, 1), (48, 4, -1), (52, 4, 1), (52, 4, 3000)]

    def refused(changes: list[tuple[int, int, int]]) -> tuple[str, ...]:
        return tuple(" ".join(map(str, ("refuse", *change))) for change in changes)

    marks: Marks = {
        0: refused(fresh + started[2:]),
        1: refused(started[1:]),
        20: (*refused(started), "reset"),
    }
    marks |= {30: ("reset", *refused(started), *BOTH)}
    yield _case("refused_novelty", "last and novelty out of their ranges", head, mixed, marks)
    plain = Evidence(2 * 65536, 0, SILENT, (300, -200, 700))
    yield _case(
        "refused_novelty_off",
        "no spread: both are 0",
        plain,
        mixed[:12],
        {0: refused(fresh), 9: refused(fresh)},
    )

    top, high = 2**32 - 1, 2**31 - 1
    counters: Marks = {
        4: (f"damage novelty {top}", *BOTH),
        8: (f"damage novelty {1 << 31}",),
        10: (f"damage last {high}",),
        12: (f"damage last {-high - 1}", *BOTH),
        16: (f"damage last {-high - 1}",),
        18: (f"damage severity {high}", *BOTH),
        20: (f"damage severity {-high - 1}",),
        22: ("damage severity 131073",),
        24: (f"damage accuracy {top}", *BOTH),
        26: (f"damage accuracy {1 << 24}",),
        28: (f"damage accuracy {(1 << 31) + 70000}", "reset"),
        30: ("damage steps 0", *BOTH),
        33: ("damage steps 0",),
        35: ("damage steps 0", "damage accuracy 5", "damage last 5", "damage novelty 5", *BOTH),
    }
    some = {"horizon": 5, "expected_start": 30000}
    yield _case("damage_novelty", "severity, accuracy, last, novelty", head, mixed, counters, **some)
    unread: Marks = {5: ("damage severity 77", *BOTH), 8: ("damage severity -5", "damage accuracy 9")}
    unread |= {9: BOTH, 10: ("damage last 1", "damage novelty 3000", "damage accuracy 9", *BOTH)}
    params = make(ODDS, 3, 0, ())
    rows = dwell(Dice("damage_unread"), params, 14)
    yield Case("damage_unread", "no evidence, no horizon: neither is read", params, rows, unread)
    unread = {
        5: ("damage last 1", "damage novelty 3000", *BOTH),
        8: ("damage last 1", f"damage novelty {high}"),
    }
    yield _case("damage_novelty_off", "no spread: neither is read", plain, mixed[:14], unread)


def cases() -> Iterable[Case]:
    """Yield all cases of this file."""
    for group in (_streams, _profiles, _states):
        yield from group()
