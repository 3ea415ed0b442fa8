"""Streams of one network: what development and test have in common, and what not."""

from __future__ import annotations

import pytest

from tcuq_lab.corruptions.suite import BESIDE
from tcuq_lab.reproduce.field.plan import (
    BACKBONES,
    FAMILY,
    FITS,
    MIXED_CLEAN_DEV,
    MIXED_DEV,
    NETWORKS,
    SHORT_SHIFTS,
    UnitPlan,
)
from tcuq_lab.streams import Changing, Description, Segments, Stationary


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


def test_new_streams_leave_the_seeds_of_old_ones() -> None:
    """Or nothing that was recorded could be used again."""
    plan = UnitPlan("cifar10", 2)
    found = [plan.stretches(role)[1].seed for role in ("dev", "test object 16", "clean test", "type fog")]
    assert found == [1_020_001, 1_021_001, 1_021_601, 1_022_601]


@pytest.mark.parametrize("task", NETWORKS)
def test_mixed_streams_are_one_family(task: str) -> None:
    plan, sound = UnitPlan(task, 0), task == "speech_commands"
    roles = (MIXED_DEV, MIXED_CLEAN_DEV, *(f"test {law}" for law in FAMILY))
    streams = {role: plan.stretches(role)[0] for role in roles}
    assert len({each.seed for role in roles for each in plan.stretches(role)}) == 2 * 5 + 6 * 8
    for role, each in streams.items():
        assert (each.sliding is not None) == sound and (
            sound or (each.held is not None and each.held.share == 0.5)
        )
        assert each.part == ("test" if role.startswith("test") else "dev")
        still = "clean" in role
        assert isinstance(each.layout, Stationary if still else Segments)
        if isinstance(each.layout, Segments):
            short = role == f"test {SHORT_SHIFTS}"
            assert each.layout.shifted == ((30, 100) if short else (600, 1100))
            assert (each.layout.gradual == 0.5) == (not short and "mnist" not in task)
    kinds = {role: {shift.kind for shift in each.shifts} for role, each in streams.items()}
    assert kinds[MIXED_DEV] and not kinds[MIXED_DEV] & kinds["test mixed"]
    assert set(BESIDE) < kinds["test mixed"] and not set(BESIDE) & kinds[MIXED_DEV]
    assert {plan.fitted_on(law, FITS[0]) for law in FAMILY} == {MIXED_DEV}
