# SPDX-License-Identifier: MIT
"""Cases that tell the core from one with a small mistake, found by changing it at every place.

Most are exact edges: the last number of a state that is accepted and the first that is not.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import replace

from gen_base import (
    EVERY,
    HEAD,
    PAPER,
    SILENT,
    STANDARD_POSTERIORS,
    Case,
    Row,
    case,
    marked,
    one_hot,
    refusing,
)

from tcuq.reference import Evidence, Monitor, Params

HEADER = 64
COUNTERS = (*((at, 4) for at in range(20, 60, 4)), *((at, 1) for at in range(60, 64)))
"""Offset and size of the numbers in the header of a state, from the steps on."""


def state_at(params: Params, rows: list[Row], marks: str, at: int) -> bytes:
    """Return the state before row `at`, after the resets and labels until then."""
    monitor, happens = Monitor(params), marked(marks)
    for t in range(at + 1):
        for mark in happens.get(t, ()):
            if mark == "reset":
                monitor.reset()
            else:
                ago, label = map(int, mark.split(" ")[1:])
                monitor.feedback((monitor.steps - 1 - ago) % 2**32, label)
        if t < at:
            monitor.step(*rows[t])
    return monitor.save() or b""


def refused(params: Params, state: bytes, at: int, size: int, value: int) -> bool:
    """Return whether a state is refused once a number of it is changed."""
    body = state[:at] + (value % 256**size).to_bytes(size, "little") + state[at + size : -4]
    return Monitor.refusal(params, body + struct.pack("<I", zlib.crc32(body))) != 0


def places(params: Params) -> Iterator[tuple[int, int]]:
    """Yield offset and size of every number of a state behind its identity."""
    yield from COUNTERS
    yield from ((HEADER + n * params.entry, 2) for n in range(params.depth))
    at = HEADER + params.depth * params.entry
    for _, length, form, _ in Monitor(params).lists():
        size = struct.calcsize(form)
        yield from ((at + size * number, size) for number in range(length))
        at += size * length


def edges(params: Params, rows: list[Row], moments: tuple[int, ...], before: str) -> str:
    """Return marks that refuse each number of a state one step beyond either end of where it is valid."""
    text = before
    for moment in moments:
        state, found = state_at(params, rows, before, moment), {}
        for offset, size in places(params):
            old = int.from_bytes(state[offset : offset + size], "little")
            for sign in (1, -1):
                reach = 1
                while reach < 256**size // 2 and not refused(params, state, offset, size, old + sign * reach):
                    reach *= 2
                good = reach // 2
                while reach - good > 1:
                    middle = (good + reach) // 2
                    if refused(params, state, offset, size, old + sign * middle):
                        reach = middle
                    else:
                        good = middle
                if refused(params, state, offset, size, old + sign * reach):
                    found[offset, size, sign * reach] = True
        text += f"; {moment} {refusing(found)}"
    return text


def cases() -> Iterator[Case]:
    """Yield all cases of this file."""
    changes = {"horizon": 4, "expected_start": 300, "warmup": 2}
    head = Evidence(70000, 500, HEAD, (-300, 200), reach=2**26)
    own = replace(head, baseline_inputs=5, baseline_mean=-90000, baseline_most=30000, frozen=90000)
    looks = {"centers": (5, 6, 7, 8, 9, 0), "least_raised": 3, "rise_clear": 77}
    learns = {"instant": True, "about": 1, "rise_limit": 90000, "rise_cap": 150000, "evidence": head}
    for name, mask, classes, features, moments, more in (
        ("paper", PAPER, 3, 2, (1, 9),
         {"lags": (1, 3), "level_num": 2, "level_den": 5, "slope": 9000, "steep_slope": 50000}),
        ("flips", 0x4, 3, 0, (9,), {"lags": (1, 3), "level_num": 2, "level_den": 3}),
        ("every", EVERY, 2, 1, (9,), {"lags": (2,), "zero_point": 3, **changes}),
        ("no_ring", 0x18, 2, 0, (1,), {"level_num": 3, "level_den": 4}),
        ("learned", STANDARD_POSTERIORS, 2, 0, (9,), learns | changes),
        ("looks", 0x2B0, 2, 3, (1, 9), {**looks, "evidence": head}),
        ("own", 0x2B0, 2, 3, (0, 4, 11), {**looks, "evidence": own}),
        ("own_negative", 0x2B0, 2, 3, (4,), {**looks, "evidence": replace(own, baseline_mean=90000)}),
    ):  # fmt: skip
        why, marks = "one number of a state just out of its range", (edges, moments, "7 reset")
        yield case(f"edges_{name}", why, mask, classes, features, 12, marks, **more)
    high, top = 2**31 - 1, 2**32 - 1
    marks = f"8 damage steps {1 << 30}, both, damage steps 2000000000, both"
    marks += f"; 10 damage steps {top}, damage debt {high}, both; 12 damage rise 60000, damage alarm 0, both"
    marks += "; 14 damage rise 59999, damage alarm 0, both; 16 damage fall 20000, damage alarm 0, both"
    marks += f"; 18 damage steps {top}, damage debt {-high}, both"
    rates = {"level_num": 3, "level_den": 7, "slope": 9000, "steep_slope": 50000}
    yield case("damaged_counters", "which counters are saved", PAPER, 3, 2, 20, marks, lags=(1, 2), **rates)
    # The product of the slope and a damaged debt comes round to a threshold in 0..65535.
    p = case("", "", 8, 2, 0, []).params
    near = p.slope * p.knee
    wrapped = [far for far in range(16520, 200000) if (near + p.steep_slope * far) % 2**32 >> 8 < 30000]
    some = [far + p.knee for far in wrapped[:: max(1, len(wrapped) // 6)][:6]]
    debts = enumerate([*some, *(-debt for debt in some)])
    marks = "; ".join(f"{2 + n} damage debt {debt}" for n, debt in debts)
    yield case("damaged_wrap", "a debt whose product with the slope wraps", 8, 2, 0, 16, marks)
    rows = [([v - 128 for v in one_hot(165, t % 2, 200)], []) for t in range(3)]
    why = "the least likelihood where 164 / classes is 0"
    yield case("mutants_165_classes", why, 0x100, 165, 0, rows, instant=True, anchor=1)
    for name, why, steps, bias, reference in (
        ("logistic_high", "an end of the table of the logistic", 2, 12 * 65536, 24000),
        ("logistic_low", "an end of the table of the logistic", 2, -12 * 65536, 24000),
        ("reference", "a threshold of exactly 65535 one step closer", 8, 2**24, 65535),
    ):
        changes = {"coef": SILENT, "blend": 65536, "bias": bias, "reference": reference}
        yield case(f"mutants_{name}", why, 8, 2, 0, [([72, -72], [])] * steps, **changes)
