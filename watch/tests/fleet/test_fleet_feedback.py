"""Labels that a fleet is told reach the monitors of steps that they remember, once, also after a kill."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fleet_runs import crashed
from streams import same_steps

from tcuq import Feedback, Monitor, Params
from tcuq_watch.engine.events import Events
from tcuq_watch.fleet import Fleet

PARAMS = Params(classes=3, warmup=0, feedback=Feedback(memory=32, max_error=0.1, reference=0.6, hard="error"))
DAY, TODAY = 86400.0, 19_000
PROBS = np.random.default_rng(0).dirichlet(np.ones(3) * 0.5, 80)


def events(device: str, first: int, end: int, boot: int = 0, leave_out: Any = ()) -> Events:
    seqs = [seq for seq in range(first, end) if seq not in leave_out]
    return Events([device] * len(seqs), [boot] * len(seqs), seqs, PROBS[seqs])


def row(seq: int, label: Any, device: str = "a", boot: Any = 0) -> dict[str, Any]:
    return {"device": device, "version": PARAMS.fingerprint, "boot": boot, "seq": seq, "label": label}


def state(fleet: Fleet, device: str = "a") -> bytes:
    model = fleet.models[PARAMS.fingerprint]
    return model.bank.save_many([model.devices.index(device)]).tobytes()


def test_labels_reach_the_right_steps_of_the_monitor_once_and_are_kept(tmp_path: Path) -> None:
    monitor = Monitor(PARAMS)
    monitor.run(PROBS[:40])
    with Fleet(PARAMS, tmp_path / "f") as fleet:
        fleet.take(events("b", 0, 3))
        fleet.take(events("a", 0, 40))
        rows = [row(39, 1), row(20, 2), row(30, -1), row(30, 0), row(2, 1)]  # told twice; forgotten
        rows += [row(40, 1), row(9, 1, boot=1), row(1, 1, "c"), row(38, 3), row(37, None), row(36, "x")]
        assert fleet.tell(rows) == {"used": 3}
        for step, label in ((39, 1), (20, 2), (30, False)):
            monitor.feedback(step, label)
        assert state(fleet) == monitor.save()
    with Fleet(PARAMS, tmp_path / "f") as fleet:
        assert state(fleet) == monitor.save()
        assert fleet.tell(rows) == {"used": 0}
        [decided] = fleet.take(events("a", 40, 80))
    steps = monitor.run(PROBS[40:])
    assert same_steps(decided.steps, steps)
    plain = Monitor(PARAMS)
    assert not np.array_equal(plain.run(PROBS)["abstain"][40:], steps["abstain"])


def test_a_label_of_a_step_before_a_missing_one_or_another_start_reaches_nobody(tmp_path: Path) -> None:
    device = Monitor(PARAMS)
    device.run(PROBS[:20])
    with Fleet(PARAMS, tmp_path / "f", hold=1) as fleet:
        fleet.take(events("a", 0, 10, leave_out=(5,)))
        fleet.flush()
        assert fleet.tell([row(4, 0), row(5, 0), row(6, 0)]) == {"used": 1}
        fleet.take(events("a", 0, 2, boot=1))
        assert fleet.tell([row(9, 0), row(1, 0, boot=1)]) == {"used": 1}
        fleet.take(events("b", 0, 10))
        fleet.adopt("b", device.save(), 0, 19)  # the fleet has not seen ten of its steps
        assert fleet.tell([row(9, 0, "b"), row(19, 0, "b")]) == {"used": 0}
        fleet.take(events("b", 20, 21))
        assert fleet.tell([row(9, 0, "b"), row(20, 0, "b")]) == {"used": 1}


def asking(folder: Path) -> Fleet:
    """Return a fleet that asks for all steps of two days."""
    fleet = Fleet(PARAMS, folder, labels_per_day=10_000)
    times = [(TODAY - 1) * DAY] * 10 + [TODAY * DAY] * 10
    fleet.take(Events(["a"] * 20, [0] * 20, np.arange(20), PROBS[:20], times=times))
    return fleet


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are killed after a fork")
def test_killed_while_told_and_told_again_it_is_told_once(tmp_path: Path) -> None:
    root = tmp_path / "work"
    with asking(root / "fleet") as fleet:
        rows = [{**asked, "label": 1} for asked in fleet.labels(TODAY)]
    with Fleet(PARAMS, root / "fleet") as fleet:
        fleet.tell(rows)
        copies = [*crashed(root / "fleet", tmp_path, 0)]
        expected = state(fleet), fleet.accuracy()
    outcomes = set()
    for copy in copies:
        with Fleet(PARAMS, copy) as fleet:
            before = fleet.accuracy()["told"]
            outcomes.add((before, fleet.tell(rows)["used"]))
            assert (state(fleet), fleet.accuracy()) == expected
    assert outcomes == {(0, 10), (10, 0)}
