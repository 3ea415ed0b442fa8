"""Monitors of a fleet that see the input: gauges of rows reach them, and what moved is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fleet_summaries import PARAMS as OLD
from fleet_summaries import played
from frame_writing import encode_posteriors
from live_runs import Feeder
from streams import SEEN, seeing_params, seen_log

from tcuq import Monitor
from tcuq_watch.engine.events import Events
from tcuq_watch.engine.model_version import ModelVersion
from tcuq_watch.fleet import Fleet
from tcuq_watch.live.marks import labeled_log
from tcuq_watch.live.session import Session
from tcuq_watch.pages.fleet_page import one_device, page
from tcuq_watch.sources.arrivals import Arrived
from tcuq_watch.sources.step_reader import StepReader
from tcuq_watch.verdicts.status import device_text, status_text
from tcuq_watch.verdicts.summary import summarize

PARAMS = seeing_params()
LOG = seen_log(PARAMS)
ALONE = Monitor(PARAMS).run(LOG)
BELOW = "sharpness far below the clean log"


def events(rows: slice, device: str = "door", gauges: bool = True) -> Events:
    """Return rows of the log as events of a device."""
    seqs = np.arange(len(LOG))[rows]
    seen = {"gauges": LOG.gauges[rows, ::-1], "gauge_names": SEEN[::-1]} if gauges else {}
    return Events([device] * len(seqs), [0] * len(seqs), seqs, LOG.probs[rows], times=1e9 + seqs, **seen)


def moved(parts: list[Any]) -> list[int]:
    return [code for part in parts for code in part.steps["moved"].tolist()]


def test_steps_with_gauges_and_without_are_those_of_a_monitor() -> None:
    expected, monitor, parts = [], Monitor(PARAMS), []
    model = ModelVersion("v", PARAMS, hold=1, keep_events=True)
    for start in range(0, 400, 40):
        rows, blind = slice(start, start + 40), start % 80 == 0
        gauges = None if blind else LOG.gauges[rows]
        expected.append(monitor.run(LOG.probs[rows], gauges=gauges))
        parts.append(events(rows, gauges=not blind))
    # Taken one by one, and in pairs out of order, so that both kinds are released together.
    assert moved([model.take(part) for part in parts]) == moved_of(expected)
    model = ModelVersion("v", PARAMS, hold=64, keep_events=True)
    order = [parts[place ^ 1] for place in range(len(parts))]
    whole = [part for part in map(model.take, order) if len(part)]
    assert {len(part) for part in whole} == {80}
    assert moved(whole) == moved_of(expected)
    kept = np.concatenate([part.gauges for part in whole])
    assert np.isnan(kept[:40]).all() and np.isfinite(kept[40:80]).all()


def moved_of(steps: list[Any]) -> list[int]:
    return [code for part in steps for code in part["moved"].tolist()]


def test_gauges_that_are_none_cost_their_row() -> None:
    model = ModelVersion("v", PARAMS, hold=1)
    part = events(slice(0, 4))
    part.gauges[1, 0] = np.nan
    assert len(model.take(part)) == 3 and model.refused["bad gauges"] == 1
    bare = Events(["door"], [0], [9], LOG.probs[:1], gauges=[[1.0]])
    model.take(bare)
    assert model.refused["bad gauges"] == 2
    for names in (("brightness", "sharpness", "heat"), ("heat", "light", "noise")):
        model.take(Events(["door"], [0], [9], LOG.probs[:1], gauges=LOG.gauges[:1], gauge_names=names))
    assert model.refused["bad gauges"] == 4, "nobody knows which of three names two values have"
    other = Events(["yard"], [0], [0], LOG.probs[:1], gauges=[[1.0]], gauge_names=["heat"])
    assert len(model.take(other)) == 1, "without its gauges an input counts as clean"


@pytest.mark.parametrize("form", ["json", "named", "csv", "frames"])
def test_rows_bring_gauges(form: str) -> None:
    reader = StepReader("test", device="door")
    lines = [json.dumps({"gauge_names": SEEN})] if form == "json" else []
    if form == "csv":
        lines = [",".join(["p0,p1,p2,p3", *(f"gauge_{name}" for name in SEEN)])]
    for probs, gauges in zip(LOG.probs.tolist(), LOG.gauges.astype(float).tolist(), strict=True):
        row: dict[str, Any] = {"probs": probs, "gauges": gauges}
        row |= {"gauge_names": SEEN} if form == "named" else {}
        lines.append(",".join(map(str, [*probs, *gauges])) if form == "csv" else json.dumps(row))
    assert PARAMS.sight is not None
    units = PARAMS.sight.gauge_rows(LOG.gauges)
    frames = encode_posteriors(int(PARAMS.fingerprint, 16), 0, 0, LOG.probs, gauges=units)
    reader.push(frames if form == "frames" else ("\n".join(lines) + "\n").encode())
    model = ModelVersion("v", PARAMS, hold=1)
    found = [model.take(part) for part in reader.rows.flush(None).batch]
    assert moved(found) == ALONE["moved"].tolist() and not reader.bad.counts
    reader.push(b'{"gauge_names": ["heat"]}\n{"gauge_names": 3}\n')
    assert reader.bad.counts["names"] == (2 if form == "json" else 1)


def test_a_fleet_says_what_moved(tmp_path: Path) -> None:
    with Fleet(PARAMS, tmp_path / "fleet", hold=1) as fleet:
        fleet.take([events(slice(0, 400))], 1)
    with Fleet.open_read(tmp_path / "fleet") as fleet:
        [part] = fleet.decisions()
        assert part.steps["moved"].tolist() == ALONE["moved"].tolist()
        assert part.steps["action"].tolist() == ALONE["action"].tolist()
        summary = fleet.summary()
        assert BELOW in status_text(summary) and BELOW in page(summary)[0]
        assert f"HOLD: {BELOW}" in device_text(one_device(fleet, "door"))


def test_a_live_session_says_what_moved(tmp_path: Path) -> None:
    told: list[tuple[str, str, int]] = []
    lines: list[str] = []
    session = Session(
        PARAMS, tmp_path / "s", "test", tell=[lambda *each: told.append(each)], decided=lines.append
    )
    source: Any = type("Source", (), {"bad": StepReader("test").bad, "committed": lambda *_: None})()
    session.take(Arrived([events(slice(0, 400))], 400, 1, {}), source)
    session.tick(source, now=True)
    status = session.publisher.status
    assert status["action"] == "hold" and status["moved"] == BELOW
    assert any(kind == "alarm" and "far from the clean log: " in text for kind, text, _ in told)
    last = json.loads("".join(lines).splitlines()[-1])
    assert last["action"] == "hold" and last["moved_name"] == BELOW
    assert session.publisher.feed.about["moved"][129] == BELOW
    session.close()
    log, _ = labeled_log(tmp_path / "s")
    assert log.gauge_names == SEEN and np.array_equal(log.gauges, np.rint(LOG.gauges * 256) / 256)


def test_lines_of_another_number_of_gauges_than_names_are_counted(tmp_path: Path) -> None:
    told: list[tuple[str, str, int]] = []
    feeder = Feeder(Session(PARAMS, tmp_path, "-", tell=[lambda *each: told.append(each)]))
    feeder.push(json.dumps({"gauge_names": [*SEEN, "heat"]}).encode() + b"\n")
    probs = LOG.probs[0].tolist()
    feeder.push(json.dumps({"probs": probs, "gauges": [1.0, 2.0]}).encode() + b"\n")
    assert feeder.session.fleet.refused["bad gauges"] == 1
    feeder.push(json.dumps({"probs": probs, "gauges": [1.0, 2.0, 3.0]}).encode() + b"\n")
    feeder.tick()
    feeder.session.close()
    assert feeder.session.step == 1 and not any("see the outputs" in text for _, text, _ in told)


@pytest.mark.parametrize("gauges", [True, False])
def test_a_live_session_says_once_that_it_lacks_gauges(tmp_path: Path, gauges: bool) -> None:
    told: list[tuple[str, str, int]] = []
    feeder = Feeder(Session(PARAMS, tmp_path, "-", tell=[lambda *each: told.append(each)]))
    for row in range(2):
        feeder.session.take(Arrived([events(slice(row, row + 1), gauges=gauges)], row, 1, {}), feeder)  # type: ignore[arg-type]
    feeder.session.close()
    assert sum("sees the outputs alone" in text for _, text, _ in told) == (not gauges)


def test_versions_of_two_kinds_are_ranked_by_risk_and_named_by_what_is_compared() -> None:
    steps = {"degradation": [0.5, 0.25], "risk": [0.1, 0.2], "expected_accuracy": 0.9}
    seeing = played("sight", ["a", "b"], PARAMS, [1e9], **steps)
    old = played("evidence", ["c", "d"], OLD, [1e9], **steps)
    mixed, alone = summarize([seeing, old]), summarize([seeing])
    assert (mixed["ranked_by"], alone["ranked_by"]) == ("recent_risk", "degradation")
    for summary in (mixed, alone):
        shown = summary["ranked_by"].replace("_", " ")
        assert f'<th scope="col">{shown.capitalize()}</th>' in page(summary)[0]
    assert "Degraded: by alarm; at most" in page(alone)[0]
    names = [f"n{place}" for place in range(8)]
    many = summarize([played("evidence", names, OLD, [1e9], expected_accuracy=0.9)])
    assert "Degraded: by alarm or degradation; at most" in page(many)[0]


def test_a_device_that_says_act_under_an_alarm_is_told_to_hold() -> None:
    model, steps = ModelVersion("v", PARAMS, hold=1), ALONE[-1:].copy()
    assert steps["alarm"][0] and steps["action"][0] == 2
    steps["action"] = 0
    decided = model.take(Events(["door"], [0], [0], steps=np.asarray(steps)))
    assert decided.steps["action"].tolist() == [2]
