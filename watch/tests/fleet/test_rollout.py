"""Versions side by side: the error rate holds over all looks, and a version that fails is found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fleet_summaries import NOW, played
from scipy.stats import hypergeom

from tcuq import Params
from tcuq_watch.pages.fleet_page import page
from tcuq_watch.verdicts.status import status_text
from tcuq_watch.verdicts.summary import summarize
from tcuq_watch.verdicts.versions import LEVEL, worse_p
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
        new, hits, old, others = counts = hours(rng, 40, 40, 120, 0.0)
        naive += hypergeom.sf(hits - 1, new + old, hits + others, new).min() <= LEVEL
        called += worse_p(*counts).min() <= LEVEL
    # Who looks every hour without a correction errs far more often.
    assert called / 200 <= LEVEL < naive / 200


@pytest.mark.parametrize(("old", "new", "bad"), [(1000, 60, 0.4), (2000, 2000, 0.08)])
def test_a_version_that_fails_is_found(old: int, new: int, bad: float) -> None:
    rng = np.random.default_rng(1)
    found = [worse_p(*hours(rng, old, new, 72, bad)).min() <= LEVEL for _ in range(20)]
    assert np.mean(found) >= 0.9


def shard(version: str, devices: int, alarmed: int, first: int, last: int) -> Any:
    """Devices that send a step an hour; so many of them are in alarm."""
    names, times = [f"{version}-{n}" for n in range(devices)], NOW + 3600.0 * np.arange(first, last)
    return played(version, names, Params(classes=2), times, alarm=np.arange(devices) < alarmed)


def test_the_verdict_is_told_everywhere() -> None:
    old, same, bad = shard("v1", 200, 2, 0, 12), shard("v2", 200, 3, 4, 12), shard("v3", 100, 40, 6, 12)
    summary = summarize([old, same, bad])
    second, third = summary["rollouts"]
    assert (second["before"], second["worse"], third["before"], third["worse"]) == ("v1", False, "v2", True)
    assert (third["in_alarm"], third["devices"], third["in_alarm_before"]) == (40, 100, 3)
    assert third["p_always"] < 1e-9 and "v3 is worse than v2" in verdict(summary)
    for shown in (page(summary)[0].replace("\u00a0", " "), " ".join(status_text(summary).split())):
        assert "v2 is not shown to be worse than v1" in shown and "v3 is worse than v2" in shown
    # Neither one version alone nor two that never sent at the same time can be compared.
    assert summarize([old])["rollouts"] == []
    [apart] = summarize([old, shard("v2", 50, 50, 40, 44)])["rollouts"]
    assert not apart["worse"] and apart["time"] is None


def test_versions_with_buckets_of_other_widths_are_compared() -> None:
    long, short = shard("v1", 20, 0, 0, 600), shard("v2", 20, 15, 590, 600)
    assert long.tallies.width > short.tallies.width
    [compared] = summarize([long, short])["rollouts"]
    assert compared["width"] == long.tallies.width and compared["worse"]
