"""What a feed keeps and what it gives to those who follow."""

from __future__ import annotations

import base64
import itertools
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
    feed, steps, remarks, places = Feed({}, keep=keep), 0, [], [(0, 0, 0)]
    for count, remarked in adds:
        new = np.arange(steps, steps + count)
        feed.add_steps(1000 + steps, steps_of(count, risk=new % 100 / 128, prediction=new % 10), 0.0)
        steps += count
        if remarked:
            remarks.append(f"after {steps}")
            feed.add_remark("note", remarks[-1], steps)
        places.append((steps, len(remarks), 0))
    after = data.draw(st.sampled_from(places))
    place, message = feed.take(after)
    told, columns = unpacked(message)
    expected = list(range(after[0], steps))[-keep:]
    assert told["first"] == (1000 + expected[0] if expected else told["first"])
    assert columns["risk"].tolist() == [n % 100 * 512 for n in expected]
    assert columns["prediction"].tolist() == [n % 10 for n in expected]
    assert [remark["text"] for remark in told["remarks"]] == remarks[after[1] :]
    assert feed.place(feed.name(place)) == place == (steps, len(remarks), 0)
    assert feed.place("1.2.3.4") == (0, 0, 0)


@given(st.lists(st.integers(1, 50), min_size=1, max_size=30), st.integers(0, 900))
def test_parts_of_the_past_do_not_depend_on_how_steps_came(adds: list[int], back: int) -> None:
    """Means and counts of each half minute, also where a clock goes back; a page gets each part once."""
    count = sum(adds)
    times = 1e9 + np.arange(count) - back * (np.arange(count) >= count // 2)
    steps = steps_of(count, expected_accuracy=np.arange(count) % 200 / 255, abstain=np.arange(count) % 7 == 0)
    numbers = np.tile([[2.0, -1.0]], (count, 1))
    whole, single, got, place = Feed({"numbers": [1, 2]}), Feed({"numbers": [1, 2]}), [], (0, 0, 0)
    whole.add_steps(0, steps, times, None, None, numbers)
    for first, end in itertools.pairwise([0, *np.cumsum(adds).tolist()]):
        single.add_steps(first, steps[first:end], times[first:end], None, None, numbers[first:end])
        place, message = single.take(place)
        got += json.loads(message)["past"]
    past = json.loads(whole.take()[1])["past"]
    assert got == past
    for time, steps_in, asks, holds, accuracy, low, _, _, *near in past:
        assert time % 30 == 0 and steps_in <= 60 and asks <= steps_in / 7 + 1 and holds == 0
        assert 0 <= accuracy < 200 and low is None and near == [16, -8]
    assert sum(part[1] for part in past) >= count - 60  # the last one is not over


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
