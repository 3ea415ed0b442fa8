"""Moving code moves no figure: what experiments give on stored outputs, beside what they gave before."""

from __future__ import annotations

import numpy as np
import pins
import pytest

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", list(pins.PINS))
def test_figures_are_those_of_before(name: str) -> None:
    before, found = (
        {key: values for key, values in each.items() if not np.isnan(values[0])}
        for each in (pins.stored(name), pins.PINS[name]())
    )
    assert set(found) == set(before), (list(set(found) - set(before))[:5], list(set(before) - set(found))[:5])
    apart = [
        (key, values, before[key])
        for key, values in found.items()
        if not np.allclose(values, before[key], rtol=2e-6, atol=1e-7, equal_nan=True)
    ]
    assert not apart, f"{len(apart)} of {len(found)} differ: {apart[:3]}"
