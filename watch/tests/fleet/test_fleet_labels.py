"""The budget against any sequence, the choice against sorting everything, the interval against the truth."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tcuq.base.step_hashes import device_keys, mixed, step_hashes
from tcuq.monitor.steps import STEP_DTYPE
from tcuq_watch.fleet.label_accuracy import accuracy_of
from tcuq_watch.fleet.labels import KEPT, MOST_OPEN, Labels

DAY = 86400.0


def made_up(risks: npt.ArrayLike) -> npt.NDArray[Any]:
    steps = np.zeros(len(np.atleast_1d(risks)), dtype=STEP_DTYPE)
    steps["risk"] = risks
    return steps


def offered(labels: Labels, device: str, seqs: Any, times: Any, risks: Any, **more: Any) -> None:
    places = np.asarray(seqs, dtype=np.int64)
    count = len(places)
    names = np.full(count, device, dtype=object)
    labels.offer(
        "v", names, np.zeros(count, np.int64), places, np.asarray(times, float), made_up(risks), **more
    )


def day_of(rng: np.random.Generator, count: int) -> tuple[Any, Any]:
    """Return names and risks, with many ties, of one day."""
    return rng.integers(0, 20, count), rng.integers(0, 40, count) / 64


def test_the_choice_is_that_of_sorting_everything_in_any_order_and_batches() -> None:
    rng = np.random.default_rng(0)
    devices, risks = day_of(rng, 3000)
    names, seqs = np.array([f"d{n}" for n in devices], dtype=object), np.arange(3000)
    zero, steps = np.zeros(3000, np.int64), made_up(risks)
    hashes = step_hashes(5, device_keys("v", names.tolist()), zero, seqs)
    ranked = sorted(range(3000), key=lambda n: (-risks[n], int(mixed(~hashes[n : n + 1])[0])))
    drawn = sorted(ranked[32:], key=lambda n: int(hashes[n]))[:8]
    chosen = None
    for order in (np.arange(3000), rng.permutation(3000)):
        labels = Labels(40, 0.2, seed=5)
        for part in np.array_split(order, 7):
            labels.offer("v", names[part], zero[part], seqs[part], np.full(len(part), DAY), steps[part])
            labels = Labels.restored(labels.arrays())
        rows = labels.pick(1)
        assert {row["seq"] for row in rows if row["part"] == "risk"} == set(ranked[:32])
        assert {row["seq"] for row in rows if row["part"] == "random"} == set(drawn)
        assert chosen is None or rows == chosen
        chosen = rows


def test_the_random_part_is_a_simple_random_sample_of_the_rest() -> None:
    # Among 12 steps of equal risk, 4 are asked for their risk and 3 at random: every other one equally often.
    counts = np.zeros((2, 12))
    rounds = 1000
    for seed in range(rounds):
        labels = Labels(7, 3 / 7, seed=seed)
        offered(labels, "d", np.arange(12), np.zeros(12), np.full(12, 0.5))
        for row in labels.pick(0):
            counts[int(row["part"] == "random"), row["seq"]] += 1
    for part, share in ((0, 4 / 12), (1, 3 / 12)):
        deviation = (counts[part] - rounds * share) / math.sqrt(rounds * share * (1 - share))
        assert np.abs(deviation).max() < 4, deviation


class Budget(RuleBasedStateMachine):
    """Offers, picks, tells, restarts and changes of the budget with clocks of all kinds."""

    def __init__(self) -> None:
        super().__init__()
        self.labels = Labels(5, 0.4)
        self.limit: dict[int, int] = {}
        self.asked: dict[int, list[dict[str, Any]]] = {}
        self.seq = self.offered = 0

    @rule(
        times=st.lists(
            st.one_of(
                st.integers(0, 90).map(lambda d: d * DAY + 5),
                st.floats(allow_nan=True, allow_infinity=True),
                st.sampled_from([-1e9, 1e12]),
            ),
            max_size=12,
        ),
        risks=st.lists(st.integers(0, 4), min_size=12, max_size=12),
    )
    def offer(self, times: list[float], risks: list[int]) -> None:
        seqs = self.seq + np.arange(len(times))
        self.seq += len(times)
        offered(self.labels, "d", seqs, times, np.array(risks[: len(times)]) / 8)
        self.offered += len(times) if self.labels.per_day else 0

    @rule(day=st.integers(-3, 95))
    def pick(self, day: int) -> None:
        before = self.asked.get(day)
        try:
            rows = self.labels.pick(day)
        except ValueError as error:
            assert before is None and "the day of the last step" in str(error)
            return
        if before is not None:
            assert rows == before
        elif rows:
            self.asked[day] = rows
            self.limit[day] = 5  # the most that any budget here allows
        assert len(rows) <= 5

    @rule(day=st.integers(-3, 95), label=st.sampled_from([0, 1, -1, None, "x", 3.5, 10**9]))
    def tell(self, day: int, label: Any) -> None:
        rows = self.asked.get(day, [])
        found = self.labels.tell([{**row, "label": label} for row in rows] + [{"device": [1]}])
        assert sum(found.values()) == len(rows) + 1 and found["unknown"] >= 1

    @rule(per_day=st.integers(0, 5), share=st.sampled_from([0, 0.3, 1]))
    def change(self, per_day: int, share: float) -> None:
        self.labels.change(per_day, share)

    @rule()
    def restart(self) -> None:
        self.labels = Labels.restored({name: values.copy() for name, values in self.labels.arrays().items()})

    @invariant()
    def never_more_and_never_twice(self) -> None:
        names = [(row["device"], row["seq"]) for rows in self.asked.values() for row in rows]
        assert len(names) == len(set(names)) <= sum(self.limit.values())
        counts = self.labels.counts()
        assert (counts[:, 2] + counts[:, 5] <= 5).all()
        assert (counts[:, 2] + counts[:, 5] <= counts[:, 1]).all()
        low, high = self.labels.accuracy()["interval"]
        assert 0 <= low <= high <= 1
        # Every step that was offered is covered by a pick, or waits for one.
        assert counts[:, 1].sum() + self.labels.summary()["waiting"] == self.offered
        assert len(self.labels._open) <= MOST_OPEN


Budget.TestCase.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
TestBudget = Budget.TestCase


def test_late_steps_and_steps_without_a_time_wait_for_the_next_pick() -> None:
    labels = Labels(4, 0.5)
    offered(labels, "d", [0, 1], [0.0, 1.0], [0.1, 0.2])
    assert labels.pick(-1) == [] and len(labels.pick(0)) == 2 and labels.pick(-1) == []
    offered(labels, "d", [2, 3, 4], [0.0, np.nan, 2 * DAY], [0.1, 0.2, 0.3])
    assert len(labels.pick(0)) == 2 and {row["seq"] for row in labels.pick(1)} == {2, 3}
    assert [row["seq"] for row in labels.pick(2)] == [4]


def test_a_pick_of_days_far_ahead_is_refused_instead_of_closing_them_all() -> None:
    labels = Labels(4, 0.5)
    assert labels.pick(10**6) == []
    offered(labels, "d", [0], [DAY], [0.5])
    with pytest.raises(ValueError, match="day is 1000000, expected up to 1, the day of the last step"):
        labels.pick(10**6)
    assert len(labels.pick(1)) == 1


def test_old_picks_are_counted_but_can_no_longer_be_told() -> None:
    labels = Labels(2, 0.5)
    first = []
    for day in range(KEPT + 5):
        offered(labels, "d", [3 * day, 3 * day + 1, 3 * day + 2], [day * DAY] * 3, [0.1, 0.2, 0.3])
        rows = labels.pick(day)
        first = first or rows
        labels.tell([{**row, "label": 0} for row in rows])
    again = Labels.restored(labels.arrays())
    assert again.tell([{**row, "label": 1} for row in first])["unknown"] == 2
    assert len(again.counts()) == KEPT + 5 and again.accuracy()["steps"] == 3 * (KEPT + 5)
    assert again.accuracy() == labels.accuracy() and again.accuracy()["errors_found"] == 0


def test_arrays_that_did_not_change_are_the_same_objects() -> None:
    labels = Labels(2, 0.5)
    offered(labels, "d", [0, 1], [0.0, 1.0], [0.1, 0.2])
    before = labels.arrays()
    assert all(labels.arrays()[name] is before[name] for name in before)
    offered(labels, "d", [2], [2.0], [0.3])
    after = labels.arrays()
    assert after["asked"] is before["asked"] and after["open"] is not before["open"]
    rows = labels.pick(0)
    asked = labels.arrays()["asked"]
    labels.tell([{**row, "label": 0} for row in rows])
    assert labels.arrays()["asked"] is not asked


def test_keys_may_be_given_and_names_may_be_anything() -> None:
    names = ["plain", "Grüße", "\udcff", ""]
    for seed in (0, 9):
        one, two = Labels(2, 0.5, seed), Labels(2, 0.5, seed)
        for name in names:
            keys = device_keys("v", [name] * 5)
            offered(one, name, np.arange(5), np.zeros(5), np.zeros(5))
            offered(two, name, np.arange(5), np.zeros(5), np.zeros(5), keys=keys)
        assert Labels.restored(one.arrays()).pick(0) == two.pick(0)


def test_nothing_is_asked_without_a_budget_and_all_where_there_is_enough() -> None:
    nothing, everything = Labels(0), Labels(100, 0.2)
    for labels in (nothing, everything):
        offered(labels, "d", np.arange(10), np.zeros(10), np.arange(10) / 16)
    assert nothing.pick(0) == [] and nothing.accuracy()["interval"] == [0.0, 1.0]
    rows = everything.pick(0)
    everything.tell([{**row, "label": row["seq"] % 2} for row in rows])
    assert everything.accuracy()["interval"] == [0.5, 0.5] and everything.accuracy()["estimate"] == 0.5
    with pytest.raises(ValueError, match="per_day is -1, expected 0 to 100000"):
        Labels(-1)
    with pytest.raises(ValueError, match="random_share is 2, expected 0 to 1"):
        Labels(1, 2)
    with pytest.raises(ValueError, match="level is 1, expected above 0 and below 1"):
        everything.accuracy(1.0)


def test_labels_that_never_come_back_widen_the_interval_to_both_cases() -> None:
    def interval(told: int, drawn_told: int) -> list[float]:
        return list(accuracy_of(np.array([[0, 1000, 80, told, 10, 20, drawn_told, 0]]), 0.95)["interval"])

    full, risk_missing, random_missing = interval(80, 20), interval(60, 20), interval(80, 15)
    assert risk_missing[0] == pytest.approx(full[0] - 0.02) and risk_missing[1] == full[1]
    assert random_missing[0] < full[0] and random_missing[1] == full[1]
    assert accuracy_of(np.array([[0, 1000, 80, 80, 10, 20, 0, 0]]), 0.95)["estimate"] is None


@pytest.mark.parametrize(
    ("missing", "days"),
    [(0.0, 60), (0.2, 30), *(pytest.param(m, 1000, marks=pytest.mark.slow) for m in (0.0, 0.2))],
)
def test_the_interval_covers_the_accuracy_of_a_day_and_of_many(missing: float, days: int) -> None:
    rng = np.random.default_rng(7)
    table, truth, inside = [], [], 0
    for day in range(days):
        size = int(rng.integers(300, 900))
        risks = rng.random(size) ** 2 * 0.99
        wrong = rng.random(size) < 0.4 * risks**2
        labels = Labels(40, 0.4, seed=day)
        offered(labels, "d", np.arange(size), np.zeros(size), risks)
        rows = [row for row in labels.pick(0) if rng.random() >= missing * (1 + wrong[row["seq"]])]
        labels.tell([{**row, "label": -int(wrong[row["seq"]])} for row in rows])
        low, high = labels.accuracy(0.9)["interval"]
        inside += low <= 1 - wrong.mean() <= high
        table.append(labels.counts()[0])
        truth.append((int(wrong.sum()), size))
    assert inside / days >= 0.9 - 0.9 / days**0.5  # three standard deviations
    together = 0
    for _ in range(2 * days):
        some = rng.integers(0, days, 10)
        low, high = accuracy_of(np.array([table[n] for n in some]), 0.9)["interval"]
        together += low <= 1 - sum(truth[n][0] for n in some) / sum(truth[n][1] for n in some) <= high
    assert together / days / 2 >= 0.9 - 0.9 / days**0.5
