"""What a feed keeps and what it gives to those who follow."""

from __future__ import annotations

import base64
import json
import math
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from live_fake import steps_of

from tcuq_watch.pages.feed import ROW, Feed


def unpacked(message: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """A message and its columns, read as the page reads them."""
    told = json.loads(message)
    raw, at, columns = base64.b64decode(told["data"]), 0, {}
    for name in ROW.names or ():
        columns[name] = np.frombuffer(raw, ROW[name], told["count"], at)
        at += told["count"] * ROW[name].itemsize
    assert at == len(raw)
    return told, columns


@given(st.lists(st.tuples(st.integers(1, 40), st.booleans()), max_size=25), st.integers(1, 60), st.data())
def test_any_place_gives_what_came_after_it(adds: list[Any], keep: int, data: st.DataObject) -> None:
    feed, steps, remarks, places = Feed({}, keep=keep), 0, [], [(0, 0)]
    for count, remarked in adds:
        new = np.arange(steps, steps + count)
        feed.add_steps(1000 + steps, steps_of(count, risk=new % 100 / 128, prediction=new % 10), 0.0)
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
    assert columns["risk"].tolist() == [n % 100 * 512 for n in expected]
    assert columns["prediction"].tolist() == [n % 10 for n in expected]
    assert [remark["text"] for remark in told["remarks"]] == remarks[after[1] :]
    assert feed.place(feed.name(place)) == place == (steps, len(remarks)) and feed.place("1.2.3") == (0, 0)


def test_one_by_one_is_the_same_as_at_once() -> None:
    steps = steps_of(
        3, risk=[0.5, 0.25, 1.0], flagged=[1, 0, 1], abstain=[0, 0, 1], alarm=[0, 3, 2], warming_up=[1, 0, 0],
        expected_accuracy=[math.nan, 0.75, math.nan], prediction=[1, 2, 3], answer=[1, 1, 3],
    )  # fmt: skip
    times, band, signals = np.array([10.0, 11.0, 12.0]), np.full((3, 2), 0.5), np.array([[0.5], [1], [0.25]])
    whole, single = Feed({}), Feed({})
    whole.add_steps(7, steps, times, band, signals)
    for k in range(3):
        some = slice(k, k + 1)
        single.add_steps(7 + k, steps[some], times[some], band[some], signals[some])
    _, message = whole.take()
    assert message == single.take()[1]
    told, came = unpacked(message)
    assert told["first"] == 7 and came["flags"].tolist() == [17, 12, 9]
    assert told["signals"] == [[7, 0.5], [9, 0.25]] and came["risk"].tolist() == [32768, 16384, 65535]
