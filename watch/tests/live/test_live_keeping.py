"""What is kept: a disk that is full for a while, marks, and logs that other commands read."""

import errno
import json
import os

import numpy as np
from frame_writing import encode_posteriors, encode_state
from live_runs import PARAMS, decided_alike, json_lines, received, steps_of
from refusals import refused

from tcuq import Monitor, Params, fit
from tcuq.cli import main
from tcuq.io import read_decisions, read_log
from tcuq_watch.live import folder as journal
from tcuq_watch.live.marks import labeled_log, read_marks
from tcuq_watch.live.session import Session
from tcuq_watch.sources.inbox import Chunk, Event

PRINT = int(PARAMS.fingerprint, 16)


class Disk:
    """Lets writes fail from a number of bytes on, in the middle of a line too."""

    def __init__(self, monkeypatch):
        self.room = None
        self._write = journal.write_at
        monkeypatch.setattr(journal, "write_at", self.write)

    def write(self, handle, data, at):
        if self.room is None:
            return self._write(handle, data, at)
        if not self.room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        done = self._write(handle, bytes(data)[: self.room], at)
        self.room -= done
        return done


def session_of(folder, told=None, **options):
    tell = [] if told is None else [lambda *each: told.append(each)]
    return Session(PARAMS, folder, "-", tell=tell, **options)


def test_a_full_disk_loses_nothing_and_is_told_once(tmp_path, monkeypatch):
    probs, told = steps_of(300), []
    session = session_of(tmp_path, told, save_every=20)
    disk = Disk(monkeypatch)
    for at in range(0, 300, 10):
        disk.room = 700 if at == 50 else None if at == 200 else disk.room
        session.take([Chunk(json_lines(probs[at : at + 10]))])
        session.tick()
    notes = [text for kind, text, _ in told if kind == "note" and "No space" in text]
    assert any("watching goes on" in text for text in notes)
    assert sum("watching goes on" in text for _, text, _ in told) == 1
    assert any("is written again; nothing was lost" in text for _, text, _ in told)
    session.close()
    assert np.array_equal(received(tmp_path), probs) and decided_alike(tmp_path, probs)


def test_messages_are_acknowledged_when_the_disk_has_them(tmp_path, monkeypatch):
    """Else a loss of power takes what the broker does not send again."""
    happened, sync = [], os.fsync

    def fsync(handle):
        if os.readlink(f"/proc/self/fd/{handle}").endswith("received.jsonl"):
            happened.append(len(received(tmp_path)))
        sync(handle)

    session = session_of(tmp_path, [])
    monkeypatch.setattr("tcuq_watch.live.folder.os.fsync", fsync)
    for _ in range(2):
        session.take([Chunk(json_lines(steps_of(10)), ack=lambda: happened.append("ack"))])
    assert happened == [10, "ack", 20, "ack"]
    session.take([Chunk(json_lines(steps_of(10)))])  # nobody waits for a word, so the disk has time
    assert happened == [10, "ack", 20, "ack"]
    monkeypatch.undo()
    session.close()


def test_a_kill_while_the_disk_is_full_leaves_whole_lines(tmp_path, monkeypatch):
    probs = steps_of(100)
    session = session_of(tmp_path, save_every=20)
    session.take([Chunk(json_lines(probs[:40]))])
    disk = Disk(monkeypatch)
    disk.room = 250
    session.take([Chunk(json_lines(probs[40:60]))])
    os.close(session.folder._lock)  # as the system does
    disk.room = None
    again = session_of(tmp_path)
    assert 40 <= again.step < 60
    again.take([Chunk(json_lines(probs[again.step :]))])
    again.close()
    assert decided_alike(tmp_path, probs)


def test_lines_beyond_the_bound_are_counted(tmp_path, monkeypatch):
    told = []
    session = session_of(tmp_path, told)
    session.folder.received.limit = 1000
    disk = Disk(monkeypatch)
    disk.room = 0
    for _ in range(5):
        session.take([Chunk(json_lines(steps_of(10)))])
        session.tick()
    disk.room = None
    session.tick()
    assert session.publisher.counts["unkept"] >= 40
    assert any("lines were lost" in text for _, text, _ in told)
    session.close()


def test_a_state_that_cannot_be_saved_leaves_the_one_before(tmp_path, monkeypatch):
    told = []
    session = session_of(tmp_path, told, save_every=10)
    session.take([Chunk(json_lines(steps_of(10)))])
    before = (tmp_path / "session.json").read_text()

    def refuse(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("tcuq_watch.live.folder.write_whole", refuse)
    session.take([Chunk(json_lines(steps_of(10)))])
    assert (tmp_path / "session.json").read_text() == before
    assert any("was not saved" in text for _, text, _ in told)
    monkeypatch.undo()
    session.close()
    assert json.loads((tmp_path / "session.json").read_text())["step"] == 20


def test_marks_become_labels(tmp_path):
    probs, told = steps_of(200), []
    session = session_of(tmp_path, told)
    session.take([Chunk(json_lines(probs, 1))])
    assert session.mark(3, 2) == "step 3 was class 2"
    assert session.mark(5, None) == "step 5 was wrong"
    session.mark(7, 1)
    session.mark(7, -1)
    for step, label in ((200, 0), (-1, 0), (3, 4), (3, -2), (3, True), ("3", 0)):
        with refused("value"):
            session.mark(step, label)
    session.close()
    assert read_marks(tmp_path / "marks.jsonl") == {3: 2, 5: -1, 7: -1}
    assert [step for kind, _, step in told if kind == "mark"] == [3, 5, 7, 7]
    log = labeled_log(tmp_path, PARAMS)
    answers = read_decisions(tmp_path / "decisions.jsonl").steps["answer"]
    expected = answers.copy()
    expected[[3, 5, 7]] = 2, -1, -1
    assert log.labels.tolist() == expected.tolist() and np.array_equal(log.probs, probs)
    assert len(labeled_log(tmp_path, PARAMS, 10, 19)) == 10
    with refused("missing"):
        labeled_log(tmp_path, PARAMS, 500)


def test_a_mark_on_a_full_disk_says_so(tmp_path, monkeypatch):
    session = session_of(tmp_path)
    session.take([Chunk(json_lines(steps_of(10)))])
    session.mark(1, 0)
    disk = Disk(monkeypatch)
    disk.room = 5
    with refused("failed"):
        session.mark(2, 0)
    disk.room = None
    session.mark(3, 0)
    session.close()
    assert read_marks(tmp_path / "marks.jsonl") == {1: 0, 3: 0}


def test_what_is_kept_is_read_by_the_other_commands(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    params = Params(classes=4, features=3, feature_scale=0.05, warmup=4, names=("a", "b", "c", "d"))
    params.save("m.json")
    rng = np.random.default_rng(0)
    probs, features = rng.dirichlet(np.ones(4) * 0.4, 400), rng.normal(0, 1, (400, 3))
    rows = zip(probs.tolist(), features.tolist(), strict=True)
    lines = [
        json.dumps({"probs": p, "features": f, "boot": n // 150, "seq": n % 150})
        for n, (p, f) in enumerate(rows)
    ]
    session = Session(params, "kept", "-")
    session.take([Chunk("".join(f"{line}\n" for line in lines).encode())])
    session.mark(9, 3)
    for step in range(20, 280, 10):
        session.mark(step, None)
    session.close()
    assert main(["run", "m.json", "kept/received.jsonl", "-o", "again.jsonl"]) == 0
    again, kept = read_decisions("again.jsonl"), read_decisions("kept/decisions.jsonl")
    assert np.array_equal(again.steps["risk"], kept.steps["risk"]) and kept.names == params.names
    assert main(["audit", "kept/decisions.jsonl", "m.json", "--log", "kept/received.jsonl"]) == 0
    report = [
        "report",
        "kept/decisions.jsonl",
        "-o",
        "r.html",
        "--params",
        "m.json",
        "--log",
        "kept/received.jsonl",
    ]
    assert main(report) == 0
    assert main(["live", "m.json", "kept", "--merge", "field.npz", "--steps", "0:299"]) == 0
    assert "not used" not in capsys.readouterr().err
    log = read_log("field.npz")
    assert len(log) == 300 and log.feature_scale == params.feature_scale and log.labels[9] == 3
    assert log.segments.max() == 1
    assert fit(log, run_length=100).classes == 4
    assert main(["run", "m.json", "kept/received.jsonl", "--state-in", "kept/state.bin", "-o", "c.csv"]) == 0


def test_a_gap_without_numbers_begins_a_segment_only_when_it_is_long(tmp_path):
    probs = steps_of(30)
    session = session_of(tmp_path)
    session.take([Chunk(json_lines(probs[:10]), 1000.0), Event("lost", "gone"), Event("connected", "back")])
    session.take([Chunk(json_lines(probs[10:20]), 1030.0), Event("lost", "gone"), Event("connected", "back")])
    session.take([Chunk(json_lines(probs[20:]), 1100.0)])
    session.close()
    segments = [
        json.loads(line)["segment"] for line in (tmp_path / "received.jsonl").read_text().splitlines()
    ]
    assert segments == [0] * 20 + [1] * 10


def test_the_state_of_the_device_is_taken_over(tmp_path):
    probs = steps_of(60)
    device = Monitor(PARAMS)
    device.run(probs[:40])
    frames = encode_posteriors(PRINT, 1, 0, probs[:20])  # 20 to 38 are lost
    frames += encode_posteriors(PRINT, 1, 39, probs[39:40]) + encode_state(PRINT, 1, 39, device.save())
    session = session_of(tmp_path)
    session.take([Chunk(frames)])
    session.folder.close()  # killed
    again = session_of(tmp_path)
    again.take([Chunk(encode_posteriors(PRINT, 1, 40, probs[40:]))])
    again.close()
    assert again.publisher.counts["missing"] == 19
    kept = read_decisions(tmp_path / "decisions.jsonl").steps["risk"][-20:]
    assert np.array_equal(kept, device.run(probs[40:])["risk"])


def test_names_from_the_device_reach_page_and_logs(tmp_path):
    session = session_of(tmp_path)
    session.take([Chunk(b'{"names": ["cat", "dog", "cow", "hen"]}\n' + json_lines(steps_of(5)))])
    assert session.publisher.feed.about["names"][1] == "dog"
    session.mark(2, 1)
    session.close()
    assert json.loads((tmp_path / "received.jsonl").read_text().splitlines()[0])["names"][3] == "hen"
    assert read_decisions(tmp_path / "decisions.jsonl").names is not None
    again = session_of(tmp_path)
    assert again.stream.names == ("cat", "dog", "cow", "hen")
    again.close()
