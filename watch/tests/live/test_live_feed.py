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


@given(
    st.lists(st.tuples(st.integers(1, 40), st.integers(0, 3), st.booleans()), max_size=25),
    st.integers(1, 60),
    st.data(),
)
def test_any_place_gives_what_came_after_it(adds: list[Any], keep: int, data: st.DataObject) -> None:
    feed, numbers, remarks, names = Feed({}, keep=keep), [], [], [(0, 0)]
    following = 0
    for count, skip, remarked in adds:
        following += skip
        new = list(range(following, following + count))
        feed.add_steps(following, {"risk": [n % 100 / 128 for n in new], "prediction": [n % 10 for n in new]})
        numbers += new
        following += count
        if remarked:
            feed.add_remark("note", f"after {following}", following)
            remarks.append(f"after {following}")
        names.append((len(numbers), len(remarks)))
    at = data.draw(st.sampled_from(names))
    part = feed.take(at)
    told, columns = unpacked(part.message())
    expected = numbers[at[0] :][-keep:]
    assert [n for first, count in told["runs"] for n in range(first, first + count)] == expected
    assert columns["risk"].tolist() == [n % 100 / 128 for n in expected]
    assert columns["prediction"].tolist() == [n % 10 for n in expected]
    assert told["lost"] == len(numbers) - at[0] - len(expected)
    assert [r["text"] for r in told["remarks"]] == remarks[at[1] :]
    assert told["totals"]["steps"] == len(numbers)
    assert feed.place(feed.name(part.at)) == part.at == (len(numbers), len(remarks))


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
    assert whole.take(None).message() == single.take(None).message()
    assert whole.take(None).runs() == [(7, 3)]
    totals = whole.take(None).totals
    assert (totals["flagged"], totals["abstained"], totals["alarms"]) == (2, 1, 1)


def test_memory_is_bounded() -> None:
    feed = Feed({}, keep=100)
    for k in range(30):
        feed.add_steps(100 * k, {"risk": [0.5] * 100, "signals": [{"odds": 1.0}] * 100})
        for j in range(100):
            feed.add_remark("note", str(j), 100 * k)
    part = feed.take(None)
    assert len(part.rows) == len(part.signals) == 100
    assert len(part.remarks) == REMARKS
    assert part.rows["number"][0] == 2900
    feed.add_remark("broken", "x" * 10**6, 0)
    assert len(feed.take(None).remarks[-1]["text"]) < 600
    feed.add_steps(5000, {"risk": [0.1] * 350})  # more than is kept, at once
    assert feed.take(None).rows["number"].tolist() == list(range(5250, 5350))


def test_the_last_word_on_the_device_is_told_first() -> None:
    feed = Feed({"title": "Door"})
    assert feed.hello(False)["device"] is None
    feed.add_remark("lost", "gone", 0)
    for _ in range(REMARKS + 1):
        feed.add_remark("note", "", 0)
    assert feed.hello(True)["device"]["kind"] == "lost"
