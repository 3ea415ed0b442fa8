"""A live session: what it keeps, how it goes on after a kill, marks, and what it tells."""

from __future__ import annotations

import base64
import errno
import json
import os
import random
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from frame_writing import encode_posteriors, encode_state
from live_runs import (
    PARAMS,
    Feeder,
    decided_alike,
    json_lines,
    kept,
    kept_steps,
    start_watching,
    steps_of,
)
from refusals import refused
from streams import SEEN, seeing_params, seen_log

from tcuq import Feedback, InputError, Monitor, Params, fit
from tcuq.cli import main
from tcuq.io import read_log
from tcuq.log.log import NO_LABEL
from tcuq_watch.fleet.store import Store
from tcuq_watch.live.marks import labeled_log
from tcuq_watch.live.session import Session

PRINT = int(PARAMS.fingerprint, 16)


def begun(folder: Path, told: list[Any] | None = None, params: Params = PARAMS, **options: Any) -> Feeder:
    tell = [] if told is None else [lambda *each: told.append(each)]
    return Feeder(Session(params, folder, "-", tell=tell, **options))


def say(session: Session, step: Any, label: Any) -> str:
    return session.mark({"step": step, "label": label})


def killed(feeder: Feeder) -> None:
    """Leave a session as a kill does: what no commit has written is gone."""
    feeder.session.fleet.close()


@pytest.mark.parametrize("kind", ["lines", "numbered", "frames", "fleet"])
def test_decisions_after_kills_are_those_of_a_run_without(tmp_path: Path, kind: str) -> None:
    rng = random.Random(kind)
    probs = steps_of(1500)
    log, folder = tmp_path / "grows.jsonl", tmp_path / "kept"
    sent, kills, moments = 0, 7, set()

    def send(file: Any, count: int) -> None:
        nonlocal sent
        some, first = probs[sent : sent + count], sent
        sent += len(some)
        if not len(some):
            return
        if kind == "frames":
            text = encode_posteriors(PRINT, 3, first, some, size=200)
        else:
            text = json_lines(some, 3 if kind in ("numbered", "fleet") else None, first)
        at = rng.randrange(len(text))  # a line or frame may be read in two parts
        file.write(text[:at])
        time.sleep(rng.choice((0, 0.003)))
        file.write(text[at:])

    with open(log, "ab", buffering=0) as file:
        for kill in range(kills):
            process = start_watching(folder, str(log), len(probs), kind == "fleet")
            most = len(probs) * (kill + 1) // (kills + 1)  # every kill meets a stream that goes on
            limit, before = time.monotonic() + 6, kept_steps(folder)
            early = rng.random() < 0.2  # a kill at the very beginning
            while time.monotonic() < limit and not early and kept_steps(folder) == before:
                send(file, min(rng.randrange(1, 20), most - sent))
                time.sleep(0.002)
            time.sleep(rng.uniform(0, 0.1))
            process.kill()
            process.join(10)
            moments.add(kept_steps(folder))
        while sent < len(probs):
            send(file, 100)
    assert len(moments) > 1
    process = start_watching(folder, str(log), len(probs), kind == "fleet")
    process.join(20)
    assert process.exitcode == 0 and decided_alike(folder, probs)
    counts = begun(folder).session.publisher.counts
    assert counts["steps"] == len(probs)
    assert counts["missing"] == counts["duplicates"] == counts["reboots"] == counts["broken"] == 0


def test_order_after_the_device_has_started_again(tmp_path: Path) -> None:
    probs, monitor = steps_of(40), Monitor(PARAMS)
    feeder = begun(tmp_path, hold=8)
    feeder.push(json_lines(probs[:20], 1))
    later = [json_lines(probs[place : place + 1], 2, place - 20) for place in range(20, 40)]
    later[0], later[1], later[7], later[9] = later[1], later[0], later[9], later[7]
    feeder.push(b"".join(later))
    feeder.push(json_lines(probs[:1], 1, 20))  # of before the restart: it is late
    feeder.tick()
    counts = feeder.session.publisher.counts
    assert (counts["reboots"], counts["late"], counts["missing"]) == (1, 1, 0)
    feeder.session.close()
    found, first = kept(tmp_path), monitor.run(probs[:20])
    monitor.reset()
    expected = np.concatenate([first, monitor.run(probs[20:])])
    assert found is not None and np.array_equal(found.probs, probs)
    assert np.array_equal(found.steps["risk"], expected["risk"])


def decisions(first: int, last: int) -> bytes:
    rows = [{"seq": n, "risk": 0.25, "threshold": 0.5, "answer": n % 4} for n in range(first, last)]
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def test_decisions_of_a_device_go_on_after_a_kill(tmp_path: Path) -> None:
    feeder = begun(tmp_path)
    feeder.push(decisions(0, 20), tokens=[1])
    killed(feeder)
    told: list[Any] = []
    feeder = begun(tmp_path, told)
    assert feeder.session.step == 20 and feeder.session.model.by_device
    feeder.push(decisions(18, 30))
    feeder.push(json_lines(steps_of(3)))
    feeder.tick()
    counts = feeder.session.publisher.counts
    assert counts["duplicates"] == 2 and counts["others"] == 3
    assert any("posteriors among decisions" in text for _, text, _ in told)
    feeder.session.close()
    found = kept(tmp_path)
    assert found is not None and found.steps["answer"].tolist() == [n % 4 for n in range(30)]
    with refused("missing"):
        labeled_log(tmp_path)


def full(*_: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_loses_nothing_and_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    probs, told = steps_of(300), []
    feeder = begun(tmp_path, told)

    for at in range(0, 300, 10):
        if at == 50:
            monkeypatch.setattr(Store, "put_head", full)
        if at == 100:
            assert "waits for the disk" in say(feeder.session, 3, 1)
        if at == 200:
            monkeypatch.undo()
        feeder.push(json_lines(probs[at : at + 10]), tokens=[at])
        assert len(feeder.acknowledged) == (at // 10 + 1 if at < 50 or at >= 200 else 5)
        feeder.tick()
    assert sum("watching goes on" in text for _, text, _ in told) == 1
    assert sum("is written again; 0 steps were lost" in text for _, text, _ in told) == 1
    killed(feeder)
    assert decided_alike(tmp_path, probs) and labeled_log(tmp_path)[1] == 1


def test_steps_beyond_the_bound_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Any] = []
    feeder = begun(tmp_path, told)
    monkeypatch.setattr("tcuq_watch.live.session.WAITING", 25)
    with monkeypatch.context() as patch:
        patch.setattr(Store, "put_part", full)
        for _ in range(3):
            feeder.push(json_lines(steps_of(10)))
            feeder.tick()
    feeder.push(json_lines(steps_of(10)))
    feeder.tick()
    assert feeder.session.publisher.counts["unkept"] == 30
    assert any("30 steps were lost" in text for _, text, _ in told)
    killed(feeder)
    assert kept_steps(tmp_path) == 10 and begun(tmp_path).session.step == 40


def test_marks_become_labels(tmp_path: Path) -> None:
    probs, told = steps_of(200), []
    feeder = begun(tmp_path, told)
    session = feeder.session
    feeder.push(json_lines(probs, 1))
    assert say(session, 3, 2) == "step 3 was class 2"
    assert say(session, 5, None) == "step 5 was wrong"
    say(session, 7, 1)
    say(session, 7, -1)
    wrong: list[Any] = [(200, 0), (-1, 0), (3, 4), (3, -2), (True, 0), ("3", 0), (3, "bird")]
    for step, label in wrong:
        with refused("value"):
            say(session, step, label)
    feeder.tick()
    session.close()
    assert [step for kind, _, step in told if kind == "mark"] == [3, 5, 7, 7]
    log, marked = labeled_log(tmp_path)
    expected = np.full(len(probs), NO_LABEL)
    expected[[3, 5, 7]] = 2, -1, -1
    assert marked == 3 and log.labels is not None
    assert log.labels.tolist() == expected.tolist() and np.array_equal(log.probs, probs)
    assert labeled_log(tmp_path, 8, 19)[0].labels is None, "a person gave none"
    some, marked = labeled_log(tmp_path, 5, 19)
    assert (len(some), marked) == (15, 2)
    with refused("missing"):
        labeled_log(tmp_path, 500)


FEEDBACK = PARAMS.replace(warmup=0, feedback=Feedback(memory=16, max_error=0.1, reference=0.7, hard="error"))


def test_marks_act_on_the_monitor_and_kills_change_no_bit(tmp_path: Path) -> None:
    rng, probs, monitor = random.Random(0), steps_of(400), Monitor(FEEDBACK)
    feeder = begun(tmp_path, params=FEEDBACK)
    taken, steps, used, kills = 0, [], 0, 0
    while taken < len(probs):
        some = probs[taken : taken + rng.randrange(1, 30)]
        feeder.push(json_lines(some, 1, taken))
        steps.append(monitor.run(some))
        taken += len(some)
        for _ in range(rng.randrange(4)):
            step, label = max(0, taken - 1 - rng.randrange(14)), rng.choice((None, -1, 0, 1, 2, 3))
            text = say(feeder.session, step, label)
            try:
                monitor.feedback(step, -1 if label is None else label)
            except InputError:
                took = False
            else:
                took = True
            assert ("uses it" in text) == took
            used += took
        if rng.random() < 0.3:
            feeder.tick()
            killed(feeder)
            feeder = begun(tmp_path, params=FEEDBACK)
            kills += 1
        assert feeder.session.model.bank.save_many([0])[0].tobytes() == monitor.save()
    feeder.tick()
    feeder.session.close()
    found = kept(tmp_path)
    assert used > 15 and kills > 1 and found is not None
    assert np.array_equal(found.steps["abstain"], np.concatenate(steps)["abstain"])
    assert not np.array_equal(found.steps["abstain"], Monitor(FEEDBACK).run(probs)["abstain"])


def test_marks_of_another_thread_come_before_or_after_steps(tmp_path: Path) -> None:
    feeder, probs, ended = begun(tmp_path, params=FEEDBACK), steps_of(300), threading.Event()
    session = feeder.session

    def mark() -> None:
        while not ended.is_set():
            if session.step:
                say(session, session.step - 1, None)

    thread = threading.Thread(target=mark)
    thread.start()
    for first in range(0, len(probs), 3):
        feeder.push(json_lines(probs[first : first + 3], 1, first))
    ended.set()
    thread.join()
    feeder.tick()
    before = session.model.bank.save_many([0])[0].tobytes()
    killed(feeder)
    assert begun(tmp_path, params=FEEDBACK).session.model.bank.save_many([0])[0].tobytes() == before


def test_the_state_of_the_device_is_taken_over(tmp_path: Path) -> None:
    probs = steps_of(60)
    device = Monitor(PARAMS)
    device.run(probs[:40])
    frames = encode_posteriors(PRINT, 1, 0, probs[:20])  # 20 to 38 are lost
    frames += encode_posteriors(PRINT, 1, 39, probs[39:40]) + encode_state(PRINT, 1, 39, device.save())
    feeder = begun(tmp_path)
    feeder.push(frames, tokens=[1])
    killed(feeder)
    feeder = begun(tmp_path)
    broken = bytearray(device.save())
    broken[-1] ^= 1
    feeder.push(encode_state(PRINT, 1, 39, bytes(broken)))
    feeder.push(encode_posteriors(PRINT, 1, 40, probs[40:]))
    feeder.tick()
    feeder.session.close()
    assert feeder.session.publisher.counts["missing"] == 19
    assert feeder.session.publisher.counts["broken"] == 1
    found = kept(tmp_path)
    assert found is not None
    assert np.array_equal(found.steps["risk"][-20:], device.run(probs[40:])["risk"])


def test_names_from_the_device_reach_the_page_and_the_next_session(tmp_path: Path) -> None:
    feeder = begun(tmp_path)
    feeder.push(b'{"names": ["cat", "dog", "cow", "hen"]}\n' + json_lines(steps_of(5)))
    assert feeder.session.publisher.feed.about["names"][1] == "dog"
    assert say(feeder.session, 2, 1) == "step 2 was dog"
    feeder.session.close()
    assert begun(tmp_path).session.names == ("cat", "dog", "cow", "hen")
    assert labeled_log(tmp_path)[0].names == ("cat", "dog", "cow", "hen")


def test_what_is_kept_is_read_by_the_other_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    params = Params(classes=4, features=3, feature_scale=0.05, warmup=4, names=("a", "b", "c", "d"))
    params.save("m.json")
    rng = np.random.default_rng(0)
    probs, features = rng.dirichlet(np.ones(4) * 0.4, 400), rng.normal(0, 1, (400, 3))
    lines = [
        json.dumps({"probs": p, "features": f, "boot": n // 150, "seq": n % 150, "label": "b"})
        for n, (p, f) in enumerate(zip(probs.tolist(), features.tolist(), strict=True))
    ]
    feeder = begun(tmp_path / "kept", params=params)
    feeder.reader._names = params.names
    feeder.push("".join(f"{line}\n" for line in lines).encode())
    say(feeder.session, 9, 3)
    for step in range(20, 280, 10):
        say(feeder.session, step, None)
    feeder.tick()
    feeder.session.close()
    assert main(["live", "m.json", "kept", "--merge", "field.npz", "--steps", "0:299"]) == 0
    log = read_log("field.npz")
    assert len(log) == 300 and log.feature_scale == params.feature_scale and log.labels is not None
    assert log.labels[:12].tolist() == [1] * 9 + [3, 1, 1] and log.labels[20] == -1
    assert log.segments is not None and log.segments.max() == 1
    assert main(["run", "m.json", "field.npz", "-o", "again.jsonl"]) == 0
    assert main(["audit", "again.jsonl", "m.json", "--log", "field.npz"]) == 0
    assert fit(log, run_length=100, force=True).classes == 4
    capsys.readouterr()
    assert main(["live", "m.json", "kept", "--merge", "few.npz", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "log": "few.npz",
        "steps": 400,
        "labeled": 400,
        "marks": 27,
    }
    assert main(["fleet", "status", "kept", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["steps"] == 400


def test_a_log_of_a_few_marks_claims_nothing_of_the_other_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Unmarked steps have no label: a report leaves out who was right, and a fit says what to do."""
    monkeypatch.chdir(tmp_path)
    PARAMS.save("m.json")
    feeder = begun(tmp_path / "kept")
    feeder.push(json_lines(steps_of(200), 1, 0))
    say(feeder.session, 3, None)
    say(feeder.session, 5, 2)
    feeder.tick()
    feeder.session.close()
    assert main(["live", "m.json", "kept", "--merge", "field.npz"]) == 0
    assert "200 steps in field.npz, 2 with a label, 2 of these from marks" in capsys.readouterr().out
    log = read_log("field.npz")
    assert log.unlabeled == 198
    assert main(["run", "m.json", "field.npz", "-o", "said.jsonl"]) == 0
    assert main(["audit", "said.jsonl", "m.json", "--log", "field.npz"]) == 0
    report = ["report", "said.jsonl", "-o", "report.html", "--params", "m.json", "--log", "field.npz"]
    assert main(report) == 0
    page = Path("report.html").read_text(encoding="utf-8")
    assert "2 of 200 steps have a label" in page and "Answers right" not in page
    capsys.readouterr()
    assert main(["fit", "field.npz", "-o", "again.json"]) == 2
    error = capsys.readouterr().err
    assert "2 of 200 steps have a label" in error and error.count("\n") == 1
    assert not Path("again.json").exists()


def test_marks_reach_as_far_back_as_the_memory(tmp_path: Path) -> None:
    """Not only the last 64 steps, also after a restart; a missing step ends it."""
    params = FEEDBACK.replace(feedback=Feedback(memory=500, max_error=0.1, reference=0.7))
    feeder = begun(tmp_path, params=params)
    feeder.push(json_lines(steps_of(300), 1, 0))
    assert "uses it" in say(feeder.session, 0, 1)
    feeder.tick()
    feeder.session.close()
    feeder = begun(tmp_path, params=params)
    assert "uses it" in say(feeder.session, 100, 1)
    feeder.push(json_lines(steps_of(40), 1, 301))
    assert "too late" in say(feeder.session, 200, 1)
    assert "uses it" in say(feeder.session, 310, 1)
    feeder.session.close()


def test_a_page_is_told_since_when_an_alarm_is_on_and_what_was_before(tmp_path: Path) -> None:
    """An alarm that flickers is one hold; after a restart the page has the steps of before."""

    def rows(first: int, last: int, alarm: int) -> bytes:
        told = [
            {"seq": n, "time": 1.7e9 + n, "risk": 0.25, "threshold": 0.5, "answer": 0}
            for n in range(first, last)
        ]
        expected = 0.5 if alarm else 0.9
        return "".join(
            json.dumps({**row, "alarm": alarm, "expected_accuracy": expected}) + "\n" for row in told
        ).encode()

    feeder = begun(tmp_path, name="gate-north", place="hall 3")
    feed = feeder.session.publisher.feed
    assert (feed.about["title"], feed.about["place"], feed.about["source"]) == ("gate-north", "hall 3", "-")
    feeder.push(rows(0, 100, 0))
    assert feed.now == {}
    feeder.push(rows(100, 130, 1))
    assert feed.now == {"since": 1.7e9 + 100, "step": 100, "holds": 1, "before": 0.9}
    feeder.push(rows(130, 160, 0))
    assert feed.now == {"since": 1.7e9 + 130, "step": 130}
    feeder.push(rows(160, 200, 1))  # half a minute later
    assert feed.now == {"since": 1.7e9 + 100, "step": 100, "holds": 2, "before": 0.9}
    feeder.tick()
    feeder.session.close()
    session = begun(tmp_path).session
    _, message = session.publisher.feed.take()
    told = json.loads(message)
    assert (told["first"], told["count"]) == (0, 200) and session.publisher.alarm == 1
    assert told["now"]["before"] == 0.9 and told["now"]["since"] == 1.7e9 + 160, "as the folder knows it"
    assert [remark["kind"] for remark in told["remarks"]] == ["restart"], "nothing is told twice"


def test_gauges_are_told_in_deviations_of_clean_data(tmp_path: Path) -> None:
    params = seeing_params()
    log = seen_log(params)
    feeder = begun(tmp_path, params=params)
    names = json.dumps({"gauge_names": list(SEEN)})
    rows = [
        json.dumps({"probs": p, "gauges": g})
        for p, g in zip(log.probs.tolist(), log.gauges.tolist(), strict=True)
    ]
    feeder.push("\n".join([names, *rows, ""]).encode())
    _, message = feeder.session.publisher.feed.take()
    told, about = json.loads(message), feeder.session.publisher.feed.about
    sight = params.sight
    assert sight is not None and [name for name, *_ in about["numbers"]] == list(sight.numbers)
    near = np.frombuffer(base64.b64decode(told["numbers"]), np.int8).reshape(len(log), -1)[:, :2] / 8
    answers = feeder.session.publisher.feed._ring["answer"][: len(log)]
    expected = (log.gauges - np.array(sight.means)[:2]) / np.array(sight.deviations)[:2]
    expected -= np.array(sight.class_means)[answers, :2]
    assert np.abs(np.clip(expected, -15.8, 15.8) - near).max() < 0.08
    assert about["moved"][129].startswith("sharpness") and about["far"] == 1.0
