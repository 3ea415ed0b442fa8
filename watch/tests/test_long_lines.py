# SPDX-License-Identifier: MIT
"""Lines that were made to take long do not stop the readers of live and fleet."""

from __future__ import annotations

import pytest
from slow_lines import attack, in_time

from tcuq import Params
from tcuq_watch.sources.arrivals import MOST_BAD, Bad, BatchBuilder
from tcuq_watch.sources.reading import Reading


def test_one_line_does_not_stop_the_readers_of_live_and_fleet() -> None:
    reading = Reading(Params(classes=2))
    in_time(lambda: reading.push(b'{"probs": ' + attack(60_000).encode() + b"\n", 0.0))
    in_time(lambda: reading.push(attack(200_000).encode() + b"\n", 0.0))
    assert reading.broken == 2 and reading.push(b'{"probs": [0.5, 0.5]}\n', 0.0)
    rows = BatchBuilder(Bad(), "here")
    in_time(lambda: rows.add_line(attack(200_000).encode(), "line 1"))
    assert rows.bad.counts == {"not JSON": 1}


@pytest.mark.parametrize("junk", ["1", "{}", "[]", '""'])
def test_a_list_of_rubbish_is_counted_without_a_look_at_all_of_it(junk: str) -> None:
    count = 300_000
    rows = BatchBuilder(Bad(), "here")
    line = f"[{','.join([junk] * count)}]".encode()
    in_time(lambda: rows.add_line(line, "line 1"))
    assert sum(rows.bad.counts.values()) == count and rows.bad.counts["after bad steps"] == count - MOST_BAD


def test_good_steps_among_few_bad_ones_are_kept() -> None:
    rows = BatchBuilder(Bad(), "here")
    good = {"device": "a", "probs": [0.5, 0.5]}
    rows.add_content([1, *({**good, "seq": each} for each in range(5)), {}, {**good, "seq": 5}], "line 1")
    assert rows.count == 6 and sum(rows.bad.counts.values()) == 2
