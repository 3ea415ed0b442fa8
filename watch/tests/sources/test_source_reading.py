"""From bytes to steps: lines, columns, frames and messages, what cannot be read, and what is made to hurt."""

from __future__ import annotations

import json
import math
import time
import tracemalloc
from typing import Any

import numpy as np
import pytest
from frame_writing import encode_decisions, encode_posteriors, encode_state
from hypothesis import given
from hypothesis import strategies as st
from limit_checks import says
from slow_lines import attack, in_time
from source_kinds import EXPECTED, NAME, PRINT, PROBS, ROWS, columns_of, csv_lines, frames, json_lines, places

from tcuq import Monitor, Params
from tcuq.io import Limits
from tcuq.io.decisions import Decisions
from tcuq.io.decisions import encode_decisions as decision_lines
from tcuq.log.logits import paired, softmax
from tcuq_watch.sources.arrivals import seconds
from tcuq_watch.sources.step_reader import MOST_BAD, StepReader

PARAMS = Params(classes=4, warmup=4, level=0.2, budget=0.2)


def reader(**options: Any) -> StepReader:
    return StepReader("here", **{"device": NAME, "stream": True, **options})


def events_of(reading: StepReader) -> list[Any]:
    return list(reading.rows.flush(None).batch)


def test_lines_columns_and_frames_in_one_stream_however_it_is_cut() -> None:
    data = json_lines(ROWS[:10]) + csv_lines(ROWS[10:20]) + frames(ROWS[20:34])
    data += b"I (315) wifi: connected\n" + json_lines(ROWS[34:40])
    for size in (1, 7, len(data)):
        reading = reader()
        for at in range(0, len(data), size):
            reading.push(data[at : at + size], 1.0)
        arrived = reading.rows.flush(None)
        assert columns_of([arrived]) == EXPECTED[:40]
        assert len(arrived.batch) == 1  # all of one shape: each block would have a cost of its own
        assert reading.bad.counts == {"not a step": 1} and reading.held == 0
        assert "wifi" in reading.bad.last["not a step"]


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("not JSON", '{"probs": [1.0, 0.0]} {}'),
        ("not JSON", '{"a":' * 3000),
        ("broken", b"\xff\xfe garbage \x80"),
        ("broken", b'{"device": "\xff", "probs": [1.0, 0.0]}'),
        ("not a step", '"'),
        ("not a step", "p0,p2"),
        ("device name", json.dumps({"device": "x" * 129, "seq": 0, "probs": [1.0, 0.0]})),
        ("device name", '{"device": "a\\u001b[2J", "seq": 0, "probs": [1.0, 0.0]}'),
        ("seq", '{"seq": 9223372036854775808, "probs": [1.0, 0.0]}'),
        ("boot", '{"seq": 0, "boot": "1", "probs": [1.0, 0.0]}'),
        ("probs", '{"seq": 0, "probs": [1' + "0" * 400 + ", 0.5]}"),
        ("features", '{"seq": 0, "probs": [1.0, 0.0], "features": "f"}'),
        ("version", '{"seq": 0, "probs": [1.0, 0.0], "version": 1}'),
        ("label", '{"seq": 0, "probs": [1.0, 0.0], "label": "cat"}'),
        ("state", '{"seq": 0, "state": "%"}'),
        ("names", '{"names": ["a", 5]}'),
        ("decision", '{"risk": 0.5, "threshold": 0.5, "answer": 0, "reason": "mood"}'),
    ],
)
def test_a_line_that_cannot_be_read_is_counted_and_stops_nothing(kind: str, line: str | bytes) -> None:
    reading = reader()
    content = line if isinstance(line, bytes) else line.encode()
    reading.push(json_lines(ROWS[:1]) + content + b"\n\n" + json_lines(ROWS[1:3]))
    arrived = reading.rows.flush(None)
    assert places([arrived]) == [(NAME, 0), (NAME, 1), (NAME, 2)]
    assert arrived.refused == {kind: 1} and reading.bad.last[kind].startswith("here: ")
    assert reading.bad.last[kind].isprintable()


def test_who_sends_and_what_is_not_told() -> None:
    reading = reader(device=None)
    reading.push(b'{"probs": [1.0, 0.0]}\n' + encode_posteriors(PRINT, 1, 0, PROBS[:2]))
    assert reading.rows.flush(None).refused == {"device name": 2}
    reading = reader()
    reading.push(
        b'{"probs": [0.25, 0.75], "params": "0000beef"}\n{"device": 7, "seq": null, "probs": [1, 0]}\n', 5.0
    )
    first, second = events_of(reading)
    assert (first.devices[0], first.boots[0], first.seqs[0], first.times[0]) == (NAME, -1, -1, 5.0)
    assert first.version == "0000beef" and second.devices.tolist() == ["7"] and second.probs.dtype == float
    reading.push(b'{"seq": 1, "probs": [0.5, 0.5], "time": "1970-01-02T00:00Z"}\n', 5.0)
    arrived = reading.rows.flush(None)
    assert arrived.batch[0].times.tolist() == [86400.0]
    reading.push(b'{"seq": 2, "probs": [0.5, 0.5], "time": "soon"}\n', 5.0)
    arrived = reading.rows.flush(None)
    assert math.isinf(arrived.batch[0].times[0])


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the zone of a process cannot be set here")
def test_a_time_without_a_zone_is_utc_wherever_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("TZ", "ABC+5")
        time.tzset()
        found = [seconds(f"1970-01-02T00:00{zone}") for zone in ("", "Z", "+01:00")]
    time.tzset()
    assert found == [86400.0, 86400.0, 82800.0]


def test_decisions_of_a_device_as_frames_and_as_lines_are_the_same() -> None:
    steps = Monitor(PARAMS).run(PROBS[:30])
    written = Decisions(steps, fingerprint=PARAMS.fingerprint)
    kinds = {
        "frames": encode_decisions(int(PARAMS.fingerprint, 16), 2, 0, steps, PARAMS.classes, PARAMS.horizon),
        "lines": decision_lines(written, "jsonl"),
    }
    for kind, data in kinds.items():
        reading = reader()
        reading.push(data, 1.0)
        [events] = events_of(reading)
        assert events.probs is None and events.version == PARAMS.fingerprint
        assert events.seqs.tolist() == list(range(30)), kind
        for name in ("risk", "threshold", "answer", "abstain", "flagged", "alarm", "reason", "warming_up"):
            assert np.array_equal(events.steps[name], steps[name]), (kind, name)


def test_a_state_comes_in_its_place_and_may_come_in_several_messages() -> None:
    monitor = Monitor(PARAMS)
    monitor.run(PROBS[:2])
    state = encode_state(PRINT, 1, 1, monitor.save(), size=64)
    whole = encode_posteriors(PRINT, 1, 0, PROBS[:2]) + state + encode_posteriors(PRINT, 1, 2, PROBS[2:4])
    reading, pieces = reader(), reader(device=None)
    reading.push(whole)
    for part in whole.split(b"\0"):
        pieces.message(b"\0" + part + b"\0", NAME, 0.0)
    for each in (reading, pieces):
        first, state, second = each.rows.flush(None).batch
        assert len(first) == len(second) == 2 and not each.bad.counts
        assert state == (NAME, 1, 1, monitor.save(), f"{PRINT:08x}")


def test_names_are_taken_once_and_may_be_said_again() -> None:
    reading = reader()
    names = b'{"names": ["a", "b"]}\n'
    reading.push(names + b'{"probs": [0.5, 0.5], "labels": "b"}\n' + names)
    arrived = reading.rows.flush(None)
    assert arrived.names == ("a", "b") and arrived.batch[0].labels.tolist() == [1]
    reading.push(b'{"names": ["b", "a"]}\n')
    assert reading.rows.flush(None).refused == {"names": 1}
    other = reader(names=("a", "b"))
    other.push(b'# names: a,b\np,label,device\n0.25,b,"\'=1"\n1.0,,007\n')
    [events] = events_of(other)
    assert events.devices.tolist() == ["=1", "007"] and events.labels.tolist() == [1, -1]
    assert events.probs.tolist() == [[0.75, 0.25], [0.0, 1.0]]


def test_logits_become_posteriors_and_bad_ones_cost_their_row() -> None:
    reading = reader(softmax=lambda rows: softmax(paired(rows)))
    reading.push(b'{"probs": [2.0, 0.5]}\n{"probs": [NaN, 0.5]}\n{"probs": [1, 2]}\n{"probs": [0.5, 2.5]}\n')
    arrived = reading.rows.flush(None)
    rows = np.concatenate([each.probs for each in arrived.batch])
    assert np.allclose(rows, softmax([[2.0, 0.5], [0.5, 2.5]])) and arrived.count == 2
    assert arrived.refused == {"logits": 2}  # int8 logits need a scale


def test_an_unnumbered_stream_that_was_interrupted_begins_again() -> None:
    line, numbered = b'{"probs": [0.5, 0.5]}\n', b'{"seq": 4, "probs": [0.5, 0.5]}\n'
    reading = reader()
    begins = []
    for when, act in ((0, None), (30, "cut"), (100, None), (101, "cut"), (170, None), (180, "again")):
        reading.push(line, float(when))
        begins += [each.begins is not None for each in events_of(reading)]
        if act == "cut":
            reading.interrupted()
    assert begins == [False, False, True, False, True, False]
    fresh = reader()
    fresh.recall(json.loads(json.dumps(reading.memory())))
    fresh.push(numbered, 1000.0)  # its number tells what is missing
    fresh.push(line, 1000.0)
    [events] = events_of(fresh)
    assert events.begins.tolist() == [False, True]


def test_half_a_line_at_the_end_of_a_connection() -> None:
    for whole, count in ((True, 5), (False, 4)):
        reading = reader()
        reading.push(json_lines(ROWS[:5])[:-1])
        reading.end(whole)
        assert reading.rows.count == count and bool(reading.bad.counts) != whole
    reading = reader()
    reading.push(b"\x00\x05\xf9noise\n" + json_lines(ROWS[:5]) + b'{"pro')
    assert not reading.rows.count  # it may still become a frame
    reading.end(False)
    assert reading.rows.count == 5 and sum(reading.bad.counts.values()) == 1


@given(st.lists(st.binary(max_size=60), max_size=30))
def test_no_bytes_stop_the_reading(chunks: list[bytes]) -> None:
    reading = reader()
    for chunk in chunks:
        reading.push(chunk, 0.0)
        reading.message(chunk, "a", 0.0)
    reading.end(False)
    before = reading.rows.count
    reading.push(json_lines(ROWS[:5]))
    assert reading.rows.count == before + 5


def test_lines_that_were_made_to_take_long() -> None:
    reading = reader()
    in_time(lambda: reading.push(b'{"probs": ' + attack(60_000).encode() + b"\n"))
    in_time(lambda: reading.push(attack(200_000).encode() + b"\n"))
    in_time(lambda: reading.push((",".join(f"p{n}" for n in range(30_000)) + "\n").encode()))
    assert reading.bad.counts == {"not JSON": 2, "not a step": 1}


@pytest.mark.parametrize("junk", ["1", "{}"])
def test_a_list_of_rubbish_is_counted_without_a_look_at_all_of_it(junk: str) -> None:
    count = 300_000
    reading = reader(limits=Limits(line=1 << 24))
    line = f"[{','.join([junk] * count)}]\n".encode()
    in_time(lambda: reading.push(line))
    counts = reading.bad.counts
    assert sum(counts.values()) == count and counts["after bad steps"] == count - MOST_BAD
    reading.take([1, *ROWS[:5], {}, ROWS[5]])
    assert reading.rows.count == 6


def test_a_stream_without_line_ends_stays_small() -> None:
    reading = reader(line="live_line", limits=Limits(live_line=1000))
    tracemalloc.start()
    for _ in range(300):
        reading.push(b"x" * 4096)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert reading.held <= 1000 and most < 200_000 and reading.bad.counts == {"long line": 1}
    says(reading.bad.last["long line"], "live_line")
    reading.push(b"\n" + json_lines(ROWS[:1]))
    assert reading.rows.count == 1
