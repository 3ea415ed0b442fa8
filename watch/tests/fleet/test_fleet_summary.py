"""What a summary says of a small fleet with devices of all kinds, and of versions side by side."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from fleet_summaries import NOW, played
from scipy.stats import hypergeom

from tcuq import Params
from tcuq.monitor.alarm import Alarm, AlarmSide
from tcuq.monitor.heads import EvidenceHead
from tcuq_watch.engine.events import Events
from tcuq_watch.engine.model_version import ModelVersion
from tcuq_watch.pages.fleet_page import page
from tcuq_watch.verdicts.status import status_text
from tcuq_watch.verdicts.summary import summarize
from tcuq_watch.verdicts.versions import LEVEL, worse_p
from tcuq_watch.verdicts.words import verdict

COUNTS = {"false_alarms": 10, "steps": 1_000_000, "alarm_steps": 100}
NOTES = {"fit": {"run_length": 10_000, "run_length_elsewhere": COUNTS}}
START, PERIOD = 1.7e9, 10.0


EVIDENCE = Params(
    classes=2,
    alarm=Alarm(0.1, AlarmSide(0.05, 2.0)),
    notes=NOTES,
    horizon=64,
    signals=("odds",),
    evidence=EvidenceHead(coef={"odds": 1.0}, offsets=(0.0, 0.0)),
)


def shard(
    names: list[str],
    steps: int,
    alarm: Any = 0,
    version: str = "v1",
    params: Params = EVIDENCE,
    start: float = START,
    **columns: Any,
) -> Any:
    """Return devices that all made the same number of steps."""
    columns = {"risk": 0.25, "expected_accuracy": 0.75, "answer": np.arange(len(names)) % 2, **columns}
    times = [start + PERIOD * step for step in range(steps)]
    made = played(version, names, params, times, alarm=alarm, **columns)
    made.places["missing"] = 2
    return made


def names(count: int, start: int = 0) -> list[str]:
    return [f"d{n}" for n in range(start, start + count)]


def test_a_healthy_and_an_unhealthy_fleet() -> None:
    quiet = summarize([shard(names(300), 20)])
    assert not quiet["alarm"]["unhealthy"] and quiet["alarm"]["p_always"] == 1
    assert quiet["alarm"]["baseline_from"] == "the fit: 10 false alarms in 1,000,000 held-out clean steps"
    loud = summarize([shard(names(300), 20, alarm=np.arange(300) < 30)])
    alarm = loud["alarm"]
    assert alarm["unhealthy"] and (alarm["devices"], alarm["share"]) == (30, 0.1)
    assert alarm["p_always"] < 0.001 and "than chance explains" in verdict(loud)
    low, high = alarm["interval"]
    assert 0.06 < low < 0.1 < high < 0.15
    assert (loud["devices"], loud["steps"], loud["missing"], loud["silent"]) == (300, 6000, 600, 0)
    json.dumps(loud, allow_nan=False)
    # So many devices make the fleet unhealthy, and one less does not.
    for more in (0, 1):
        hit = alarm["unhealthy_from"] - 1 + more
        again = summarize([shard(names(300), 20, alarm=np.arange(300) < hit)])
        assert again["alarm"]["unhealthy"] == bool(more)


def test_the_worst_come_first_and_those_that_are_worse_for_sure_are_named() -> None:
    degradation = np.linspace(-1, 1, 50)
    alarm = np.arange(50) == 49
    found = summarize([shard(names(50), 900, alarm, risk=0.5, degradation=degradation)], worst=3)
    assert [row["device"] for row in found["worst"]] == ["d49", "d48", "d47"]
    first, second = found["worst"][:2]
    assert first["worse"] and first["named"] and first["alarm_since"] == START
    assert not second["worse"] and not second["named"] and second["alarm_since"] is None
    assert found["named"]["devices"] == ["d49"] and found["named"]["count"] == 1
    assert first["degradation"] == 1 and first["mean_risk"] == 0.5


def test_silent_devices_are_counted_listed_and_in_no_share() -> None:
    old = shard(names(3), 100, alarm=1)
    new = shard(names(5, 10), 100, start=START + 86400)
    found = summarize([old, new])
    assert found["time"] == START + 86400 + 99 * PERIOD and found["silent"] == 3
    assert [row["device"] for row in found["silent_devices"]] == ["d0", "d1", "d2"]
    assert found["alarm"]["devices"] == 0 and found["alarm"]["of"] == 5
    listed = [(row["device"], row["silent"]) for row in found["worst"]]
    assert listed[:3] == [(name, True) for name in ("d0", "d1", "d2")] and len(listed) == 8
    assert "none has reported lately" in verdict(summarize([old, new], now=START + 86400 * 30))


def test_a_device_that_moved_to_another_version_is_not_silent() -> None:
    old = shard(names(4), 10)
    new = shard(names(3), 10, version="v2", start=START + 86400)
    found = summarize({"v1": old, "v2": new})
    assert found["devices"] == 4 and found["silent"] == 1 and found["silent_devices"][0]["device"] == "d3"
    assert [(v["version"], v["silent"]) for v in found["versions"]] == [("v1", 1), ("v2", 0)]
    assert found["alarm"]["of"] == 3 and found["versions"][0]["alarm"]["of"] == 0
    assert found["versions"][1]["expected_accuracy"] == 0.75


def test_shards_of_a_version_are_one() -> None:
    alarm = np.arange(60) % 20 == 0
    whole = summarize([shard(names(60), 30, alarm)])
    parts = [shard(names(20, 20 * k), 30, alarm[:20]) for k in range(3)]
    assert summarize(parts) == whole


def test_a_period_of_this_fleet_as_the_baseline() -> None:
    model = shard(names(100), 1000, alarm=np.arange(100) < 10)
    assert summarize([model])["alarm"]["unhealthy"]
    own = summarize([model], baseline=(START - 7200, START + 7200))["alarm"]
    assert not own["unhealthy"] and own["baseline"] > 0.1 and "declared healthy" in own["baseline_from"]


def test_events_that_are_held_are_heard_of() -> None:
    model = ModelVersion("v1", Params(classes=2), hold=8)
    probs = [[0.5, 0.5]]
    for seq in range(5):
        model.take(Events(["a", "b"], [0, 0], [seq, seq], probs * 2, times=[START + 60.0 * seq] * 2))
    for seq in range(6, 11):  # one is missing, so that these wait
        model.take(Events(["a"], [0], [seq], probs, times=[START + 1000.0 * seq]))
    found = summarize([model], worst=5)
    assert (found["time"], found["held"], found["silent"]) == (START + 10_000.0, 5, 1)
    assert [row["device"] for row in found["silent_devices"]] == ["b"]
    assert [(row["device"], row["last_time"]) for row in found["worst"]] == [
        ("b", START + 240.0),
        ("a", START + 10_000.0),
    ]


def test_every_device_in_alarm_or_silent_is_listed_whatever_statistics_say() -> None:
    """Too many alarms for one of them to stand out: all are listed, and a click or --json shows each."""
    alarm = np.arange(300) < 62
    counts = {"false_alarms": 40, "steps": 10_000, "alarm_steps": 250}
    params = EVIDENCE.replace(notes={"fit": {"run_length": 250, "run_length_elsewhere": counts}})
    fleet = [shard(names(300), 20, alarm, params=params, start=START + 86400)]
    fleet.append(shard(names(2, 900), 20, params=params))
    found = summarize(fleet, worst=20)
    assert found["alarm"]["unhealthy"] and found["named"]["count"] == 0 and found["need"] == 64
    listed = [row["device"] for row in found["worst"]]
    assert listed[:2] == ["d900", "d901"] and sorted(listed[2:]) == sorted(names(62))
    said, shown = " ".join(status_text(found).split()), page(found)[0].replace("\u00a0", " ")
    for text in (said, shown):
        assert "64 devices need you: 62 on hold, 2 silent; 238 fine." in text
        assert "likely degraded" in text and "by chance 8 would be on hold" in text
        assert "None" not in text and "No device is named" not in text and "SILENT" in text
    assert "54 more need you" in said and "Show 44 more that need you" in shown
    assert all(f'<span class="device">{name}</span>' in shown for name in listed)


def test_too_little_clean_data_is_said_in_words() -> None:
    """One false alarm in the fit bounds nothing: no page says that 100 % may be in alarm when clean."""
    counts = {"false_alarms": 1, "steps": 2500, "alarm_steps": 32}
    params = EVIDENCE.replace(notes={"fit": {"run_length": 1000, "run_length_elsewhere": counts}})
    for alarm, needed in (
        (np.arange(6) == 3, "1 device needs you: 1 on hold; 5 fine."),
        (0, "No device needs you"),
    ):
        found = summarize([shard(names(6), 100, alarm, params=params)])
        said, shown = " ".join(status_text(found).split()), page(found)[0].replace("\u00a0", " ")
        for text in (said, shown):
            assert needed in text and "Too little clean data to compare alarms" in text
            assert "100.0 %" not in text and "--healthy" in text
        assert ("not compared" in text) == bool(np.any(alarm))
        assert ("hot" in shown.split("</style>")[1]) == bool(np.any(alarm))
        assert "clean baseline" not in shown


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


def hourly(version: str, devices: int, alarmed: int, first: int, last: int) -> Any:
    """Devices that send a step an hour; so many of them are in alarm."""
    names, times = [f"{version}-{n}" for n in range(devices)], NOW + 3600.0 * np.arange(first, last)
    return played(version, names, Params(classes=2), times, alarm=np.arange(devices) < alarmed)


def test_the_verdict_is_told_everywhere() -> None:
    old, same, bad = hourly("v1", 200, 2, 0, 12), hourly("v2", 200, 3, 4, 12), hourly("v3", 100, 40, 6, 12)
    summary = summarize([old, same, bad])
    second, third = summary["rollouts"]
    assert (second["before"], second["worse"], third["before"], third["worse"]) == ("v1", False, "v2", True)
    assert (third["in_alarm"], third["devices"], third["in_alarm_before"]) == (40, 100, 3)
    assert third["p_always"] < 1e-9 and "v3 is worse than v2" in verdict(summary)
    for shown in (page(summary)[0].replace("\u00a0", " "), " ".join(status_text(summary).split())):
        assert "v2 is not shown to be worse than v1" in shown and "v3 is worse than v2" in shown
    # Neither one version alone nor two that never sent at the same time can be compared.
    assert summarize([old])["rollouts"] == []
    [apart] = summarize([old, hourly("v2", 50, 50, 40, 44)])["rollouts"]
    assert not apart["worse"] and apart["time"] is None
    [begun] = summarize([old, hourly("v2", 50, 50, 11, 12)])["rollouts"]
    assert not begun["worse"] and begun["time"] is None, "the only hour of both is not over"


def test_versions_with_buckets_of_other_widths_are_compared() -> None:
    long, short = hourly("v1", 20, 0, 0, 600), hourly("v2", 20, 15, 590, 600)
    assert long.tallies.width > short.tallies.width
    [compared] = summarize([long, short])["rollouts"]
    assert compared["width"] == long.tallies.width and compared["worse"]
