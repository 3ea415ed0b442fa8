# SPDX-License-Identifier: MIT
"""Reports of streams with nothing to say, one value, or very many steps."""

from __future__ import annotations

import base64

import numpy as np
import pytest
from refusals import refused

from tcuq import STEP_DTYPE, Log, Monitor, Params
from tcuq.report import data, render
from tcuq.report.plot import nice_ticks

PARAMS = Params(classes=2, warmup=0)


def test_an_axis_without_a_length_has_one_tick() -> None:
    assert nice_ticks(3.0, 3.0) == [3.0] and nice_ticks(0.0, float("nan")) == [0.0]


def test_errors_of_very_many_steps_are_kept_as_shares() -> None:
    steps = np.zeros(300_000, dtype=STEP_DTYPE)
    wrong = np.arange(300_000) % 4 == 0
    packed = data.pack_timeline(steps, data.flag_bits(steps, None), wrong)
    assert "per" in packed and "wrong_share" in packed


@pytest.mark.parametrize(("most", "size"), [(255, 1), (256, 2)])
def test_classes_beyond_a_byte_take_two(most: int, size: int) -> None:
    steps = np.zeros(2, dtype=STEP_DTYPE)
    steps["prediction"], steps["answer"] = [0, most], [most, 0]
    packed = data.pack_timeline(steps, data.flag_bits(steps, None), None)
    assert packed["class_bytes"] == size
    for name in ("prediction", "answer"):
        held = np.frombuffer(base64.b64decode(packed[name]), dtype=f"<u{size}")
        assert held.tolist() == steps[name].tolist()


def test_decisions_in_a_table_are_refused() -> None:
    steps = np.zeros((2, 2), dtype=STEP_DTYPE)
    with refused("value"):
        render(steps)


def test_a_log_of_very_many_segments_is_drawn_without_their_borders() -> None:
    count = 2000
    probs = np.tile([0.5, 0.5], (count, 1))
    log = Log(probs, segments=np.arange(count))
    many = render(Monitor(PARAMS).run(probs), log=log)
    few = render(Monitor(PARAMS).run(probs), log=Log(probs, segments=np.arange(count) // 500))
    assert few.count('class="line border"') == 3 and many.count('class="line border"') == 0
