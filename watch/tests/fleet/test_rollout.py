"""Versions side by side: the error rate holds over all looks, and a version that fails is found."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from fleet_shards import PLACE, Shard
from fleet_summaries import NOW

from tcuq import Params
from tcuq.monitor.steps import STEP_DTYPE
from tcuq_watch.engine.tallies import Tallies
from tcuq_watch.pages.fleet_page import page
from tcuq_watch.verdicts.metrics import metrics_text
from tcuq_watch.verdicts.rollout import LEVEL, hypergeometric_tail, worse_p
from tcuq_watch.verdicts.status import status_text
from tcuq_watch.verdicts.summary import summarize
from tcuq_watch.verdicts.words import verdict


def hours(rng: np.random.Generator, old: int, new: int, parts: int, bad: float) -> Any:
    """Counts of a rollout: devices differ, alarms last for hours, and a share of the new ones fails."""
    count = old + new
    often, mine = rng.gamma(0.5, 0.02, count), rng.permutation(count) < new
    begins = np.where(mine, rng.integers(0, parts // 3, count), 0)
    often[mine & (rng.random(count) < bad)] = 0.5
    alarm, rows = np.zeros(count, dtype=bool), []
    for hour in range(parts):
        heard = hour >= begins
        alarm = heard & ((alarm & (rng.random(count) > 0.2)) | (rng.random(count) < often))
        rows.append([(each & group).sum() for group in (mine, ~mine) for each in (heard, alarm)])
    return np.array(rows).T


def test_equal_versions_are_seldom_called_worse_however_often_one_looks() -> None:
    rng, naive, called = np.random.default_rng(0), 0, 0
    for _ in range(200):
        counts = hours(rng, 40, 40, 120, 0.0)
        single = [hypergeometric_tail(b, n, a + b, n + m) for n, b, m, a in counts.T.tolist()]
        naive += min(single) <= LEVEL
        called += worse_p(*counts).min() <= LEVEL
    assert (
        called / 200 <= LEVEL < naive / 200
    )  # who looks every hour without a correction errs far more often


@pytest.mark.parametrize(("old", "new", "bad"), [(100, 100, 0.4), (1000, 60, 0.4), (2000, 2000, 0.08)])
def test_a_version_that_fails_is_found(old: int, new: int, bad: float) -> None:
    rng = np.random.default_rng(1)
    found = [worse_p(*hours(rng, old, new, 72, bad)).min() <= LEVEL for _ in range(20)]
    assert np.mean(found) >= 0.9


def test_the_tail_is_that_of_all_draws() -> None:
    marked = {0, 1, 2}
    draws = [len(marked & set(drawn)) for drawn in combinations(range(8), 4)]
    for hits in (2, 3):
        share = sum(each >= hits for each in draws) / len(draws)
        assert hypergeometric_tail(hits, 4, 3, 8) == pytest.approx(share, rel=1e-12)
    assert hypergeometric_tail(1, 4, 3, 8) == 1.0  # no more than expected
    assert 0.4 < hypergeometric_tail(50_001, 500_000, 100_000, 1_000_000) < 0.5
    assert hypergeometric_tail(60_000, 500_000, 100_000, 1_000_000) < 1e-100


def shard(version: str, devices: int, alarmed: int, first: int, last: int) -> Shard:
    """Devices that send a step an hour; so many of them are in alarm."""
    tallies = Tallies(Params(classes=2))
    tallies.grow(devices)
    times = np.repeat(NOW + 3600.0 * np.arange(first, last), devices)
    slots = np.tile(np.arange(devices), last - first)
    steps = np.zeros(len(times), dtype=STEP_DTYPE)
    steps["alarm"] = slots < alarmed
    tallies.update(slots, times, steps)
    return Shard(version, [f"{version}-{n}" for n in range(devices)], tallies, np.zeros(devices, PLACE))


def test_the_verdict_is_told_everywhere() -> None:
    old, same, bad = shard("v1", 200, 2, 0, 12), shard("v2", 200, 3, 4, 12), shard("v3", 100, 40, 6, 12)
    found = summarize([old, same, bad])
    told = {each["version"]: each for each in found["rollouts"]}
    assert [each["before"] for each in told.values()] == ["v1", "v2"]
    assert not told["v2"]["worse"] and told["v3"]["worse"] and told["v3"]["p_always"] < 1e-9
    assert (told["v3"]["in_alarm"], told["v3"]["devices"], told["v3"]["in_alarm_before"]) == (40, 100, 3)
    assert verdict(found).startswith("Version v3 is worse than v2: ") and "at most 5" in verdict(found)
    html, text = page(found)[0], " ".join(status_text(found).split())
    for each in (html.replace("\u00a0", " "), text):
        assert "v2 is not shown to be worse than v1" in each and "v3 is worse than v2" in each
    assert 'tcuq_fleet_version_worse{version="v3"} 1' in metrics_text(found)
    # Neither one version alone nor two that never sent at the same time can be compared.
    assert summarize([old])["rollouts"] == []
    apart = summarize([old, shard("v2", 50, 50, 40, 44)])
    assert not apart["rollouts"][0]["worse"] and apart["rollouts"][0]["time"] is None
    assert "cannot be compared yet" in page(apart)[0]


def test_versions_with_buckets_of_other_widths_are_compared() -> None:
    long, short = shard("v1", 20, 0, 0, 600), shard("v2", 20, 15, 590, 600)
    assert long.tallies.width > short.tallies.width
    [found] = summarize([long, short])["rollouts"]
    assert found["width"] == long.tallies.width and found["worse"]
