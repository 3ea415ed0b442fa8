"""Rules that switch an alarm on and off: against plain loops, and on made shifts."""

import numpy as np
import pytest

from tcuq_lab.detectors.switches import adwin, capped, page_hinkley


def rises(runs: int = 3, seed: int = 0) -> np.ndarray:
    """Standard scores that rise by two deviations between steps 400 and 700."""
    x = np.random.default_rng(seed).normal(size=(runs, 1000))
    x[:, 400:700] += 2.0
    return x


def plain_sum(added: np.ndarray, limit: float) -> list[bool]:
    total, on, out = 0, False, []
    for x in added.tolist():
        total = min(max(0, total + x), limit)
        on = total >= limit or (on and total > 0)
        out.append(on)
    return out


@pytest.mark.parametrize("whole", [False, True])
def test_a_capped_sum_is_the_plain_recursion(whole: bool) -> None:
    rng = np.random.default_rng(1)
    added = rng.normal(-0.2, 1.0, (3, 400))
    if whole:
        added = np.round(1000 * added).astype(np.int64)
    limits = np.array([1.0, 2.5, 5.0]) * (1000 if whole else 1)
    found = capped(added, limits)
    for number, limit in enumerate(limits.tolist()):
        for run in range(3):
            assert found[number, run].tolist() == plain_sum(added[run], limit)
    assert found[0].sum() > found[1].sum() > found[2].sum() > 0


def shares(on: np.ndarray) -> tuple[float, float, float]:
    return float(on[:, :400].mean()), float(on[:, 500:700].mean()), float(on[:, 850:].mean())


def test_page_hinkley_is_on_in_the_shift_and_off_after_it() -> None:
    before, inside, after = shares(page_hinkley(rises(), np.array([30.0]), 0.25)[0])
    assert before == 0 and inside == 1 and after == 0


@pytest.mark.parametrize("clock", [8, 32])
def test_adwin_is_on_in_the_shift_and_off_after_it(clock: int) -> None:
    rng = np.random.default_rng(2)
    x = rng.uniform(0, 0.3, (3, 1000))
    x[:, 400:700] += 0.5
    clean = rng.uniform(0, 0.3, 320)
    before, inside, after = shares(adwin(x, np.array([np.log(1 / 0.002)]), clock, 8, clean)[0])
    assert before == 0 and inside == 1 and after == 0
