"""Streams of one network: what development and test have in common, and what not."""

from __future__ import annotations

import numpy as np
import pytest

from tcuq_lab.corruptions.suite import BESIDE
from tcuq_lab.harness.laws import (
    BACKBONES,
    DAY_NIGHT,
    FAMILY,
    FITS,
    LABEL_SHIFT,
    MIXED_CLEAN_DEV,
    MIXED_DEV,
    MOSTLY_CLEAN,
    RECORDED,
    SMALL,
    UnitPlan,
    fits_of,
)
from tcuq_lab.streams import Changing, Description, Recorded, build

pytestmark = pytest.mark.slow


def paces(plan: UnitPlan, role: str) -> set[Changing]:
    dwells = [each.dwell for each in plan.stretches(role)]
    assert all(isinstance(each, Changing) for each in dwells)
    return {each for each in dwells if isinstance(each, Changing)}


@pytest.mark.parametrize("task", BACKBONES)
def test_the_changing_pace_of_test_streams_is_not_that_of_development(task: str) -> None:
    plan = UnitPlan(task, 0)
    (dev,), (test,) = paces(plan, "dev"), paces(plan, "test changing pace")
    assert not set(dev.means) & set(test.means) and dev.length != test.length
    assert paces(plan, "law changing pace") == {test}  # a fit that is told has the law of the test
    assert paces(plan, "clean dev") == paces(plan, "clean test") == {dev}


@pytest.mark.parametrize("task", BACKBONES)
def test_a_fit_that_is_not_told_has_the_law_of_no_test_stream(task: str) -> None:
    plan = UnitPlan(task, 0)

    def law(one: Description) -> tuple[object, ...]:
        return one.dwell, one.held, one.sliding

    (untold,) = {plan.fitted_on(name, FITS[1]) for name in plan.laws}
    fitted = law(plan.stretches(untold)[0])
    assert all(law(plan.stretches(f"test {name}")[0]) != fitted for name in plan.laws)


@pytest.mark.parametrize("task", [*BACKBONES, *SMALL])
def test_mixed_streams_are_fitted_to_other_types_and_meet_faults(task: str) -> None:
    plan = UnitPlan(task, 0)
    roles = (MIXED_DEV, MIXED_CLEAN_DEV, *(f"test {law}" for law in FAMILY))
    assert len({each.seed for role in roles for each in plan.stretches(role)}) == 2 * 5 + 6 * 8 + 3 * 6
    dev, test = (
        {shift.kind for shift in plan.stretches(role)[0].shifts} for role in (MIXED_DEV, "test mixed")
    )
    assert dev and not dev & test and set(BESIDE) < test
    assert {plan.fitted_on(law, FITS[0]) for law in FAMILY} == {MIXED_DEV}


def test_label_shift_changes_the_shares_of_classes_and_nothing_else() -> None:
    labels = np.arange(2000) % 10
    for each in UnitPlan("cifar10", 0).stretches(f"test {LABEL_SHIFT}"):
        stream = build(each, labels)
        assert not stream.shift.any()
        shares = [
            np.bincount(stream.label[at : at + 1000], minlength=10) / 1000 for at in range(0, 4000, 1000)
        ]
        assert all(np.sort(share)[-2:].sum() > 0.5 and (share < 0.01).sum() >= 2 for share in shares)
        assert max(np.abs(shares[0] - share).max() for share in shares) > 0.2


def test_mostly_clean_streams_are_shifted_for_a_twentieth_of_the_time() -> None:
    plan, labels = UnitPlan("cifar10", 0), np.arange(2000) % 10
    found = [(build(each, labels).shift > 0).mean() for each in plan.stretches(f"test {MOSTLY_CLEAN}")]
    assert 0.01 < np.mean(found) < 0.05


def test_day_and_night_is_one_shift_that_comes_and_goes_slowly() -> None:
    plan, labels = UnitPlan("cifar10", 0), np.arange(2000) % 10
    stretches = plan.stretches(f"test {DAY_NIGHT}")
    assert len({each.shifts[0].kind for each in stretches}) == 6
    for each in stretches:
        stream = build(each, labels)
        assert len(stream.change_points()) >= 2 and set(stream.shift.tolist()) == {0, 1}
        levels = [span.source for span in stream.spans()][1:10]
        assert levels == levels[::-1] and len(set(levels)) == 5


@pytest.mark.parametrize("task", RECORDED)
def test_recordings_are_shown_in_their_own_order(task: str) -> None:
    plan, labels = UnitPlan(task, 0), np.repeat(np.arange(300) % 5, 20)
    assert fits_of(plan.laws[0]) == ("untold",) and plan.fitted_on(plan.laws[0], "untold") == "dev"
    for role in ("dev", "clean dev", "test recording", "clean test"):
        for each in plan.stretches(role):
            assert each.dwell == Recorded() and each.part == ("dev" if "dev" in role else "test")
        stream = build(plan.stretches(role)[0], labels)
        starts = np.flatnonzero(np.diff(stream.index) != 1) + 1
        assert (stream.index[starts] % 20 == 0).all()  # runs are whole
        assert stream.shift.any() == ("clean" not in role)
    seen, shown = (
        {shift.kind for shift in plan.stretches(role)[0].shifts} for role in ("dev", "test recording")
    )
    assert seen and not seen & shown and "frozen" not in shown
