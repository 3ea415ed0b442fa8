# SPDX-License-Identifier: MIT
"""Cases without a second head: resets, saves, loads, memory errors, states to be refused."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gen_base import (
    EVERY,
    PAPER,
    Case,
    Dice,
    Marks,
    dwell,
    make,
)


def _states() -> Iterable[Case]:
    """Yield resets, saves and loads at all kinds of moments."""
    every: Marks = {0: ("save",), 1: ("save",), 5: ("save", "load"), 30: ("save",), 36: ("load", "save")}

    def case(
        name: str, why: str, shape: tuple[int, int, int], lags: tuple[int, ...], steps: int, marks: Marks
    ) -> Case:
        mask, classes, features = shape
        params = make(mask, classes, features, lags, zero_point=5, warmup=10)
        return Case(name, why, params, dwell(Dice(name), params, steps), marks)

    small, near, far, deep = (EVERY, 10, 6), (1, 2, 4), (2, 7, 16), (1, 4, 16, 64)
    third: Marks = dict.fromkeys(range(0, 24, 3), ("save", "load"))
    ninth: Marks = dict.fromkeys(range(5, 60, 9), ("reset",))
    yield case("reset_midway", "reset", small, near, 60, {20: ("reset",), 41: ("reset",)})
    yield case("reset_at_once", "reset before the first step", small, near, 20, {0: ("reset", "save")})
    yield case("reset_often", "reset before the lags fill", small, far, 60, ninth)
    after: Marks = {25: ("reset", "save"), 26: ("save",)}
    yield case("reset_then_save", "save right after reset", (EVERY, 35, 16), near, 50, after)
    empty: Marks = {70: ("reset", "save", "load")}
    yield case("reset_save_load", "load an emptied state", (PAPER, 10, 16), deep, 78, empty)
    yield case("save_first", "save before the first step, load it", small, far, 40, {0: ("save", "load")})
    yield case("save_midway", "save", (PAPER, 35, 32), (1, 2, 3, 5, 8), 60, {3: ("save",), 31: ("save",)})
    yield case("save_load", "save, load, go on", small, near, 60, every)
    yield case("save_load_paper", "save, load, go on", (PAPER, 10, 32), far, 60, every)
    yield case("save_load_no_ring", "save, load, go on", (EVERY & ~7, 10, 16), (), 60, every)
    yield case("save_load_posterior_only", "save, load, go on", (0x1D, 35, 0), (1, 2, 3, 5, 8), 60, every)
    wrapped: Marks = {100: ("save", "load")}
    yield case("save_load_wrapped", "a ring of 64 that has wrapped", (EVERY, 2, 16), deep, 104, wrapped)
    yield case("save_load_often", "load after each third step", (EVERY & 0x1F, 10, 16), (1, 2, 3), 24, third)


def _damage() -> Iterable[Case]:
    """Counters after a memory error, and states that contradict themselves (section 12)."""

    def case(name: str, why: str, mask: int, marks: Marks, steps: int = 80, **changes: Any) -> Case:
        lags = (1, 2, 4) if mask & 7 else ()
        params = make(mask, 4, 4, lags, warmup=5, **changes)
        return Case(name, why, params, dwell(Dice(name), params, steps), marks)

    both = ("save", "load")
    high, top = 2**31 - 1, 2**32 - 1
    for name, mask, changes in (
        ("paper", PAPER, {}),
        ("every", EVERY, {"level_num": 3, "level_den": 7, "reference": 0}),
        ("flat", PAPER, {"slope": 0, "knee": 300, "steep_slope": 1677721}),
        ("gentle", PAPER, {"slope": 1, "knee": 2**24, "steep_slope": 1, "reference": 65535}),
    ):
        debts = (high, -high - 1, 1 << 30, -(1 << 24), 1 << 20, -4097, 400, -90)
        marks = {10 + 8 * n: (f"damage debt {debt}",) for n, debt in enumerate(debts)}
        marks |= {14 + 8 * n: (f"damage debt {debt}", *both) for n, debt in enumerate(debts)}
        yield case(f"damage_debt_{name}", "a debt that no input can cause", mask, marks, **changes)
    credits: Marks = {10: ("damage credit -1",), 20: (f"damage credit {high}", *both)}
    credits |= {30: (f"damage credit {-high - 1}", *both), 41: ("damage credit 61",)}
    credits |= {50: ("damage credit 59", *both), 60: (f"damage credit {high}",)}
    yield case("damage_credit", "a credit below 0 or above a full one", PAPER, credits)
    sums: Marks = {10: (f"damage rise {top}",), 20: (f"damage rise {high}", *both), 25: ("damage alarm 255",)}
    sums |= {
        30: (f"damage fall {1 << 31}", *both),
        40: (f"damage fall {high}",),
        41: ("damage alarm 0", *both),
    }
    sums |= {
        50: ("damage alarm 3", *both),
        55: ("damage rise 1", "damage alarm 1", *both),
        60: ("damage alarm 4",),
    }
    yield case("damage_alarm", "sums of the alarm out of range, and its bits", PAPER, sums)
    off: Marks = {10: ("damage fall 77", "damage alarm 2", *both), 30: ("damage rise 5", "damage alarm 3")}
    changes = {"rise_limit": 0, "rise_cap": 0, "fall_limit": 0, "fall_cap": 0}
    yield case("damage_alarm_off", "sums of an alarm that is off", PAPER, off, 40, **changes)
    counts: Marks = {10: ("damage steps 0", *both), 20: (f"damage steps {top}", *both), 24: both}
    counts |= {30: ("damage steps 2", *both), 40: (f"damage steps {1 << 31}", *both)}
    yield case("damage_steps", "a count of steps that contradicts the others", PAPER, counts)
    yield case("damage_steps_no_ring", "the same where nothing looks back", 0x18, counts, 50)

    wrong = [
        (24, 4, 1 << 31),
        (24, 4, 4000),
        (24, 4, -4000),
        (28, 4, 1000),
        (28, 4, 1 << 31),
        (32, 4, 1 << 31),
        (36, 4, 1 << 31),
        (60, 1, 4),
    ]
    wrong += [
        (40, 4, 1),
        (40, 4, -1),
        *((at, 4, 1) for at in (44, 48, 52, 56)),
        (6, 2, 1),
        (6, 2, 256),
        (62, 1, 2),
    ]
    wrong += [(61, 1, 9), (61, 1, 1), (62, 1, 1), (62, 1, -1), (63, 1, 1), (64, 2, 1), (64, 2, 1000)]
    wrong += [(0, 1, 1), (4, 2, -1), (8, 4, 16), (12, 2, 1), (14, 2, 1), (16, 4, 1), (-1, 1, 1), (-2, 0, 1)]
    wrong += [(-2, 0, -1), (-2, 0, -10000)]
    refused = tuple(" ".join(map(str, ("refuse", *each))) for each in wrong)
    early = ("refuse 61 1 1", "refuse 62 1 1", "refuse 60 1 1", "refuse 60 1 2", "refuse 64 1 1")
    yield case("refused_paper", "states of other numbers", PAPER, {0: early, 2: refused[:3], 40: refused}, 42)
    yield case("refused_every", "states of other numbers", EVERY, {40: refused}, 42)
    none = ("refuse 61 1 1", "refuse 62 1 1")
    yield case("refused_no_ring", "something held before there is any", 0x18, {0: none}, 12)
    rates = {"budget_num": 0, "level_num": 999, "level_den": 1000, "steep_slope": 16000, "slope": 9}
    zero = ("refuse 28 4 61", "refuse 24 4 2000000", "refuse 24 4 -2000000")
    yield case("refused_rates", "extreme rates", PAPER, {0: zero, 30: zero}, 32, **rates)

    name = "load_goes_back"
    params = make(EVERY, 10, 16, (1, 2, 3, 5, 8))
    rows = dwell(Dice(name), params, 40)
    back: Marks = {20: ("save",), 40: ("load",)}
    yield Case(name, "the same steps twice from one state", params, rows + rows[20:], back)


def cases() -> Iterable[Case]:
    """Yield all cases of this file."""
    for group in (_states, _damage):
        yield from group()
