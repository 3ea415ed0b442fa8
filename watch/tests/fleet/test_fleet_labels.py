"""The budget against any sequence, the draw against batches and restarts, the interval against the truth."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused

from tcuq.labels.accuracy import accuracy_from_labels
from tcuq.labels.sampler import device_keys
from tcuq.monitor.steps import STEP_DTYPE, Steps
from tcuq_watch.engine import labels as module
from tcuq_watch.engine.events import Decided
from tcuq_watch.engine.labels import CHANCES, EXPECTED, KEPT, Labels

DAY = 86400.0


def made_up(doubts: npt.ArrayLike) -> npt.NDArray[Any]:
    steps = np.zeros(len(np.atleast_1d(doubts)), dtype=STEP_DTYPE)
    steps["uncertainty"] = doubts
    return steps


def offered(labels: Labels, device: str, seqs: Any, times: Any, steps: Any) -> None:
    places = np.asarray(seqs, dtype=np.int64)
    columns = (np.full(len(places), device, dtype=object), np.zeros(len(places), np.int64), places)
    decided = Decided("v", *columns, np.asarray(times, float), Steps.of(steps))
    labels.offer(decided, device_keys("v", decided.devices.tolist()))


def total(labels: Labels) -> float:
    """Return the sum of the chances of all steps, asked for or not."""
    kinds, counts = module._merged([labels._past, *(day.counts() for day in labels._counted())])
    return float(counts @ CHANCES[kinds % len(CHANCES)])


@settings(max_examples=25, deadline=None)
@given(
    sizes=st.lists(st.sampled_from([0, 1, 3, 50, 700, 9000]), min_size=1, max_size=6),
    per_day=st.sampled_from([1, 7, 400]),
    doubts=st.sampled_from([[0.0], [0.5], [1.0, 0.0, 0.01, 0.3]]),
)
def test_the_chances_of_a_day_add_up_to_the_budget_at_most(
    sizes: list[int], per_day: int, doubts: list[float]
) -> None:
    labels, before = Labels(per_day, seed=0), 0.0
    for day, size in enumerate(sizes):
        offered(labels, "d", np.arange(size), np.full(size, day * DAY), made_up(np.resize(doubts, size)))
        assert total(labels) - before <= per_day * (1 + 1e-9)
        before = total(labels)
        assert all(0 < row["chance"] <= 1 for row in labels.pick(day))


def test_neither_batches_nor_restarts_change_what_is_asked() -> None:
    rng = np.random.default_rng(0)
    steps = made_up(rng.beta(0.3, 1, 3000))
    steps["abstain"] = rng.random(3000) < 0.1
    times = np.where(rng.random(3000) < 0.1, np.nan, np.sort(rng.uniform(0, 3 * DAY, 3000)))
    names = ["plain", "Grüße", "\udcff", ""]
    found = []
    for pieces in (1, 7, 40):
        labels = Labels(60, seed=5)
        for part in np.array_split(np.arange(3000), pieces):
            for place, name in enumerate(names):
                mine = part[part * 4 // 3000 == place]
                offered(labels, name, mine, times[mine], steps[mine])
            labels = Labels.restored({key: each.copy() for key, each in labels.arrays().items()})
        labels.tell([{**row, "label": 0} for row in labels.pick(1)])
        found.append(([labels.pick(day) for day in range(4)], labels.accuracy()))
    assert found[0] == found[1] == found[2] and len(found[0][0][1]) > 20


def test_the_interval_is_that_of_accuracy_from_labels_and_folding_changes_nothing() -> None:
    rng, labels = np.random.default_rng(2), Labels(200, seed=0)
    steps = made_up(rng.choice(EXPECTED, 6000))  # what is expected is not rounded here
    steps["abstain"] = rng.random(6000) < 0.2
    for day in range(3):
        offered(labels, "d", np.arange(2000) + 2000 * day, [day * DAY] * 2000, steps[2000 * day :][:2000])
    rows = [row for day in range(3) for row in labels.pick(day)]
    told = [{**row, "label": int(rng.random() < 0.3)} for row in rows[::2]]
    assert labels.tell(told)["told"] == len(told) == labels.accuracy()["told"]
    kinds, zero = [], np.zeros(2000, np.int64)
    other = Labels(200, seed=0)  # the chances of all steps, by the same rule
    for day in range(3):
        other._begin(day) if day else None
        kinds.append(other._drawn(np.zeros(2000, np.uint64), zero, zero, steps[2000 * day :][:2000])[0])
    chance = CHANCES[np.concatenate(kinds) % len(CHANCES)]
    asked, truth = np.zeros(6000, bool), np.full(6000, np.nan)
    asked[[row["seq"] for row in rows]] = True
    truth[[row["seq"] for row in told]] = [row["label"] for row in told]
    for among in ("accepted", "all"):
        every = np.ones(6000, bool) if among == "all" else None
        count = 6000 if among == "all" else int((~steps["abstain"]).sum())
        expected = accuracy_from_labels(steps, asked, chance, truth, among=every, at=[count])
        found = labels.accuracy(among=among)
        assert [found["estimate"], *found["interval"]] == pytest.approx([float(end[0]) for end in expected])
        assert found["steps"] == count
    before = labels.accuracy()
    offered(labels, "d", [0], [(KEPT + 3) * DAY], made_up([0.5]))
    assert len(labels._days) == 1 and labels._past.nbytes < 20_000
    after = Labels.restored(labels.arrays())
    assert after.accuracy()["interval"] == pytest.approx(before["interval"])
    assert after.tell(told)["unknown"] == len(told) and after.accuracy()["told"] == before["told"]


def test_late_steps_and_steps_without_a_time_belong_to_the_latest_day() -> None:
    labels = Labels(1000, seed=0)
    for day in (0, 3):
        offered(labels, "d", np.arange(40), [day * DAY] * 40, made_up([0.5] * 40))
    offered(labels, "e", [0, 1, 2], [0.0, np.nan, -1e12], made_up([0.5] * 3))
    assert [row["seq"] for row in labels.pick(3) if row["device"] == "e"] == [0, 1, 2]
    assert labels.pick(-1) == labels.pick(2) == labels.pick(10**6) == [] and labels.whole_day() == 2


def test_what_is_told_is_counted_and_the_last_word_counts() -> None:
    labels = Labels(1000, seed=0)
    for day in range(3):
        offered(labels, "d", np.arange(10) + 10 * day, [day * DAY] * 10, made_up([0.5] * 10))
    rows = labels.pick(1)
    assert labels.accuracy()["estimate"] is None and labels.accuracy()["interval"] == [0, 1]
    assert labels.tell([{**row, "label": 7} for row in rows]) == labels.tell(
        [{**row, "label": 0} for row in rows]
    )
    # Of the first day little is known; the third, without a label, does not count yet.
    found = labels.accuracy()
    assert found["steps"] == 20 and found["told"] == len(rows) == 10 and found["errors_found"] == 0
    assert found["interval"][0] >= 0.5 and found["asked"] == sum(len(labels.pick(day)) for day in range(3))
    odd = [{**rows[0], "label": label} for label in ("x", 3.5, 10**9, None)]
    assert labels.tell([*odd, {"device": [1]}]) == {"told": 0, "unlabeled": 1, "unknown": 1, "bad": 3}
    before = labels.arrays()
    labels.tell([{**rows[0], "label": 1}])
    after = labels.arrays()
    assert {name for name in after if after[name] is not before[name]} == {"numbers", "rows-1"}
    untold = Labels.restored(before)
    untold._days[1].told.popitem()
    assert untold.accuracy()["interval"][0] < found["interval"][0]


def test_a_budget_of_none_asks_nothing_and_another_one_holds_from_the_next_day_on() -> None:
    labels = Labels(0, seed=0)
    offered(labels, "d", np.arange(10), np.zeros(10), made_up([0.5] * 10))
    labels.change(1000)
    for day in (0, 1, 2):
        offered(labels, "d", np.arange(10), [day * DAY] * 10, made_up([0.5] * 10))
    assert labels.pick(0) == [] and len(labels.pick(2)) == 10 and labels.accuracy()["steps"] == 20
    with refused("value"):
        labels.accuracy(0.9, "some")


@pytest.mark.parametrize("streams", [25, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_the_interval_holds_after_every_day_at_once(missing: float, streams: int) -> None:
    missed = 0
    for seed in range(streams):
        rng, labels = np.random.default_rng(seed), Labels(20, seed=seed)
        errors = steps = outside = 0
        found: dict[str, Any] = {"errors_found": 0}
        for day in range(8):
            size = int(rng.integers(100, 1500))
            doubts = rng.random(size) ** 4
            # Wrong where it is sure, while no error was found; else as often as it expects.
            sly = found["errors_found"] < 3
            wrong = rng.random(size) < (0.3 * (doubts < 0.1) if sly else doubts)
            offered(labels, "d", day * 10_000 + np.arange(size), np.full(size, day * DAY), made_up(doubts))
            rows = [
                row for row in labels.pick(day) if rng.random() >= missing * (1 + wrong[row["seq"] % 10_000])
            ]
            labels.tell([{**row, "label": -int(wrong[row["seq"] % 10_000])} for row in rows])
            errors, steps = errors + int(wrong.sum()), steps + size
            found = labels.accuracy(0.9)
            if found["steps"] == steps:
                outside += not found["interval"][0] <= 1 - errors / steps <= found["interval"][1]
        missed += outside > 0
    assert missed <= 0.1 * streams


def test_after_days_of_fewer_steps_a_day_asks_for_its_whole_budget_again() -> None:
    labels = Labels(100)
    for day, size in enumerate([9000, *[900] * 20]):
        before = total(labels)
        offered(labels, "d", np.arange(size), np.full(size, day * DAY), made_up(np.full(size, 0.5)))
        if day == 1:
            assert total(labels) - before < 20, "what was usual is 9000 steps"
    assert total(labels) - before > 70
