# SPDX-License-Identifier: MIT
"""What parameters, logs and monitors refuse: in one line, with what was given and what is expected."""

from __future__ import annotations

import os
import pickle
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from refusals import refused
from streams import int8_stream

from tcuq import SIGNALS, EvidenceHead, Log, Monitor, Params
from tcuq.io import read_log
from tcuq.monitor import signals as signals_
from tcuq.monitor.alarm import alarm_from
from tcuq.monitor.class_names import checked_names
from tcuq.monitor.instant_head import InstantHead, instant_from
from tcuq.monitor.logits import paired, posteriors
from tcuq.monitor.params_file import plain
from tcuq.monitor.quantize import two_classes
from tcuq.monitor.state import HEADER, read_state
from tcuq_lab.float_reference import reference

PROBS = np.array([[0.5, 0.5], [0.2, 0.8]])
INT8 = np.zeros((2, 3), dtype=np.int8)
HEAD = InstantHead({"doubt": 1.0}, class_mix=(0.5, 0.5))

REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "disbelief without a head": (
        lambda: Params(classes=2, signals=("disbelief",)),
        ValueError,
        "instant is None; signal 'disbelief' needs an InstantHead",
    ),
    "an answer without a head": (
        lambda: Params(classes=2, about="answer"),
        ValueError,
        "instant is None; about='answer' needs an InstantHead",
    ),
    "a head that is none": (
        lambda: Params(classes=2, instant={"coef": {}}),  # type: ignore[arg-type]
        TypeError,
        "instant is dict, expected an InstantHead or None",
    ),
    "shares of other classes": (
        lambda: Params(classes=3, signals=("doubt",), instant=HEAD),
        ValueError,
        "class_mix has 2 shares, expected 3",
    ),
    "no centers": (
        lambda: Params(classes=2, features=2, signals=("distance",)),
        ValueError,
        "centers are missing, expected exactly with the signal 'distance'",
    ),
    "centers for nothing": (
        lambda: Params(classes=2, features=2, centers=((0, 0), (0, 0))),
        ValueError,
        "centers are given, expected exactly with the signal 'distance'",
    ),
    "centers of another shape": (
        lambda: Params(classes=2, features=2, signals=("distance",), centers=((0, 0), (0,))),
        ValueError,
        "centers have another shape, expected 2 x 2",
    ),
    "an alarm that is none": (
        lambda: Params(classes=2, alarm=None),  # type: ignore[arg-type]
        TypeError,
        "alarm is NoneType; an Alarm is needed",
    ),
    "a side of the alarm": (
        lambda: alarm_from({"rise": 3}),
        ValueError,
        "alarm rise is 3; an object or null is needed",
    ),
    "coefficients as a list": (
        lambda: InstantHead([1.0]),  # type: ignore[arg-type]
        ValueError,
        r"instant coef is \[1.0\], expected an object",
    ),
    "shares as text": (
        lambda: InstantHead({}, class_mix="half"),  # type: ignore[arg-type]
        ValueError,
        "class_mix is 'half', expected a list",
    ),
    "shares that are no shares": (
        lambda: InstantHead({}, class_mix=(0.5, 0.6)),
        ValueError,
        "class_mix sums to 1.100, expected 1",
    ),
    "a head of a file": (lambda: instant_from(3), ValueError, "instant is 3, expected an object or null"),
    "a head without coefficients": (
        lambda: instant_from({"bias": 0.0}),
        ValueError,
        "instant lacks the field 'coef'",
    ),
    "a bet of one": (
        lambda: EvidenceHead({}, [0.0], bet=(1.0,)),  # type: ignore[arg-type]
        ValueError,
        r"evidence bet is \(1.0,\), expected base and slope",
    ),
    "a bet that can lose all": (
        lambda: EvidenceHead({}, [0.0], clip=4.0, bet=(1.0, 0.25)),
        ValueError,
        "base and slope of the bet are 1 and 0.25, expected factors from",
    ),
    "a profile": (
        lambda: signals_.profile_signals("best", 0),
        ValueError,
        "profile is 'best', expected one of standard, paper",
    ),
    "no signals": (lambda: signals_.ordered([]), ValueError, "signals is empty; at least one is needed"),
    "notes": (lambda: plain([1]), ValueError, r"notes is \[1\]; an object is needed"),
    "names as one text": (lambda: checked_names("ab", 2), ValueError, "names is 'ab', expected a list of te"),
    "parameters": (
        lambda: Monitor({"classes": 2}),  # type: ignore[arg-type]
        TypeError,
        "params is dict, expected Params",
    ),
    "no columns of features": (
        lambda: Log(PROBS, np.zeros((2, 0))),
        ValueError,
        "features has 0 columns, expected 1 to 256",
    ),
    "half a scale": (
        lambda: Log(PROBS, INT8, feature_scale=0.5),
        ValueError,
        "feature_scale and feature_zero_point go together; one is missing",
    ),
    "a scale of nothing": (
        lambda: Log(PROBS, feature_scale=0.5, feature_zero_point=0),
        ValueError,
        "feature_scale is given and features are missing, expected int8 features",
    ),
    "a scale of floats": (
        lambda: Log(PROBS, PROBS, feature_scale=0.5, feature_zero_point=0),
        ValueError,
        "feature_scale is given and features are float64, expected int8 features",
    ),
    "errors without labels": (
        lambda: Log(PROBS).errors(),
        ValueError,
        "labels are missing; errors cannot be told",
    ),
    "labels in a table": (
        lambda: Log(PROBS, labels=np.zeros((2, 1), dtype=int)),
        ValueError,
        "has 2 dimensions, expected one value for each step",
    ),
    "endless features": (
        lambda: Monitor(Params(classes=2, features=2, signals=("doubt", "magnitude"))).run(
            PROBS, np.array([[0.0, np.inf], [0.0, 1.0]])
        ),
        ValueError,
        "features",
    ),
    "int8 of one column": (
        lambda: paired(np.zeros((2, 1), dtype=np.int8)),
        ValueError,
        "logits have one int8 column, whose zero point is unknown, expected float, or two",
    ),
    "floats for a table of int8": (
        lambda: posteriors(PROBS, np.zeros(256, dtype=np.uint16)),
        ValueError,
        "logits are float64 of 2 dimensions, expected int8 of 2",
    ),
    "something beside the steps": (
        lambda: Monitor(Params(classes=2)).run(PROBS).to_arrow([1, 2]),
        TypeError,
        "beside is list, expected a data frame",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused_in_one_line(name: str) -> None:
    act, kind, message = REFUSED[name]
    if name == "something beside the steps":
        pytest.importorskip("pyarrow")
    with pytest.raises(kind, match=message) as error:
        act()
    assert "\n" not in str(error.value)


def test_a_state_whose_header_asks_for_another_size() -> None:
    state = Monitor(Params(classes=3)).save()
    content = bytearray(state)
    own = list(HEADER.unpack_from(state))
    own[4] = 9  # classes
    HEADER.pack_into(content, 0, *own)
    content[-4:] = zlib.crc32(content[:-4]).to_bytes(4, "little")
    with refused("damaged"):
        read_state(bytes(content))


def test_an_instant_head_is_a_value() -> None:
    same = InstantHead({"doubt": 1.0}, class_mix=(0.5, 0.5))
    assert hash(same) == hash(HEAD) and len({same, HEAD, InstantHead({"doubt": 2.0})}) == 2
    assert pickle.loads(pickle.dumps(HEAD)) == HEAD


def test_a_bet_bounds_what_a_step_adds() -> None:
    head = EvidenceHead({"doubt": 8.0}, [-1.0], clip=2.0, bet=(1.0, 0.25))
    signals = np.zeros((3, len(SIGNALS)))
    signals[:, SIGNALS.index("doubt")] = [0.0, 0.25, 0.875]
    found = head.added(signals, np.zeros(3, dtype=int), np.ones(3))
    assert found == pytest.approx(np.log(1 + 0.25 * np.array([-1.0, 1.0, 2.0])))  # the last one is clipped


def test_sigmoids_of_eight_bits_without_a_sign() -> None:
    assert two_classes(np.array([0, 1, 64, 255], dtype=np.uint8)).tolist() == [
        [255, 0],
        [255, 1],
        [192, 64],
        [1, 255],
    ]


def test_lists_without_a_step_are_floats() -> None:
    monitor = Monitor(Params(classes=2))
    assert len(monitor.run(np.zeros((0, 2)))) == 0 and monitor.run([[0.5, 0.5]]).shape == (1,)
    with pytest.raises(ValueError, match="probs"):
        monitor.run([[]])


def test_a_log_without_shifts_has_no_point_of_change() -> None:
    assert Log(PROBS).change_points() == []
    assert Log(PROBS, shifted=np.array([0, 1])).change_points() == [1]


def test_severity_is_that_of_the_reference() -> None:
    names = ("odds", "severity")
    head = EvidenceHead({"odds": 5.0}, [-2.5, -2.0, -3.0, -2.5, -1.5], reach=10_000_000)
    params = Params(classes=5, signals=names, coef={"odds": 2.0, "severity": 1.0}, evidence=head)
    probs, _ = int8_stream(600, 5, 0)
    steps, signals = Monitor(params).run(probs, signals=True)
    real = reference(params, probs)
    assert np.abs(signals - real.signals).max() <= 0.005 and np.abs(steps["risk"] - real.risk).max() <= 0.005
    assert real.signals[:, [SIGNALS.index(name) for name in names]].std(axis=0).min() > 0.01


@pytest.mark.parametrize(
    "read",
    [Monitor(Params(classes=2)).load, Params.load, read_log, lambda path: read_log(path, format="csv")],
)
def test_a_number_is_no_path(read: Any) -> None:
    """`Monitor.load(True)` read standard output, and closed it."""
    handle, other = os.pipe()
    os.close(other)
    for number in (handle, True):
        with pytest.raises(TypeError):
            read(number)
    os.fstat(handle)
    os.close(handle)
