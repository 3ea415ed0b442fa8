"""Tallies against a plain loop in Python, in any batches, through saving and over shards."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

from tcuq import Params
from tcuq.monitor.alarm import Alarm, AlarmSide
from tcuq.monitor.steps import FROZEN, NOT_MOVED, STEP_DTYPE
from tcuq_watch.engine.tallies import BUCKETS, DEVICE_DTYPE, SUMS, Tallies

PARAMS = Params(classes=3, warmup=0, reference=0.3, alarm=Alarm(0.2, AlarmSide(0.05, 0.5)))


def made_up(rng: np.random.Generator, count: int) -> npt.NDArray[Any]:
    """Return steps as a monitor might make them, with many changes of the alarm."""
    steps = np.zeros(count, dtype=STEP_DTYPE)
    steps["risk"] = rng.integers(0, 65536, count) / 65536
    steps["degradation"] = rng.integers(-(2**18), 2**18, count) / 65536
    steps["expected_accuracy"] = rng.integers(0, 65536, count) / 65536
    steps["prediction"], steps["answer"] = rng.integers(0, 3, count), rng.integers(0, 3, count)
    steps["flagged"], steps["abstain"] = rng.random(count) < 0.3, rng.random(count) < 0.1
    steps["alarm"] = np.where(rng.random(count) < 0.4, rng.integers(1, 4, count), 0)
    steps["moved"] = rng.choice([NOT_MOVED, NOT_MOVED, 0, 131, FROZEN], count)
    return steps


def by_hand(count: int, slots: Any, times: Any, steps: Any) -> dict[str, Any]:
    """Count everything in the plainest way; of hours, for steps whose times never go back."""
    devices = [
        dict.fromkeys(DEVICE_DTYPE.names or (), 0) | {"last_time": math.nan, "alarm_since": math.nan}
        for _ in range(count)
    ]
    hours: dict[int, dict[str, int]] = {}
    seen: dict[tuple[int, int], set[int]] = {}
    for slot, time, step in zip(slots.tolist(), times.tolist(), steps, strict=True):
        d, risk = devices[slot], round(float(step["risk"]) * 65536)
        onset = step["alarm"] > 0 and d["alarm"] == 0
        shown = risk << 8
        d["recent_risk"] = (
            shown if d["steps"] == 0 else d["recent_risk"] + ((shown - d["recent_risk"] + 128) >> 8)
        )
        degradation = round(float(step["degradation"]) * 65536)
        d["degradation"] = (
            degradation
            if d["steps"] == 0
            else d["degradation"] + ((degradation - d["degradation"] + 64) >> 7)
        )
        d["recent_alarm"] += ((2**24 if step["alarm"] else 0) - d["recent_alarm"] + 2048) >> 12
        d["steps"] += 1
        d["risk"] += risk
        d["onsets"] += int(onset)
        d["accuracy"] = round(float(step["expected_accuracy"]) * 65536)
        for name, of in (("flagged", "flagged"), ("abstained", "abstain"), ("alarm_steps", "alarm")):
            d[name] += int(step[of] > 0)
        d["alarm_since"] = (time if onset else d["alarm_since"]) if step["alarm"] else math.nan
        d["alarm"] = int(step["alarm"])
        if not step["alarm"]:
            d["cause"] = 0
        elif step["moved"] != NOT_MOVED:
            d["cause"] = NOT_MOVED - int(step["moved"])
        if math.isnan(time):
            continue
        if time > d["last_time"]:
            gap = int((time - d["last_time"]) * 1000.0)
            if gap > d["gap"]:
                d["gap"] += gap if d["gap"] == 0 else (gap - d["gap"]) // 4
            else:
                d["gap"] -= (d["gap"] - gap) // 256
        d["last_time"] = time
        hour = int(time // 3600)
        sums = hours.setdefault(hour, dict.fromkeys(SUMS, 0))
        values = (1, step["flagged"], step["abstain"], step["alarm"] > 0, onset, risk, d["accuracy"])
        for name, value in zip(SUMS, values, strict=True):
            sums[name] += int(value)
        seen.setdefault((0, hour), set()).add(slot)
        if step["alarm"]:
            seen.setdefault((1, hour), set()).add(slot)
    return {"devices": devices, "hours": hours, "seen": seen}


@pytest.mark.parametrize("span", [20, 700, 5000])
def test_counts_equal_a_plain_loop(span: int) -> None:
    rng = np.random.default_rng(span)
    count, events = 7, 1500
    slots, steps = rng.integers(0, count, events), made_up(rng, events)
    times = np.sort(rng.random(events)) * span * 3600 + 1.7e9
    times[rng.random(events) < 0.05] = np.nan
    tallies = Tallies(PARAMS)
    tallies.grow(count)
    tallies.update(slots, times, steps)
    expected = by_hand(count, slots, times, steps)
    for name in DEVICE_DTYPE.names or ():
        if name not in ("bucket", "alarm_bucket"):
            found = tallies.devices[name].tolist()
            np.testing.assert_array_equal(found, [d[name] for d in expected["devices"]], err_msg=name)
    series = tallies.over_time()
    hours = tallies.width // 3600
    assert len(series["time"]) <= BUCKETS and hours == (1 if span < BUCKETS else 2 if span < 1000 else 16)
    for at, time in enumerate(series["time"].tolist()):
        inside = [h for h in expected["hours"] if h // hours == time // tallies.width]
        for name in SUMS:
            assert series[name][at] == sum(expected["hours"][h][name] for h in inside)
        for which, name in enumerate(("devices", "in_alarm")):
            everyone = set().union(*(expected["seen"].get((which, h), set()) for h in inside))
            assert series[name][at] == len(everyone), (name, at)
    assert series["steps"].sum() + tallies.untimed == events and tallies.untimed == np.isnan(times).sum()
    for number in range(3):
        mine = steps["answer"] == number
        assert tallies.classes["steps"][number] == mine.sum()
        assert tallies.classes["risk"][number] == round(steps["risk"][mine].sum() * 65536)
        assert tallies.classes["predictions"][number] == (steps["prediction"] == number).sum()


times_or_nonsense = st.one_of(
    st.floats(1.7e9, 1.7e9 + 4e6), st.floats(allow_nan=True), st.sampled_from([0.0, -1.0, 1e12, 2.0**33])
)


@given(
    st.lists(st.tuples(st.integers(0, 4), times_or_nonsense), min_size=1, max_size=60),
    st.lists(st.integers(0, 60), max_size=5),
)
def test_batches_and_restarts_change_nothing(events: list[tuple[int, float]], cuts: list[int]) -> None:
    slots, times = np.array([e[0] for e in events]), np.array([e[1] for e in events])
    steps = made_up(np.random.default_rng(len(events)), len(events))
    whole = Tallies(PARAMS)
    whole.grow(5)
    whole.update(slots, times, steps)
    parts = Tallies(PARAMS)
    parts.grow(2)
    parts.grow(3)
    edges = sorted({0, *(min(cut, len(events)) for cut in cuts), len(events)})
    for start, stop in pairwise(edges):
        some = slice(start, stop)
        parts.update(slots[some], times[some], steps[some])
        saved = {name: values.copy() for name, values in parts.arrays().items()}
        parts = Tallies.restored(PARAMS, saved)
    for name, values in whole.arrays().items():
        assert values.tobytes() == parts.arrays()[name].tobytes(), name
    assert whole.over_time()["steps"].sum() + whole.untimed == len(events)


@pytest.mark.parametrize("span", [30, 600, 4000])
def test_shards_merge(span: int) -> None:
    rng = np.random.default_rng(span)
    slots, steps = rng.integers(0, 9, 2000), made_up(rng, 2000)
    # One shard has seen a part of the time only, so that its buckets are narrower.
    times = 1.7e9 + np.sort(np.where(slots < 3, rng.random(2000) * 0.1, rng.random(2000))) * span * 3600
    whole, shards = Tallies(PARAMS), [Tallies(PARAMS), Tallies(PARAMS), Tallies(PARAMS)]
    whole.grow(9)
    whole.update(slots, times, steps)
    for number, shard in enumerate(shards):
        mine = slots // 3 == number
        shard.grow(3)
        shard.update(slots[mine] % 3, times[mine], steps[mine])
    merged = Tallies.merged(shards)
    for name, values in whole.arrays().items():
        if name != "devices":
            assert values.tobytes() == merged.arrays()[name].tobytes(), name


def test_a_clock_that_goes_back_is_not_counted_twice() -> None:
    tallies = Tallies(PARAMS)
    tallies.grow(1)
    times = 1.7e9 + 3600 * np.array([5, 6, 5, 6, 7.0])
    tallies.update(np.zeros(5, np.int64), times, made_up(np.random.default_rng(0), 5))
    assert tallies.over_time()["devices"].tolist() == [1, 1, 1]
    assert tallies.over_time()["steps"].tolist() == [2, 2, 1]
    assert tallies.devices["last_time"][0] == times[-1]
    # Set back by two days, a clock starts again: the device is seen there, and is not silent for ever.
    tallies.update(np.zeros(1, np.int64), times[-1:] - 2 * 86400, made_up(np.random.default_rng(0), 1))
    assert tallies.devices["last_time"][0] == times[-1] - 2 * 86400 and tallies.over_time()["devices"][0] == 1


@pytest.mark.parametrize(
    "change",
    [{"level": 200}, {"first": -5}, {"last": 2**62, "level": 13}],
)
def test_a_clock_out_of_range_is_refused(change: dict[str, int]) -> None:
    tallies = Tallies(PARAMS)
    tallies.grow(1)
    tallies.update(np.zeros(2, np.int64), np.array([0.0, 7200.0]), made_up(np.random.default_rng(0), 2))
    arrays = tallies.arrays()
    for name, value in change.items():
        arrays["clock"][("first", "last", "level").index(name)] = value
    with refused("damaged"):
        Tallies.restored(PARAMS, arrays)
    with refused("damaged"):
        Tallies.restored(PARAMS, {**arrays, "clock": np.zeros(1)})
