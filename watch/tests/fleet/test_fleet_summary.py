"""What a summary says of a small fleet with devices of all kinds."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
from fleet_shards import PLACE, Shard

from tcuq import Params
from tcuq.monitor.alarm import Alarm, AlarmSide
from tcuq.monitor.evidence_head import EvidenceHead
from tcuq.monitor.steps import STEP_DTYPE
from tcuq_watch.engine.events import Events
from tcuq_watch.engine.model_version import ModelVersion
from tcuq_watch.engine.tallies import Tallies
from tcuq_watch.verdicts.summary import FINE, WORSE, summarize
from tcuq_watch.verdicts.words import verdict

COUNTS = {"false_alarms": 10, "steps": 1_000_000, "alarm_steps": 100}
NOTES = {"fit": {"run_length": 10_000, "run_length_elsewhere": COUNTS}}
START, PERIOD = 1.7e9, 10.0


def monitor(**more: Any) -> Params:
    alarm = Alarm(0.1, AlarmSide(0.05, 2.0))
    return Params(classes=2, alarm=alarm, notes=NOTES, names=["cat", "dog"], horizon=64, **more)


EVIDENCE = monitor(signals=("odds",), evidence=EvidenceHead(coef={"odds": 1.0}, offsets=(0.0, 0.0)))


def shard(
    names: list[str],
    steps: int,
    alarm: Any = 0,
    risk: Any = 0.25,
    severity: Any = 0.0,
    version: str = "v1",
    params: Params = EVIDENCE,
    start: float = START,
) -> Shard:
    """Return devices that all made the same number of steps; alarm, risk and severity may differ."""
    count = len(names)
    tallies = Tallies(params)
    tallies.grow(count)
    rows = np.zeros(count, dtype=STEP_DTYPE)
    rows["risk"], rows["alarm"], rows["severity"], rows["expected_accuracy"] = risk, alarm, severity, 0.75
    rows["answer"] = np.arange(count) % 2
    for step in range(steps):
        tallies.update(np.arange(count), np.full(count, start + PERIOD * step), rows)
    places = np.zeros(count, dtype=PLACE)
    places["missing"], places["seq"] = 2, steps - 1
    return Shard(version, names, tallies, places)


def names(count: int, start: int = 0) -> list[str]:
    return [f"d{n}" for n in range(start, start + count)]


def test_a_healthy_and_an_unhealthy_fleet() -> None:
    quiet = summarize([shard(names(300), 20)])
    assert quiet["alarm"]["verdict"] == FINE and not quiet["alarm"]["unhealthy"] and quiet["alarm"]["p"] == 1
    assert quiet["alarm"]["baseline_from"] == "the fit: 10 false alarms in 1,000,000 held-out clean steps"
    loud = summarize([shard(names(300), 20, alarm=(np.arange(300) < 30).astype(int))])
    assert loud["alarm"]["verdict"] == WORSE and loud["alarm"]["devices"] == 30
    assert loud["alarm"]["share"] == 0.1 and loud["alarm"]["p"] < loud["alarm"]["p_always"] < 0.001
    low, high = loud["alarm"]["interval"]
    assert 0.06 < low < 0.1 < high < 0.15
    assert (loud["devices"], loud["steps"], loud["missing"], loud["silent"]) == (300, 6000, 600, 0)
    json.dumps(loud, allow_nan=False)


def test_the_worst_come_first_and_those_that_are_worse_for_sure_are_named() -> None:
    severity = np.linspace(-1, 1, 50)
    found = summarize([shard(names(50), 900, (np.arange(50) == 49).astype(int), 0.5, severity)], worst=3)
    assert [row["device"] for row in found["worst"]] == ["d49", "d48", "d47"]
    first, second = found["worst"][:2]
    assert first["worse"] and first["named"] and first["alarm_since"] == START and first["alarm_steps"] == 900
    assert not second["worse"] and not second["named"] and second["alarm_since"] is None
    assert found["named"]["devices"] == ["d49"] and found["named"]["count"] == 1
    assert first["severity"] == 1 and first["mean_risk"] == 0.5 and first["seq"] == 899


def test_silent_devices_are_counted_listed_and_in_no_share() -> None:
    old = shard(names(3), 100, alarm=1)
    new = shard(names(5, 10), 100, start=START + 86400)
    found = summarize([old, new])
    assert found["time"] == START + 86400 + 99 * PERIOD and found["silent"] == 3
    assert [row["device"] for row in found["silent_devices"]] == ["d0", "d1", "d2"]
    assert found["alarm"]["devices"] == 0 and found["alarm"]["of"] == 5 and len(found["worst"]) == 5
    assert summarize([old, new], now=START + 86400 * 30)["alarm"]["verdict"] == "no device reports"


def test_a_device_that_moved_to_another_version_is_not_silent() -> None:
    old = shard(names(4), 10)
    new = shard(names(3), 10, version="v2", start=START + 86400)
    found = summarize({"v1": old, "v2": new})
    assert found["devices"] == 4 and found["silent"] == 1 and found["silent_devices"][0]["device"] == "d3"
    assert [(v["version"], v["silent"]) for v in found["versions"]] == [("v1", 1), ("v2", 0)]
    assert found["alarm"]["of"] == 3 and found["versions"][0]["alarm"]["verdict"] == "no device reports"
    assert found["versions"][1]["expected_accuracy"] == 0.75


def test_shards_of_a_version_are_one() -> None:
    alarm = (np.arange(60) % 20 == 0).astype(int)
    whole = summarize([shard(names(60), 30, alarm)])
    parts = [shard(names(20, 20 * k), 30, alarm[:20]) for k in range(3)]
    assert summarize(parts) == whole


def test_a_period_of_this_fleet_as_the_baseline() -> None:
    model = shard(names(100), 1000, alarm=(np.arange(100) < 10).astype(int))
    assert summarize([model])["alarm"]["unhealthy"]
    own = summarize([model], baseline=(START - 7200, START + 7200))["alarm"]
    assert not own["unhealthy"] and own["baseline"] > 0.1 and "declared healthy" in own["baseline_from"]
    nothing = summarize([model], baseline=(0.0, 1.0))["alarm"]
    assert nothing["baseline"] is None and nothing["verdict"] == "no baseline to compare with"
    assert (
        nothing["baseline_from"]
        == "the healthy period holds no steps in parts of 1 h that lie in it altogether"
    )


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
    assert {row["device"]: row["last_time"] for row in found["worst"]} == {"a": START + 10_000.0}


def test_a_failing_version_is_named_first() -> None:
    rare = {"fit": {"run_length_elsewhere": {"steps": 10**7, "false_alarms": 100, "alarm_steps": 2000}}}
    params = replace(EVIDENCE, notes=rare)
    names = [f"d{n}" for n in range(600)]
    good = shard(names, 20, params=params)
    alarm = (np.arange(30) < 15).astype(np.uint8)
    bad = shard([f"x{n}" for n in range(30)], 20, alarm=alarm, version="v2", params=params)
    found = summarize([good, bad])
    assert [each["alarm"]["unhealthy"] for each in found["versions"]] == [False, True]
    said = verdict({**found, "alarm": {**found["alarm"], "unhealthy": False}})
    assert said.startswith("More devices are in alarm than chance explains, of version v2, 15 of 30")
