"""What a feed keeps and what it gives to those who follow."""

from __future__ import annotations

import base64
import json
import math
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tcuq_watch.pages.feed import COLUMNS, REMARKS, Feed


def unpacked(message: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """A message and its columns, read as the page reads them."""
    told = json.loads(message)
    raw, at, columns = base64.b64decode(told["data"]), 0, {}
    for name, kind in COLUMNS.items():
        columns[name] = np.frombuffer(raw, kind, told["count"], at)
        at += told["count"] * np.dtype(kind).itemsize
    assert at == len(raw)
    return told, columns


@given(st.lists(st.tuples(st.integers(1, 40), st.booleans()), max_size=25), st.integers(1, 60), st.data())
def test_any_place_gives_what_came_after_it(adds: list[Any], keep: int, data: st.DataObject) -> None:
    feed, steps, remarks, places = Feed({}, keep=keep), 0, [], [(0, 0)]
    for count, remarked in adds:
        new = range(steps, steps + count)
        feed.add_steps(
            1000 + steps, {"risk": [n % 100 / 128 for n in new], "prediction": [n % 10 for n in new]}
        )
        steps += count
        if remarked:
            remarks.append(f"after {steps}")
            feed.add_remark("note", remarks[-1], steps)
        places.append((steps, len(remarks)))
    after = data.draw(st.sampled_from(places))
    place, message = feed.take(after)
    told, columns = unpacked(message)
    expected = list(range(after[0], steps))[-keep:]
    assert told["first"] == (1000 + expected[0] if expected else told["first"])
    assert columns["risk"].tolist() == [n % 100 / 128 for n in expected]
    assert columns["prediction"].tolist() == [n % 10 for n in expected]
    assert [remark["text"] for remark in told["remarks"]] == remarks[after[1] :]
    assert feed.place(feed.name(place)) == place == (steps, len(remarks)) and feed.place("1.2.3") is None


def test_one_by_one_is_the_same_as_at_once() -> None:
    columns: dict[str, list[Any]] = {
        "time": [10.0, 11.0, 12.0], "risk": [0.5, 0.25, None], "flagged": [True, False, True],
        "abstain": [False, False, True], "alarm": [0, 3, 2], "reason": ["odds", "", "doubt"],
        "expected_accuracy": [None, 0.75, math.nan],
        "signals": [{"odds": 0.5, "doubt": 0.125}, None, {"doubt": 1.0}],
        "prediction": [1, 2, 3], "answer": [1, 1, 3], "warming_up": [True, False, False],
    }  # fmt: skip
    whole, single = Feed({}), Feed({})
    whole.add_steps(7, columns)
    for k in range(3):
        single.add_steps(7 + k, {name: values[k : k + 1] for name, values in columns.items()})
    _, message = whole.take(None)
    assert message == single.take(None)[1]
    told, came = unpacked(message)
    assert told["first"] == 7 and came["flags"].tolist() == [17, 12, 11]
    assert told["names"] == ["doubt", "odds"] and told["signals"] == [[7, 0.125, 0.5], [9, 1.0, None]]


def test_remarks_and_signals_are_bounded() -> None:
    feed = Feed({}, keep=10)
    for k in range(1100):
        feed.add_steps(k, {"risk": [0.5], "signals": [{"odds": 1.0}]})
        feed.add_remark("note", str(k), k)
    told, _ = unpacked(feed.take(None)[1])
    assert (told["first"], len(told["signals"]), len(told["remarks"])) == (1090, 10, REMARKS)
