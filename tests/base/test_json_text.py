# SPDX-License-Identifier: MIT
"""Lines that were made to take long: time grows with their length, not with its square."""

from __future__ import annotations

import pytest
from refusals import refused
from slow_lines import attack, in_time

from tcuq.base.json_text import depth_of, from_json
from tcuq.io.rows import parse_object


@pytest.mark.parametrize("end", ["", "\\", '"', "]"])
def test_quotes_without_an_end_are_read_once(end: str) -> None:
    assert in_time(lambda: depth_of(attack(200_000) + end)) == 65
    with refused("limit"):
        in_time(lambda: from_json(attack(200_000) + end))
    with refused("limit"):
        in_time(lambda: parse_object(attack(200_000)))


@pytest.mark.parametrize(
    ("text", "depth"),
    [('"[', 0), ('["\\\\"]]', 1), ("]]][", 0), ('{"a": [[1], [2]], "b": "[[[["}', 3), ('"a\\"[" [', 1)],
)
def test_brackets_in_strings_do_not_count(text: str, depth: int) -> None:
    assert depth_of(text) == depth
