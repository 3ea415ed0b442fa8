# SPDX-License-Identifier: MIT
"""What parameters, logs and monitors refuse: in one line, with what was given and what is expected."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from real_step import real_steps
from refusals import refused
from streams import int8_stream

from tcuq import SIGNALS, EvidenceHead, Log, Monitor, Params, Sight
from tcuq.io import read_log
from tcuq.log.class_names import checked_names
from tcuq.log.logits import paired, posteriors
from tcuq.monitor import signals as signals_
from tcuq.monitor.alarm import alarm_from
from tcuq.monitor.codec import part_from
from tcuq.monitor.heads import InstantHead
from tcuq.monitor.params_file import plain
from tcuq.monitor.state import HEADER, read_state

PROBS = np.array([[0.5, 0.5], [0.2, 0.8]])
INT8 = np.zeros((2, 3), dtype=np.int8)

SIGHT = Sight([0.5], [0.125], [[0.0], [1.0]], [1.0])
NO_SIGHT = [
    *((name, bad) for name in ("gauges", "gauge_scales", "means", "class_means") for bad in (None, 5)),
    *(("accuracy", bad) for bad in (None, ("a", 1, 1, 1), (None, 1, 1, 1), (1, 1, 1))),
]

REFUSED: list[tuple[str, Callable[[], Any]]] = [
    ("missing", lambda: Params(classes=2, signals=("disbelief",))),
    ("missing", lambda: Params(classes=2, about="answer")),
    ("value", lambda: Params(classes=2, instant={"coef": {}})),
    ("conflict", lambda: Params(classes=2, features=2, signals=("distance",))),
    ("conflict", lambda: Params(classes=2, features=2, centers=((0, 0), (0, 0)))),
    ("value", lambda: Params(classes=2, features=2, signals=("distance",), centers=((0, 0), (0,)))),
    ("value", lambda: Params(classes=2, alarm=None)),
    ("value", lambda: alarm_from({"rise": 3})),
    ("value", lambda: InstantHead([1.0])),
    *(("value", lambda name=name, bad=bad: replace(SIGHT, **{name: bad})) for name, bad in NO_SIGHT),
    ("value", lambda: part_from(InstantHead, "instant", 3)),
    ("missing", lambda: part_from(InstantHead, "instant", {"bias": 0.0})),
    ("value", lambda: EvidenceHead({}, [0.0], bet=(1.0,))),
    ("value", lambda: EvidenceHead({}, [0.0], clip=4.0, bet=(1.0, 0.25))),
    ("value", lambda: signals_.profile_signals("best", 0)),
    ("missing", lambda: signals_.ordered([])),
    ("value", lambda: plain([1])),
    ("value", lambda: checked_names("ab", 2)),
    ("value", lambda: Monitor({"classes": 2})),
    ("value", lambda: Log(PROBS, np.zeros((2, 0)))),
    ("missing", lambda: Log(PROBS, INT8, feature_scale=0.5)),
    ("conflict", lambda: Log(PROBS, feature_scale=0.5, feature_zero_point=0)),
    ("conflict", lambda: Log(PROBS, PROBS, feature_scale=0.5, feature_zero_point=0)),
    ("missing", lambda: Log(PROBS).errors()),
    ("value", lambda: Log(PROBS, labels=np.zeros((2, 1), dtype=int))),
    ("value", lambda: paired(np.zeros((2, 1), dtype=np.int8))),
    ("value", lambda: posteriors(PROBS, np.zeros(256, dtype=np.uint16))),
]


@pytest.mark.parametrize(("code", "act"), REFUSED)
def test_what_cannot_be_is_refused(code: str, act: Callable[[], Any]) -> None:
    with refused(code):
        act()


def test_a_state_whose_header_asks_for_another_size() -> None:
    state = Monitor(Params(classes=3)).save()
    content = bytearray(state)
    own = list(HEADER.unpack_from(state))
    own[4] = 9  # classes
    HEADER.pack_into(content, 0, *own)
    content[-4:] = zlib.crc32(content[:-4]).to_bytes(4, "little")
    with refused("damaged"):
        read_state(bytes(content))


def test_lists_without_a_step_are_floats() -> None:
    monitor = Monitor(Params(classes=2))
    assert len(monitor.run(np.zeros((0, 2)))) == 0 and monitor.run([[0.5, 0.5]]).shape == (1,)
    with pytest.raises(ValueError, match="probs"):
        monitor.run([[]])


def test_a_log_without_shifts_has_no_point_of_change() -> None:
    assert Log(PROBS).change_points() == []
    assert Log(PROBS, shifted=np.array([0, 1])).change_points() == [1]


def test_degradation_is_that_of_the_reference() -> None:
    names = ("odds", "degradation")
    head = EvidenceHead({"odds": 5.0}, [-2.5, -2.0, -3.0, -2.5, -1.5], reach=10_000_000)
    params = Params(classes=5, signals=names, coef={"odds": 2.0, "degradation": 1.0}, evidence=head)
    probs, _ = int8_stream(600, 5, 0)
    steps, signals = Monitor(params).run(probs, signals=True)
    real = real_steps(params, probs)
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
