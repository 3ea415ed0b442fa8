"""Killed at any moment and started again: nothing that came is lost, and decisions are the same bits."""

import json
import os
import random
import time

import numpy as np
import pytest
from frame_writing import encode_posteriors
from live_runs import (
    PARAMS,
    decided_alike,
    json_lines,
    received,
    start_watching,
    steps_of,
    wait_until,
    watch,
)
from refusals import refused
from streams import same_steps

from tcuq import Monitor
from tcuq.io import read_decisions
from tcuq.io.binary_frames import DecisionsFrame
from tcuq_watch.live.session import Session
from tcuq_watch.sources.blocks import odd_steps
from tcuq_watch.sources.inbox import Chunk

KILLS = 20


def in_frames(probs, boot, first=0):
    return encode_posteriors(int(PARAMS.fingerprint, 16), boot, first, probs, size=200)


@pytest.mark.parametrize("kind", ["lines", "numbered", "frames"])
def test_decisions_after_kills_are_those_of_a_run_without(tmp_path, kind):
    rng = random.Random(kind)
    probs = steps_of(3000)
    log, folder = tmp_path / "grows.log", tmp_path / "kept"
    sent, kills, moments = 0, KILLS if kind == "lines" else 7, set()

    def kept():
        path = folder / "decisions.jsonl"
        return path.read_bytes().count(b"\n") if path.exists() else 0

    def send(file, count):
        nonlocal sent
        some, first = probs[sent : sent + count], sent
        sent += len(some)
        if not len(some):
            return
        boot = 3 if kind == "numbered" else None
        text = in_frames(some, 3, first) if kind == "frames" else json_lines(some, boot, first)
        at = rng.randrange(len(text))  # a line or frame may be read in two parts
        file.write(text[:at])
        time.sleep(rng.choice((0, 0.003)))
        file.write(text[at:])

    with open(log, "ab", buffering=0) as file:
        for kill in range(kills):
            process = start_watching(folder, str(log), len(probs), rng.choice((1, 20, 1000)))
            most = len(probs) * (kill + 1) // (kills + 1)  # every kill meets a stream that goes on
            enough = kept() + rng.randrange(120) if rng.random() < 0.8 else 0  # or at its very beginning
            limit = time.monotonic() + 3
            while kept() < enough and time.monotonic() < limit:
                send(file, min(rng.randrange(1, 20), most - sent))
                time.sleep(0.002)
            time.sleep(rng.uniform(0, 0.03))
            process.kill()
            process.join(10)
            moments.add(kept())
        while sent < len(probs):
            send(file, 100)
    assert len(moments) > kills // 3
    process = start_watching(folder, str(log), len(probs))
    process.join(20)
    assert process.exitcode == 0
    assert np.array_equal(received(folder), probs)
    assert decided_alike(folder, probs)
    counts = json.loads((folder / "session.json").read_text())["counts"]
    assert counts["steps"] == len(probs)
    assert counts["missing"] == counts["duplicates"] == counts["reboots"] == counts["broken"] == 0


def taken(session, data):
    session.take([Chunk(data)])


def test_half_written_lines_are_cut_and_told(tmp_path):
    probs = steps_of(60)
    session = Session(PARAMS, tmp_path, "-", save_every=1000)
    taken(session, json_lines(probs[:40]))
    session.folder.close()  # as a kill leaves it: nothing was saved
    for name, size in (("received.jsonl", -30), ("decisions.jsonl", -700)):
        os.truncate(tmp_path / name, (tmp_path / name).stat().st_size + size)
    told = []
    again = Session(PARAMS, tmp_path, "-", tell=[lambda kind, text, step: told.append((kind, text, step))])
    assert again.step == 39  # the last line had lost its end
    assert told[0][0] == "restart" and "39 steps" in told[0][1] and "cut off" in told[0][1]
    taken(again, json_lines(probs[39:]))
    again.close()
    assert decided_alike(tmp_path, probs)


def test_decisions_of_steps_that_a_loss_of_power_took_are_taken_back(tmp_path):
    probs = steps_of(60)
    session = Session(PARAMS, tmp_path, "-", save_every=1000)
    taken(session, json_lines(probs[:40]))
    session.folder.close()
    log = tmp_path / "received.jsonl"
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:25]))
    again = Session(PARAMS, tmp_path, "-")
    assert again.step == 25
    taken(again, json_lines(probs[25:]))
    again.close()
    assert decided_alike(tmp_path, probs)


@pytest.mark.parametrize("name", ["received.jsonl", "decisions.jsonl"])
def test_steps_in_and_after_a_hole_that_a_loss_of_power_left_are_taken_again(tmp_path, name):
    probs = steps_of(60)
    session = Session(PARAMS, tmp_path, "-", save_every=1000)
    taken(session, json_lines(probs[:20], boot=1, first=5))
    session.stream.save()
    for first in (20, 25):
        taken(session, json_lines(probs[first : first + 5], boot=1, first=5 + first))
    session.folder.close()
    log = tmp_path / name
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join([*lines[:21], bytes(sum(map(len, lines[21:24]))), *lines[24:]]))
    told = []
    again = Session(PARAMS, tmp_path, "-", tell=[lambda kind, text, step: told.append(text)])
    assert "a hole" in told[0] and again.step == (21 if name == "received.jsonl" else 30)
    taken(again, json_lines(probs, boot=1, first=5))
    again.close()
    assert np.array_equal(received(tmp_path), probs) and decided_alike(tmp_path, probs)


def test_resets_and_places_survive_a_kill(tmp_path):
    probs = steps_of(90)
    names = []
    for folder in ("one", "two"):
        session = Session(PARAMS, tmp_path / folder, "-", save_every=1000)
        for boot, rows in ((1, slice(0, 30)), (2, slice(30, 60))):
            taken(session, json_lines(probs[rows], boot))
        if folder == "two":
            session.folder.close()
            session = Session(PARAMS, tmp_path / folder, "-", save_every=1000)
            taken(session, json_lines(probs[50:60], 2, 20))  # sent again by a device that is not sure
            assert session.publisher.counts["duplicates"] == 10 and session.step == 60
        taken(session, json_lines(probs[60:], 2, 30))
        names.append(session.stream.order.seq)
        session.close()
    one, two = (read_decisions(tmp_path / folder / "decisions.jsonl") for folder in ("one", "two"))
    assert same_steps(one.steps, two.steps) and names == [59, 59]
    assert (tmp_path / "one" / "received.jsonl").read_text().count('"segment": 1') == 60


@pytest.mark.parametrize("kind", ["decisions", "received"])
def test_a_line_of_a_log_that_cannot_be_read_again_is_named_and_left_out(tmp_path, kind):
    if kind == "decisions":
        rows = [{"seq": n, "risk": 0.25, "threshold": 0.5, "answer": n % 4} for n in range(20)]
        data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    else:
        data = json_lines(steps_of(20))
    session = Session(PARAMS, tmp_path, "-")
    taken(session, data)
    session.folder.close()
    path = tmp_path / f"{kind}.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    bad = json.loads(lines[7]) | ({"prediction": 99} if kind == "decisions" else {"probs": [1, 2]})
    path.write_text("".join([*lines[:7], json.dumps(bad) + "\n", *lines[8:]]))
    told = []
    again = Session(PARAMS, tmp_path, "-", tell=[lambda _, text, step: told.append(text)])
    assert again.step == 20 and f"{kind}.jsonl: 1 lines cannot be read" in told[0]
    again.close()


def test_decisions_of_a_device_go_on_after_a_kill(tmp_path):
    def lines(first, last):
        rows = [{"seq": n, "risk": 0.25, "threshold": 0.5, "answer": n % 4} for n in range(first, last)]
        return "".join(json.dumps(row) + "\n" for row in rows).encode()

    session = Session(PARAMS, tmp_path, "-")
    taken(session, lines(0, 20))
    session.folder.close()
    again = Session(PARAMS, tmp_path, "-")
    assert again.step == 20 and again.stream.by_device
    taken(again, lines(18, 30))
    again.close()
    assert again.publisher.counts["duplicates"] == 2
    found = read_decisions(tmp_path / "decisions.jsonl")
    assert found.steps["answer"].tolist() == [n % 4 for n in range(30)]
    assert not (tmp_path / "received.jsonl").read_bytes()


def test_a_second_writer_is_refused(tmp_path):
    session = Session(PARAMS, tmp_path, "-")
    with refused("busy"):
        Session(PARAMS, tmp_path, "-")
    session.close()
    Session(PARAMS, tmp_path, "-").close()


@pytest.mark.parametrize(
    "content", ["", "{}", "[1]", '{"params": 1', '{"params": "x", "source": "", "state": "?"}']
)
def test_a_damaged_session_file_is_refused(tmp_path, content):
    Session(PARAMS, tmp_path, "-").close()
    (tmp_path / "session.json").write_text(content)
    with refused("damaged"):
        Session(PARAMS, tmp_path, "-")


def test_a_file_that_was_replaced_while_nobody_watched_is_read_from_its_beginning(tmp_path):
    probs = steps_of(60)
    log, folder = tmp_path / "grows.log", tmp_path / "kept"
    log.write_bytes(json_lines(probs[:40]))
    watch(str(folder), str(log), 40, 1000)
    log.rename(tmp_path / "old.log")
    log.write_bytes(json_lines(probs[40:]))
    watch(str(folder), str(log), 60, 1000)
    assert np.array_equal(received(folder), probs)


@pytest.mark.parametrize("watched", [True, False])
def test_a_file_that_was_cut_and_is_longer_again_is_read_from_its_beginning(tmp_path, watched):
    probs = steps_of(100)
    log, folder = tmp_path / "grows.log", tmp_path / "kept"
    log.write_bytes(json_lines(probs[:30]))
    if watched:
        process = start_watching(folder, str(log), 100)
        assert wait_until(lambda: (folder / "received.jsonl").exists() and len(received(folder)) == 30)
    else:
        watch(str(folder), str(log), 30, 1000)
    log.write_bytes(json_lines(probs[30:]))  # the same file
    if not watched:
        process = start_watching(folder, str(log), 100)
    process.join(10)
    process.kill()
    process.join(10)
    assert np.array_equal(received(folder), probs)


@pytest.mark.parametrize("kind", ["lines without boot", "frames of one boot"])
@pytest.mark.parametrize("cut", [0, 7])
def test_a_device_that_starts_again_while_nobody_watches_a_file(tmp_path, kind, cut):
    probs = steps_of(600)

    def text(first, last):
        if kind.startswith("frames"):
            return in_frames(probs[first:last], 1)
        rows = [{"probs": row, "seq": seq} for seq, row in enumerate(probs[first:last].tolist())]
        return "".join(json.dumps(row) + "\n" for row in rows).encode()

    log, folder = tmp_path / "grows.log", tmp_path / "kept"
    second = text(300, 400)
    log.write_bytes(text(0, 200) + text(200, 300) + second[:cut])
    watch(str(folder), str(log), 300, 1000)
    with open(log, "ab") as file:
        file.write(second[cut:] + text(400, 600))
    watch(str(folder), str(log), 600, 1000)
    assert np.array_equal(received(folder), probs)
    counts = json.loads((folder / "session.json").read_text())["counts"]
    assert counts["reboots"] == 3 and counts["duplicates"] == counts["late"] == counts["broken"] == 0


def test_steps_that_a_kill_left_without_their_place_in_a_file_come_once(tmp_path):
    probs = steps_of(90)
    log, folder = tmp_path / "grows.log", tmp_path / "kept"
    log.write_bytes(json_lines(probs[:60]))
    log_of = folder / "received.jsonl"
    watch(str(folder), str(log), 60, 1000)
    lines = log_of.read_bytes().splitlines(keepends=True)
    saved = json.loads((folder / "session.json").read_text())
    fresh = {"params": saved["params"], "source": saved["source"], "identity": saved["identity"]}
    (folder / "session.json").write_text(json.dumps(fresh))  # as it was before the first step
    log_of.write_bytes(b"".join(lines[:40]))
    with open(log, "ab") as file:
        file.write(json_lines(probs[60:]))
    watch(str(folder), str(log), 90, 1000)
    assert np.array_equal(received(folder), probs) and decided_alike(folder, probs)


@pytest.mark.parametrize(
    ("field", "value", "why"),
    [
        ("prediction", 9, "prediction is 9"),
        ("reason", 200, "reason is 200"),
        ("severity", 300.0, "severity is 300"),
    ],
)
def test_frames_of_decisions_out_of_range_are_refused(tmp_path, field, value, why):
    steps = Monitor(PARAMS).run(steps_of(5))
    assert odd_steps(steps, PARAMS.classes) is None
    steps[field][3] = value
    assert odd_steps(steps, PARAMS.classes).startswith(why)
    frame = DecisionsFrame(int(PARAMS.fingerprint, 16), 1, 0, steps)
    session = Session(PARAMS, tmp_path, "-")
    assert not session.reading._from_frame(frame, 0.0)
    assert session.reading.broken == 1 and why in session.reading.why
    session.close()
