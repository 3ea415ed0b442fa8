"""Labels from the field: every door leads to the same monitor, and what they say is counted."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import numpy as np
import pytest
from live_runs import Feeder, json_lines

from tcuq import Feedback, Log, Monitor, Params
from tcuq.cli import main
from tcuq_watch.cli import fleet_page
from tcuq_watch.fleet import Events, Fleet
from tcuq_watch.live.marks import labeled_log
from tcuq_watch.live.session import Session
from tcuq_watch.pages.fleet_page import page
from tcuq_watch.pages.server import serve
from tcuq_watch.sources.step_reader import StepReader
from tcuq_watch.verdicts.status import status_text
from tcuq_watch.verdicts.words import promised

PARAMS = Params(
    classes=3,
    names=["cat", "dog", "right"],
    warmup=0,
    feedback=Feedback(memory=32, max_error=0.1, reference=0.6),
)
PROBS = np.random.default_rng(3).dirichlet(np.ones(3) * 0.3, 120)
INT8 = np.clip(np.rint(PROBS * 256) - 128, -128, 127).astype(np.int8)
STEPS = Monitor(PARAMS).run(INT8)
LABELS: dict[int, Any] = {30: "dog", 31: True, 35: "wrong", 36: "cat", 39: -1, 40: "right", 20: 2}
"""By step; the name of a class goes before the word."""


def expected(until: int = 60) -> bytes:
    """Return the state of a monitor that was given all labels after step 40."""
    monitor = Monitor(PARAMS)
    monitor.run(INT8[:41])
    for step, label in LABELS.items():
        code = {"dog": 1, "cat": 0, "wrong": -1, "right": 2}.get(label, label)  # type: ignore[call-overload]
        monitor.feedback(step, code)
    monitor.run(INT8[41:until])
    return monitor.save()


def rows(device: str = "device") -> list[dict[str, Any]]:
    return [{"device": device, "boot": 0, "seq": step, "label": label} for step, label in LABELS.items()]


def state(model: Any) -> bytes:
    return bytes(model.bank.save_many([0]).tobytes())


@pytest.mark.parametrize("door", ["lines", "page", "file, while it runs", "file", "http"])
def test_every_door_of_a_device_gives_the_same_monitor(
    tmp_path: Path, door: str, capsys: pytest.CaptureFixture[str]
) -> None:
    feeder = Feeder(Session(PARAMS, tmp_path / "kept", "-"))
    feeder.push(json_lines(INT8[:41], 0))
    sheet = tmp_path / "labels.csv"
    lines = [f"device,{PARAMS.fingerprint},0,{step},{label}" for step, label in LABELS.items()]
    sheet.write_text("\n".join(["device,version,boot,seq,label", *lines]), encoding="utf-8")
    tell = ["fleet", "labels", str(tmp_path / "kept"), "--tell", str(sheet)]
    if door == "lines":
        # Some with the steps behind them in one batch: order counts, not how much arrives at once.
        told = "".join(json.dumps({"seq": step, "label": label}) + "\n" for step, label in LABELS.items())
        feeder.push(told.encode() + json_lines(INT8[41:60], 0, 41))
    elif door in ("page", "http"):
        with serve(feeder.session.publisher.feed, port=0, mark=feeder.session.mark) as server:
            for step, label in LABELS.items():
                asked = Request(
                    f"{server.url}mark",
                    json.dumps({"step": step, "label": label}).encode(),
                    {"Content-Type": "application/json", "X-Tcuq": "1"},
                )
                with urlopen(asked) as answer:
                    assert b"the monitor uses it" in answer.read()
    elif door == "file":
        feeder.tick()
        feeder.session.close()
        assert main(tell) == 0
        feeder = Feeder(Session(PARAMS, tmp_path / "kept", "-"))
    else:
        statuses: list[int] = []
        asking = threading.Thread(target=lambda: statuses.append(main(tell)))
        asking.start()
        while asking.is_alive():
            feeder.tick()
            asking.join(0.05)
        assert statuses == [0]
    if door != "lines":
        feeder.push(json_lines(INT8[41:60], 0, 41))
    assert state(feeder.session.model) == expected()
    feeder.tick()
    lines = feeder.session.publisher.feed.labels["lines"]
    assert len(lines) == 1 and lines[0].startswith(promised(feeder.session.model.promise.summary() or {}))
    feeder.session.close()
    log, marks = labeled_log(tmp_path / "kept")
    assert marks == len(LABELS) and log.labels is not None
    answers = {"dog": 1, "cat": 0, "wrong": -1, "right": 2, True: int(STEPS["answer"][31])}
    assert {step: int(log.labels[step]) for step in LABELS} == {
        step: answers.get(label, label) for step, label in LABELS.items()
    }


def test_a_label_without_a_number_is_for_the_last_step(tmp_path: Path) -> None:
    feeder = Feeder(Session(PARAMS, tmp_path / "kept", "-"))
    feeder.push(json_lines(INT8[:5]) + b'{"label": "wrong"}\n{"label": "bird"}\n{"seq": 9, "label": 1}\n')
    assert feeder.session.fleet.refused == {"label of no known step": 2}
    feeder.push(b'{"label": [1]}\n{"label": null}\n')
    assert feeder.bad.counts["label"] == 1
    feeder.tick()
    feeder.session.close()
    assert labeled_log(tmp_path / "kept")[0].labels is not None
    with Fleet.open_read(tmp_path / "kept") as fleet:
        assert fleet.store.marks() == {4: -1}


def test_labels_of_messages_reach_the_device_of_their_topic() -> None:
    reader = StepReader("test", device=None)
    reader.message(json_lines(INT8[:41], 0), "a", 1.7e9)
    reader.message(json.dumps(rows("a")).encode(), "a", 1.7e9)
    reader.message(json_lines(INT8[41:60], 0, 41), "a", 1.7e9)
    fleet_rows = reader.rows.flush(None).batch
    assert [type(each).__name__ for each in fleet_rows] == ["Events", *["Mark"] * len(LABELS), "Events"]


def test_a_fleet_counts_what_labels_say_of_its_promise(tmp_path: Path) -> None:
    """Counted by hand: accepted steps with a label, and wrong ones among them, also after a restart."""
    rng = np.random.default_rng(4)
    monitor, labeled, wrong = Monitor(PARAMS), 0, 0
    with Fleet(PARAMS, tmp_path / "f", hold=1) as fleet:
        for step in range(120):
            own = monitor.step(INT8[step])
            seqs = [step]
            fleet.take(Events(["a"], [0], seqs, INT8[[step]]))
            if step % 3 == 0:
                label = (own.answer + (rng.random() < 0.2)) % 3
                monitor.feedback(step, label)
                told = [{"device": "a", "boot": 0, "seq": step, "label": label}]
                assert fleet.tell(told) == {"used": 1} and fleet.tell(told) == {"used": 0}
                labeled += not own.abstain
                wrong += not own.abstain and own.answer != label
        assert 10 < labeled < 40 and wrong > 2
        found = fleet.summary()["promises"]
    with Fleet.open_read(tmp_path / "f") as fleet:
        [row] = fleet.summary()["promises"]
        assert [row] == found and (row["labeled"], row["wrong"], row["devices"]) == (labeled, wrong, 1)
        assert "says something from" in status_text(fleet.summary())
        assert f"{labeled} accepted answers with a label" in page(fleet.summary())[0]
    assert row["allowed"] >= row["max_error"] * labeled + PARAMS.error_constant
    assert row["says_from"] * (1 - 0.1) > PARAMS.error_constant >= (row["says_from"] - 1) * 0.9 - 4
    with Fleet(PARAMS, tmp_path / "f") as fleet:
        fleet.adopt("a", monitor.save(), 0, 119)
        [row] = fleet.summary()["promises"]
        assert (row["labeled"], row["wrong"]) == (0, 0), "what the device was told is not known here"


def test_devices_that_need_someone_are_labeled_first(tmp_path: Path) -> None:
    params = PARAMS.replace(feedback=None)
    with Fleet(params, tmp_path / "f", hold=1, labels_per_day=20_000, seed=1) as fleet:
        for device, count in (("calm", 90), ("silent", 20)):
            times = 1.7e9 + 60.0 * np.arange(count)
            fleet.take(Events([device] * count, [0] * count, np.arange(count), INT8[:count], times=times))
        now = 1.7e9 + 60.0 * 90
        summary = fleet.summary(now)
        found = summary["labels"]["next"]
        assert [row["device"] for row in found] == ["silent", "calm"] and found[0]["needs"]
        assert found[1]["steps"] > found[0]["steps"] > 0 and len(found[1]["newest"]) == 3
        assert "to label next" in status_text(summary) and "silent (" in status_text(summary)
        step = found[0]["newest"][0]
        assert step["answer_name"] in PARAMS.names  # type: ignore[operator]
        row = {"device": "silent", "boot": 0, "seq": step["seq"], "label": True}
        assert fleet.tell([row]) == {"told": 1, "unlabeled": 0, "unknown": 0, "bad": 0}
        assert fleet.accuracy()["errors_found"] == 0
        again = fleet.summary(now)["labels"]["next"][0]
        assert again["steps"] == found[0]["steps"] - 1 and step not in again["newest"]


def test_a_served_fleet_page_takes_labels(tmp_path: Path) -> None:
    with Fleet(PARAMS, tmp_path / "f", hold=1) as fleet:
        fleet.take(Events(["a"] * 41, [0] * 41, np.arange(41), INT8[:41]))
    take = fleet_page.takes(tmp_path / "f")
    for row in rows("a"):
        assert take(row).startswith("took 1 label, 1 reached monitors; ")
    with pytest.raises(ValueError, match="no monitor remembers that step of 'b'"):
        take({"device": "b", "boot": 0, "seq": 3, "label": 1})


def test_a_log_of_a_device_takes_part_of_its_marks(tmp_path: Path) -> None:
    feeder = Feeder(Session(PARAMS, tmp_path / "kept", "-", labels_per_day=200))
    feeder.push(json_lines(INT8[:100], 0), when=1.7e9)
    feeder.tick()
    told = feeder.session.publisher.feed.labels
    assert told["lines"][0] == "no estimate yet" and 0 < len(told["ask"]) <= 8
    for step in told["ask"]:
        feeder.session.mark({"step": step, "label": True})
    again = feeder.session.publisher.feed.labels
    assert "accuracy of accepted answers" in again["lines"][0] and not {*told["ask"]} & {*again["ask"]}
    feeder.session.close()
    log: Log = labeled_log(tmp_path / "kept")[0]
    assert log.unlabeled == 100 - len(told["ask"])
