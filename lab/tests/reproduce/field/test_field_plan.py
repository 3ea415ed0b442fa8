"""Streams of one network: what development and test have in common, and what not."""

from __future__ import annotations

import pytest

from tcuq_lab.reproduce.field.plan import BACKBONES, FITS, UnitPlan
from tcuq_lab.streams import Changing, Description


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
