"""From bytes to steps: lines, columns and frames in one stream, and what cannot be read."""

import json

import numpy as np
import pytest
from frame_writing import encode_decisions, encode_posteriors, encode_state
from hypothesis import given
from hypothesis import strategies as st
from live_runs import PARAMS, json_lines, steps_of
from streams import same_steps

from tcuq import Monitor, Params
from tcuq_watch.live.judge import WINDOW, Order
from tcuq_watch.sources.blocks import DeviceState, joined
from tcuq_watch.sources.reading import Reading

PRINT = int(PARAMS.fingerprint, 16)


def probs_of(blocks):
    return np.concatenate([block.probs for block in blocks])


def test_lines_columns_and_frames_in_one_stream():
    probs = steps_of(40)
    reading = Reading(PARAMS)
    columns = "boot,seq,p0,p1,p2,p3\n" + "".join(
        f"1,{seq},{','.join(map(str, row))}\n" for seq, row in enumerate(probs[10:20].tolist(), 10)
    )
    data = (
        json_lines(probs[:10], 1)
        + columns.encode()
        + encode_posteriors(PRINT, 1, 20, probs[20:30])
        + b"I (315) wifi: connected\n"
        + json_lines(probs[30:], 1, 30)
    )
    for size in (1, 7, len(data)):
        reading = Reading(PARAMS)
        found = [b for at in range(0, len(data), size) for b in reading.push(data[at : at + size], 1.0)]
        assert np.array_equal(probs_of(found), probs)
        assert [seq for block in found for seq in block.seqs] == list(range(40))
        assert reading.broken == 1 and "wifi" in reading.why
        assert len(joined(found)) == 1
        assert np.array_equal(probs_of(joined(found)), probs)


def test_floats_and_features_are_quantized_as_the_monitor_does():
    params = Params(classes=3, features=2, feature_scale=0.5, feature_zero_point=-10)
    rng = np.random.default_rng(0)
    probs, features = rng.dirichlet(np.ones(3), 50), rng.normal(0, 3, (50, 2))
    rows = [{"probs": p, "features": f} for p, f in zip(probs.tolist(), features.tolist(), strict=True)]
    [block] = Reading(params).push("".join(json.dumps(row) + "\n" for row in rows).encode(), 0.0)
    assert same_steps(Monitor(params).run(block.probs, block.features), Monitor(params).run(probs, features))
    reading = Reading(params)
    assert not reading.push(b'{"probs": [0.5, 0.25, 0.25]}\n', 0.0) and "features are missing" in reading.why


@pytest.mark.parametrize(
    "line",
    [
        '{"probs": [1, 2]}',
        '{"probs": [0.5, 0.5, 0.5, 0.5]}',
        '{"probs": [NaN, 0.5, 0.5, 0.0]}',
        '{"probs": [0.25, 0.25, 0.25, 0.25], "seq": -1}',
        '{"probs": [0.25, 0.25, 0.25, 0.25], "boot": true}',
        '{"risk": 2, "threshold": 0.5, "answer": 0}',
        '{"risk": 0.5, "threshold": 0.5, "answer": 4}',
        '{"risk": 0.5, "threshold": 0.5, "answer": 1.5}',
        '{"risk": 0.5, "threshold": 0.5}',
        '{"risk": 0.5, "answer": 0}',
        '{"risk": 0.5, "threshold": 0.5, "answer": 0, "reason": "mood"}',
        '{"risk": 0.5, "threshold": 0.5, "answer": 0, "abstain": 2}',
        '{"names": ["a", "b"]}',
        "[" * 5000,
        '{"a":' * 3000,
        "1,2,3,4",
        '"',
    ],
)
def test_lines_that_cannot_be_read_are_counted(line):
    reading = Reading(PARAMS)
    assert not reading.push(line.encode() + b"\n", 0.0)
    assert reading.broken == 1 and reading.why.isprintable()
    assert len(reading.push(json_lines(steps_of(3)), 0.0)[0]) == 3


@given(st.lists(st.binary(max_size=60), max_size=30))
def test_no_bytes_stop_the_reading(chunks):
    reading = Reading(PARAMS)
    for chunk in chunks:
        reading.push(chunk, 0.0)
    reading.end(False, 0.0)
    reading.begin()
    assert len(probs_of(reading.push(json_lines(steps_of(5)), 0.0))) == 5


def test_other_parameters_are_counted_and_not_read():
    probs = steps_of(4)
    reading = Reading(PARAMS)
    assert not reading.push(encode_posteriors(PRINT ^ 1, 1, 0, probs), 0.0)
    assert not reading.push(b'{"risk": 0, "threshold": 0, "answer": 0, "params": "00000001"}\n', 0.0)
    assert reading.others == 2 and reading.broken == 0 and "00000001" in reading.other


def test_decisions_of_a_device_as_frames_lines_and_columns_are_the_same():
    steps = Monitor(PARAMS).run(steps_of(30))
    frames = encode_decisions(PRINT, 2, 0, steps, PARAMS.classes, PARAMS.horizon)
    found = [Reading(PARAMS).push(frames, 0.0)]
    from tcuq.io.decisions import Decisions
    from tcuq.io.decisions import encode_decisions as encode

    for kind in ("jsonl", "csv"):
        data = encode(Decisions(steps, fingerprint=PARAMS.fingerprint), kind)
        found.append(Reading(PARAMS).push(data, 0.0))
    for blocks in found:
        got = np.concatenate([block.steps for block in blocks])
        for name in ("risk", "threshold", "answer", "abstain", "flagged", "alarm", "reason", "warming_up"):
            assert np.array_equal(got[name], steps[name]), name
        assert [seq for block in blocks for seq in block.seqs] == list(range(30))


def test_a_state_comes_in_its_place():
    probs = steps_of(4)
    monitor = Monitor(PARAMS)
    monitor.run(probs[:2])
    data = encode_posteriors(PRINT, 1, 0, probs[:2]) + encode_state(PRINT, 1, 1, monitor.save())
    first, state, second = Reading(PARAMS).push(data + encode_posteriors(PRINT, 1, 2, probs[2:]), 0.0)
    assert isinstance(state, DeviceState) and state.seq == 1 and state.state == monitor.save()
    assert len(first) == len(second) == 2


def test_names_are_taken_once_and_may_be_said_again():
    reading = Reading(PARAMS)
    names = b'{"names": ["a", "b", "c", "d"]}\n'
    reading.push(names + json_lines(steps_of(2)) + names, 0.0)
    assert reading.names == ("a", "b", "c", "d") and reading.broken == 0
    reading.push(b'{"names": ["a", "b", "d", "c"]}\n', 0.0)
    assert reading.broken == 1
    other = Reading(PARAMS)
    other.push(b"# names: a,b,c,d\np0,p1,p2,p3\n0.25,0.25,0.25,0.25\n", 0.0)
    assert other.names == ("a", "b", "c", "d") and other.broken == 0


def test_lines_behind_noise_that_looks_like_a_frame_are_not_lost():
    reading = Reading(PARAMS)
    found = reading.push(b"\x00\x05\xf9noise\n" + json_lines(steps_of(5)) + b'{"pro', 0.0)
    assert not found  # it may still become a frame
    assert len(probs_of(reading.end(False, 0.0))) == 5 and reading.broken == 1


def judged(places):
    order = Order()
    return [order.judge(boot, seq, b"%r" % content) for boot, seq, content in places]


@pytest.mark.parametrize(
    ("places", "verdict"),
    [
        ([(1, 0, 0), (1, 1, 1), (1, 1, 1)], "duplicate"),
        ([(1, 0, 0), (1, 2, 2), (1, 1, 1)], "late"),
        ([(1, 5, 0), (2, 0, 1)], "reboot"),
        ([(2, 5, 0), (1, 0, 1)], "late"),
        ([(2, None, 0), (1, None, 1)], "late"),
        ([(1, 0, 0), (1, 1, 1), (1, 0, 0)], "reboot"),  # the same steps once more: no boots are counted
        ([(None, 0, 0), (None, 1, 1), (None, 0, 0)], "reboot"),
        ([(1, 0, 0), (1, 0, 0)], "duplicate"),
        ([(1, 5, 0), (1, 5, 9)], "reboot"),  # the same number and another step: no boots are counted
        ([(1, WINDOW + 9, 0), (1, 0, 1)], "reboot"),
        ([(None, 5, 0), (None, 0, 1)], "reboot"),
        ([(None, 5, 0), (None, 6, 1)], "take"),
        ([(None, None, 0), (None, None, 0)], "take"),
        ([(1, None, 0), (2, None, 0)], "reboot"),
    ],
)
def test_places_of_steps(places, verdict):
    assert judged(places)[-1] == verdict


@pytest.mark.parametrize(
    ("places", "verdict"),
    [
        ([(1, 0, 0), (1, 1, 1), (1, 0, 0)], "duplicate"),
        ([(None, 0, 0), (None, 1, 1), (None, 0, 0)], "duplicate"),
        ([(1, 0, 0), (1, 1, 1), (1, 0, 9)], "reboot"),  # another step: it was sent before, and never came
        ([(1, WINDOW + 9, 0), (1, 0, 1)], "late"),  # a long message: its beginning is forgotten
        ([(1, WINDOW + 9, 0), (1, 1, 1)], "late"),
        ([(None, WINDOW + 9, 0), (None, 0, 1)], "reboot"),
        ([(None, WINDOW + 9, 0), (None, 1, 1)], "reboot"),
        ([(1, 5, 0), (2, 0, 1)], "reboot"),
        ([(1, 5, 0), (1, 6, 1)], "take"),
    ],
)
def test_places_of_steps_that_a_broker_sends_again(places, verdict):
    order = Order()
    for boot, seq, content in places[:-1]:
        order.judge(boot, seq, b"%r" % content)
    boot, seq, content = places[-1]
    assert order.judge(boot, seq, b"%r" % content, again=True) == verdict
