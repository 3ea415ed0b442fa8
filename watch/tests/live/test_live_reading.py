"""From bytes to steps: lines, columns and frames in one stream, and what cannot be read."""

import json
import math

import numpy as np
import pytest
from frame_writing import encode_decisions, encode_posteriors, encode_state
from hypothesis import given
from hypothesis import strategies as st
from live_runs import PARAMS, json_lines, steps_of
from streams import same_steps

from tcuq import Monitor, Params
from tcuq.io import read_decisions
from tcuq.monitor.logits import paired, softmax
from tcuq_watch.live.blocks import Block, DeviceState, decision_values, joined
from tcuq_watch.live.inbox import Chunk
from tcuq_watch.live.judge import WINDOW, Order
from tcuq_watch.live.marks import labeled_log
from tcuq_watch.live.reading import Reading
from tcuq_watch.live.session import Session

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


def test_features_that_no_signal_reads_may_be_left_out(tmp_path):
    signals = tuple(name for name in Params(classes=4).signals)
    params = Params(classes=4, features=2, feature_scale=0.5, signals=signals)
    probs, features = steps_of(30), np.ones((10, 2), dtype=np.int8)
    number = int(params.fingerprint, 16)
    session = Session(params, tmp_path, "-", save_every=1000)
    with_features = encode_posteriors(number, 1, 0, probs[:10], features)
    without = encode_posteriors(number, 2, 0, probs[20:])
    session.take([Chunk(with_features + json_lines(probs[10:20]) + without)])
    assert session.reading.broken == 0 and session.step == 30, session.reading.why
    session.folder.close()
    again = Session(params, tmp_path, "-")
    assert again.step == 30 and len(labeled_log(tmp_path, params)) == 30
    again.close()
    found = read_decisions(tmp_path / "decisions.jsonl").steps
    expected = [Monitor(params).run(probs[:10], features)["risk"], found["risk"][:10]]
    assert np.array_equal(*expected)
    assert not Reading(params).push(encode_posteriors(number, 1, 0, probs, np.ones((30, 3), np.int8)), 0.0)


def test_logits():
    reading = Reading(PARAMS, lambda row: softmax(paired(row)))
    [block] = reading.push(b'{"probs": [0.5, 2.5, -1.0, 0.0]}\n', 0.0)
    assert block.probs.argmax() == 1 and reading.broken == 0


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('{"probs": [1, 2]}', "expected 4"),
        ('{"probs": [0.5, 0.5, 0.5, 0.5]}', "sum to 2"),
        ('{"probs": [NaN, 0.5, 0.5, 0.0]}', "expected"),
        ('{"probs": [0.25, 0.25, 0.25, 0.25], "seq": -1}', "seq is -1"),
        ('{"probs": [0.25, 0.25, 0.25, 0.25], "seq": 1.5}', "seq is 1.5"),
        ('{"probs": [0.25, 0.25, 0.25, 0.25], "boot": true}', "boot is True"),
        ('{"probs": [0.25, 0.25, 0.25, 0.25], "boot": "x"}', "boot is x"),
        ('{"risk": 2, "threshold": 0.5, "answer": 0}', "risk is 2"),
        ('{"risk": 0.5, "threshold": 0.5, "answer": 4}', "answer is 4"),
        ('{"risk": 0.5, "threshold": 0.5, "answer": 1.5}', "answer is 1.5"),
        ('{"risk": 0.5, "threshold": 0.5}', "'answer' is missing"),
        ('{"risk": 0.5, "answer": 0}', "'threshold' is missing"),
        ('{"risk": 0.5, "threshold": 0.5, "answer": 0, "reason": "mood"}', "reason is 'mood'"),
        ('{"risk": 0.5, "threshold": 0.5, "answer": 0, "abstain": 2}', "abstain is 2"),
        ('{"names": ["a", "b"]}', "names"),
        ("[" * 5000, "JSON"),
        ('{"a":' * 3000, "deeply"),
        ("1,2,3,4", "CSV header"),
        ('"', "neither|unexpected|CSV"),
    ],
)
def test_lines_that_cannot_be_read_are_counted(line, why):
    import re

    reading = Reading(PARAMS)
    assert not reading.push(line.encode() + b"\n", 0.0)
    assert reading.broken == 1 and re.search(why, reading.why), reading.why
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


def test_frames_of_another_width():
    reading = Reading(PARAMS)
    assert not reading.push(encode_posteriors(PRINT, 1, 0, np.zeros((2, 3), dtype=np.int8)), 0.0)
    assert reading.broken == 1 and "3 classes" in reading.why


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


def test_columns_are_known_after_a_connection_was_lost():
    reading = Reading(PARAMS)
    reading.push(b"p0,p1,p2,p3\n0.25,0.25,0.25,0.25\n", 0.0)
    reading.end(False, 0.0)
    reading.begin()
    assert len(reading.push(b"0.25,0.25,0.25,0.25\n", 0.0)[0]) == 1 and reading.broken == 0


def test_labels_by_name():
    lines = b'{"names": ["a", "b", "c", "d"]}\n{"probs": [1, 2, 3, 4], "label": "c"}\n'
    reading = Reading(PARAMS)
    [block] = reading.push(lines, 0.0)
    assert block.labels == [2]
    reading.begin()
    [block] = reading.push(b"p0,p1,p2,p3,label\n1,2,3,4,d\n", 0.0)
    assert block.labels == [3] and reading.broken == 0


def test_noise_in_keys_has_a_bound():
    reading = Reading(PARAMS)
    for n in range(1000):
        reading.push(b'{"probs": [1, 2, 3, 4], "k%d": 0}\n' % n, 0.0)
    assert len(reading.notes) < 300


def test_keys_that_nobody_reads_are_told_once():
    reading = Reading(PARAMS)
    row = b'{"probs": [1, 2, 3, 4], "celsius": 20, "time": 3}\n'
    reading.push(row * 3, 0.0)
    assert reading.notes == ["key 'celsius' is not used."]


def test_half_a_line_is_dropped_or_taken():
    half = json_lines(steps_of(1))[:-1]
    lost, ended = Reading(PARAMS), Reading(PARAMS)
    assert not lost.push(half, 0.0) and not lost.end(False, 0.0) and lost.broken == 1
    assert "half a line" in lost.why
    assert not ended.push(half, 0.0) and len(ended.end(True, 0.0)) == 1 and ended.broken == 0


def test_lines_behind_noise_that_looks_like_a_frame_are_not_lost():
    reading = Reading(PARAMS)
    found = reading.push(b"\x00\x05\xf9noise\n" + json_lines(steps_of(5)) + b'{"pro', 0.0)
    assert not found  # it may still become a frame
    assert len(probs_of(reading.end(False, 0.0))) == 5 and reading.broken == 1


def test_a_decision_needs_little():
    assert decision_values({"risk": 0.3, "threshold": 0.2, "answer": 2}, 4)[0] == round(0.3 * 65536) / 65536
    values = decision_values({"risk": 0, "threshold": 1, "prediction": 3, "expected_accuracy": None}, 4)
    assert values[7:10] == (3, 3, False) and math.isnan(values[6])


def test_some_steps_of_a_block():
    block = Block([1.0, 2.0], [1, 1], [0, 1], np.zeros((2, 4), dtype=np.int8), None, [None, 3], [None, None])
    assert block.at([0, 1]) is block
    assert block.at([1]).segments == [3] and block.at([1]).times == [2.0]


def test_steps_that_differ_in_features_are_not_the_same():
    probs = np.zeros((2, 4), dtype=np.int8)
    block = Block([0.0] * 2, [1] * 2, [0] * 2, probs, np.array([[1], [2]], dtype=np.int8))
    assert block.keys()[0] != block.keys()[1]


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


def test_an_order_is_saved_and_restored():
    order = Order()
    for seq in range(WINDOW + 10):
        order.judge(1, seq, b"%d" % seq)
    again = Order.restored(json.loads(json.dumps(order.saved())))
    assert again.judge(1, WINDOW, b"%d" % WINDOW) == "duplicate"
    assert again.judge(1, WINDOW + 12, b"x") == "take" and again.gap == 2
    assert len(again.saved()[2]) <= WINDOW
