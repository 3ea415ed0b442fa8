"""Marks reach the monitor where the params have feedback, and after a kill its state is the same bits."""

import json
import random
import threading
from pathlib import Path

import numpy as np
import pytest
from live_runs import json_lines, steps_of

from tcuq import Feedback, Monitor, Params
from tcuq.io import read_decisions
from tcuq_watch.live.session import Session
from tcuq_watch.sources.blocks import DeviceState
from tcuq_watch.sources.inbox import Chunk

PARAMS = Params(
    classes=4,
    warmup=0,
    level=0.2,
    budget=0.2,
    feedback=Feedback(memory=16, max_error=0.1, reference=0.7, hard="error"),
)


def state_of(session: Session) -> bytes:
    return session.stream.judge.monitor.save()


@pytest.mark.parametrize("seed", range(3))
def test_marks_act_on_the_monitor_and_kills_change_no_bit(tmp_path: Path, seed: int) -> None:
    rng, probs, monitor = random.Random(seed), steps_of(600, seed), Monitor(PARAMS)
    session = Session(PARAMS, tmp_path, "-", save_every=rng.choice((40, 10_000)))
    taken, steps, used, kills = 0, [], 0, 0
    while taken < len(probs):
        some = probs[taken : taken + rng.randrange(1, 30)]
        session.take([Chunk(json_lines(some, 1, taken))])
        steps.append(monitor.run(some))
        taken += len(some)
        for _ in range(rng.randrange(4)):
            step, label = max(0, taken - 1 - rng.randrange(24)), rng.choice((None, -1, 0, 1, 2, 3))
            text = session.mark(step, label)
            took = monitor.feedback(step, False if label in (None, -1) else label)
            assert ("uses it" in text) == took
            used += took
        if rng.random() < 0.3:
            session.folder.close()  # as a kill leaves it
            session = Session(PARAMS, tmp_path, "-", save_every=rng.choice((40, 10_000)))
            kills += 1
        assert state_of(session) == monitor.save()
    session.close()
    found = read_decisions(tmp_path / "decisions.jsonl").steps
    assert used > 15 and kills > 3
    assert np.array_equal(found["abstain"], np.concatenate(steps)["abstain"])
    assert not np.array_equal(found["abstain"], Monitor(PARAMS).run(probs)["abstain"])


def test_marks_of_another_thread_come_before_or_after_steps(tmp_path: Path) -> None:
    session, probs, ended = Session(PARAMS, tmp_path, "-"), steps_of(900), threading.Event()

    def mark() -> None:
        while not ended.is_set():
            if session.step:
                session.mark(session.step - 1, None)

    thread = threading.Thread(target=mark)
    thread.start()
    for first in range(0, len(probs), 3):
        session.take([Chunk(json_lines(probs[first : first + 3], 1, first))])
    ended.set()
    thread.join()
    before = state_of(session)
    session.folder.close()
    assert state_of(Session(PARAMS, tmp_path, "-")) == before


def test_a_label_of_a_step_before_a_state_of_the_device_does_not_reach_it(tmp_path: Path) -> None:
    session, probs = Session(PARAMS, tmp_path, "-"), steps_of(20)
    session.take([Chunk(json_lines(probs[:10], 1))])
    device = Monitor(PARAMS)
    device.run(probs)
    session.stream.take([DeviceState(1, 9, device.save())])
    session.close()
    session = Session(PARAMS, tmp_path, "-")
    assert "too long ago" in session.mark(9, None) and state_of(session) == device.save()
    session.take([Chunk(json_lines(probs[10:11], 1, 10))])
    assert "uses it" in session.mark(10, None)
    session.close()


def test_marks_without_feedback_or_of_an_older_session_leave_the_monitor_alone(tmp_path: Path) -> None:
    plain = Params(classes=4, warmup=4)
    session = Session(plain, tmp_path / "plain", "-")
    session.take([Chunk(json_lines(steps_of(5)))])
    assert session.mark(4, 1) == "step 4 was class 1"
    session.close()
    assert "at" not in json.loads((tmp_path / "plain" / "marks.jsonl").read_text())
    session = Session(PARAMS, tmp_path / "old", "-")
    session.take([Chunk(json_lines(steps_of(5)))])
    before = state_of(session)
    session.folder.mark({"step": 4, "wrong": 1})
    session.folder.close()
    assert state_of(Session(PARAMS, tmp_path / "old", "-")) == before
