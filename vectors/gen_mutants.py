# SPDX-License-Identifier: MIT
"""Cases that tell the core from one with a small mistake, found by changing it at every place.

Most are exact edges: the last number of a state that is accepted and the first that is not.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from gen_base import EVERY, PAPER, STANDARD_POSTERIORS, Case, Dice, Marks, Row, dwell, make, one_hot
from gen_learned import HEAD, OFF, learned

from tcuq.reference import SIGNAL_COUNT, Evidence, Monitor, Params

ODDS = 0x10
SILENT = (0,) * SIGNAL_COUNT
BOTH = ("save", "load")
HEADER = 64
COUNTERS = (*((at, 4) for at in range(20, 60, 4)), *((at, 1) for at in range(60, 64)))
"""Offset and size of the numbers in the header of a state, from the steps on."""


def _state_at(params: Params, rows: list[Row], marks: Marks, at: int) -> bytes:
    """Return the state before row `at`, after the marks there."""
    monitor = Monitor(params)
    for t in range(at + 1):
        for mark in marks.get(t, ()):
            if mark == "reset":
                monitor.reset()
            elif mark.startswith("label "):
                ago, label = map(int, mark.split(" ")[1:])
                monitor.feedback((monitor.steps - 1 - ago) % 2**32, label)
        if t < at:
            monitor.step(*rows[t])
    return monitor.save() or b""


def _refused(params: Params, state: bytes, at: int, size: int, value: int) -> bool:
    body = state[:at] + value.to_bytes(size, "little") + state[at + size : -4]
    return Monitor.refusal(params, body + struct.pack("<I", zlib.crc32(body))) != 0


def _places(params: Params) -> Iterator[tuple[int, int]]:
    """Yield offset and size of every number of a state behind its identity."""
    yield from COUNTERS
    at = HEADER
    for _ in range(params.depth):
        yield at, 2
        at += params.entry
    for _, length, form, _ in Monitor(params).lists():
        size = struct.calcsize(form)
        for number in range(length):
            yield at + size * number, size
        at += size * length


def edges(params: Params, rows: list[Row], at: int, marks: Marks | None = None) -> tuple[str, ...]:
    """Return the marks that refuse each number of a state one step beyond either end of where it is valid."""
    state = _state_at(params, rows, marks or {}, at)
    found = []
    for offset, size in _places(params):
        old, span = int.from_bytes(state[offset : offset + size], "little"), 256**size
        for sign in (1, -1):
            reach = 1
            while reach < span // 2 and not _refused(
                params, state, offset, size, (old + sign * reach) % span
            ):
                reach *= 2
            good = reach // 2
            while reach - good > 1:
                middle = (good + reach) // 2
                if _refused(params, state, offset, size, (old + sign * middle) % span):
                    reach = middle
                else:
                    good = middle
            if _refused(params, state, offset, size, (old + sign * reach) % span):
                found.append(f"refuse {offset} {size} {sign * reach}")
    return tuple(dict.fromkeys(found))


def _states() -> Iterable[Case]:
    """Yield states with one number just out of range, at moments that differ in what is held."""
    changes: dict[str, Any] = {"horizon": 4, "expected_start": 300, "warmup": 2}
    head = Evidence(70000, 500, HEAD, (-300, 200), reach=2**26)
    own = replace(head, own_looks=5, own_mean=-90000, own_most=30000, still=90000)
    looks = make(0x2B0, 2, 3, (), centers=(5, 6, 7, 8, 9, 0), evidence=head, hold=3, rise_clear=77, **OFF)
    more: dict[str, Any] = {"rise_limit": 90000, "rise_cap": 150000, "evidence": head, "about": 1, **OFF}
    dice = Dice("edges")
    for name, params, moments in (
        (
            "edges_paper",
            make(PAPER, 3, 2, (1, 3), level_num=2, level_den=5, slope=9000, steep_slope=50000),
            (1, 9),
        ),
        ("edges_flips", make(0x4, 3, 0, (1, 3), level_num=2, level_den=3), (9,)),
        ("edges_every", make(EVERY, 2, 1, (2,), zero_point=3, **changes), (9,)),
        ("edges_no_ring", make(0x18, 2, 0, (), level_num=3, level_den=4), (1,)),
        ("edges_learned", learned(STANDARD_POSTERIORS, 2, 0, dice, **more, **changes), (9,)),
        ("edges_looks", looks, (1, 9)),
        ("edges_own", replace(looks, evidence=own), (0, 4, 11)),
        ("edges_own_negative", replace(looks, evidence=replace(own, own_mean=90000)), (4,)),
    ):
        rows = dwell(Dice(name), params, 12)
        after: Marks = {7: ("reset",)}
        marks: Marks = dict(after)
        for t in moments:
            marks[t] = (*after.get(t, ()), *edges(params, rows, t, after))
        yield Case(name, "one number of a state just out of its range", params, rows, marks)


def _damage() -> Iterable[Case]:
    """Yield counters that are damaged by one number alone."""
    high = 2**31 - 1
    name = "damaged_counters"
    params = make(PAPER, 3, 2, (1, 2), level_num=3, level_den=7, slope=9000, steep_slope=50000)
    marks: Marks = {
        8: (f"damage steps {1 << 30}", *BOTH, "damage steps 2000000000", *BOTH),
        10: ("damage steps 4294967295", f"damage debt {high}", *BOTH),
        12: ("damage rise 60000", "damage alarm 0", *BOTH),
        14: ("damage rise 59999", "damage alarm 0", *BOTH),
        16: ("damage fall 20000", "damage alarm 0", *BOTH),
        18: ("damage steps 4294967295", f"damage debt {-high}", *BOTH),
    }
    yield Case(name, "which counters are saved", params, dwell(Dice(name), params, 20), marks)
    # The product of the slope and a damaged debt comes round to a threshold in 0..65535.
    name = "damaged_wrap"
    params = make(8, 2, 0, ())
    wrapped = [
        far + params.knee
        for far in range(16520, 200000)
        if (params.slope * params.knee + params.steep_slope * far) % 2**32 >> 8 < 30000
    ]
    some = wrapped[:: max(1, len(wrapped) // 6)][:6]
    marks = {2 + n: (f"damage debt {debt}",) for n, debt in enumerate([*some, *(-debt for debt in some)])}
    yield Case(
        name, "a debt whose product with the slope wraps", params, dwell(Dice(name), params, 16), marks
    )


def _beliefs() -> Iterable[Case]:
    """Yield sizes at the edges of the learned persistence."""
    name = "mutants_165_classes"
    params = learned(0x100, 165, 0, Dice(name), anchor=1)
    rows = [([v - 128 for v in one_hot(165, t % 2, 200)], []) for t in range(3)]
    yield Case(name, "the least likelihood where 164 / classes is 0", params, rows)


def _steps() -> Iterable[Case]:
    """Yield logistics and thresholds at their edges."""
    silent: dict[str, Any] = {"coef": SILENT, "blend": 65536}
    for name, bias in (("mutants_logistic_high", 12), ("mutants_logistic_low", -12)):
        params = make(8, 2, 0, (), bias=bias * 65536, **silent)
        yield Case(name, "an end of the table of the logistic", params, [([72, -72], [])] * 2)
    name = "mutants_reference"
    params = make(8, 2, 0, (), bias=2**24, reference=65535, **silent)
    yield Case(name, "a threshold of exactly 65535 one step closer", params, [([72, -72], [])] * 8)


def cases() -> Iterable[Case]:
    """Yield all cases of this file."""
    for group in (_states, _damage, _beliefs, _steps):
        yield from group()
