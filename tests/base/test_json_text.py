# SPDX-License-Identifier: MIT
"""Lines that were made to take long: time grows with their length, not with its square."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from tcuq import Params
from tcuq.base.json_text import depth_of, from_json
from tcuq.io.jsonl import parse_object
from tcuq_watch.fleet.arrivals import MOST_BAD, Bad, Gathering
from tcuq_watch.live.reading import Reading

SECONDS = 1.0
"""For 200 KB; what is linear takes hundredths of that."""


def attack(size: int) -> str:
    return "[" * 65 + '"' + '\\"' * (size // 2)


def in_time(act: Callable[[], Any]) -> Any:
    start = time.process_time()
    found = act()
    assert time.process_time() - start < SECONDS
    return found


@pytest.mark.parametrize("end", ["", "\\", '"', "]"])
def test_quotes_without_an_end_are_read_once(end: str) -> None:
    assert in_time(lambda: depth_of(attack(200_000) + end)) == 65
    with pytest.raises(ValueError, match="nests too deeply"):
        in_time(lambda: from_json(attack(200_000) + end))


@pytest.mark.parametrize(
    ("text", "depth"),
    [('"[', 0), ('["\\\\"]]', 1), ("]]][", 0), ('{"a": [[1], [2]], "b": "[[[["}', 3), ('"a\\"[" [', 1)],
)
def test_brackets_in_strings_do_not_count(text: str, depth: int) -> None:
    assert depth_of(text) == depth


def test_one_line_does_not_stop_the_readers_of_live_and_fleet() -> None:
    reading = Reading(Params(classes=2))
    in_time(lambda: reading.push(b'{"probs": ' + attack(60_000).encode() + b"\n", 0.0))
    in_time(lambda: reading.push(attack(200_000).encode() + b"\n", 0.0))
    assert reading.broken == 2 and reading.push(b'{"probs": [0.5, 0.5]}\n', 0.0)
    rows = Gathering(Bad(), "here")
    in_time(lambda: rows.add_line(attack(200_000).encode(), "line 1"))
    assert rows.bad.counts == {"not JSON": 1}
    with pytest.raises(ValueError, match="nests too deeply"):
        in_time(lambda: parse_object(attack(200_000)))


@pytest.mark.parametrize("junk", ["1", "{}", "[]", '""'])
def test_a_list_of_rubbish_is_counted_without_a_look_at_all_of_it(junk: str) -> None:
    count = 300_000
    rows = Gathering(Bad(), "here")
    line = f"[{','.join([junk] * count)}]".encode()
    in_time(lambda: rows.add_line(line, "line 1"))
    assert sum(rows.bad.counts.values()) == count and rows.bad.counts["after bad steps"] == count - MOST_BAD


def test_good_steps_among_few_bad_ones_are_kept() -> None:
    rows = Gathering(Bad(), "here")
    good = {"device": "a", "probs": [0.5, 0.5]}
    rows.add_content([1, *({**good, "seq": each} for each in range(5)), {}, {**good, "seq": 5}], "line 1")
    assert rows.count == 6 and sum(rows.bad.counts.values()) == 2
