"""Novelty in the fit is that of the core."""

from __future__ import annotations

import numpy as np
import pytest
from streams import dwell_stream

from tcuq import FitOptions, Log, Monitor, fit
from tcuq.fitting.novelty import LEAST, find_spread, novelty, weighed
from tcuq.monitor.alarm import Alarm, AlarmSide
from tcuq.monitor.evidence_head import EvidenceHead
from tcuq.monitor.log import watch


def repeated(seed: int) -> Log:
    """Return a stream of steps that differ at first, then one that stays."""
    probs, _, _, _ = dwell_stream(600, 4, 0, np.random.default_rng(seed))
    probs[200:400] = probs[200] * 0.5 + 0.125
    return Log(probs)


@pytest.mark.parametrize("allowance", [0.0, 0.2])
def test_what_the_alarm_adds_is_what_the_core_adds(allowance: float) -> None:
    train, truth = dwell_stream(3000, 4, 0, np.random.default_rng(0))[0::2]
    params = fit(Log(train, labels=truth), run_length=100, options=FitOptions(explain=False))
    assert params.evidence is not None and params.evidence.spread > 0
    plain = params.evidence
    head = type(plain)(plain.coef, plain.offsets, plain.clip, allowance, None, plain.spread)
    # A limit out of reach: the sum alone is looked at.
    params = params.replace(evidence=head, alarm=Alarm(rise=AlarmSide(0.0, 8000.0)))
    log = repeated(1)
    steps, signals = watch(Monitor(params), log, signals=True)
    added = head.values(signals, steps["answer"]) + allowance
    weight = novelty(added, head.spread)
    assert weight[:150].mean() > 0.5 and weight[350:400].max() == LEAST
    expected, monitor, rise = [], Monitor(params), 0.0
    for value in weighed([added - allowance], [weight])[0].tolist():
        rise = max(0.0, rise + value)
        expected.append(rise)
    found = []
    for row in log.probs:
        monitor.step(row)
        found.append(monitor._core.counters()[3] / 65536)
    assert max(found) > 5
    # The core takes differences in steps of 1/256, which makes novelty up to 1 % smaller, and the sum of 600
    # steps adds that up.
    assert np.allclose(found, expected, rtol=0.04, atol=0.01)
    assert np.abs(np.diff(found) - np.diff(expected)).max() < 0.02


def test_a_run_begins_new_and_fades_as_it_repeats() -> None:
    assert novelty(np.zeros(0), 1.0).tolist() == []
    weights = novelty(np.zeros(300), 2.0)
    assert weights[0] == 1.0 and np.isclose(weights[1], 31 / 32) and weights[-1] == LEAST
    assert (np.diff(weights) <= 0).all()
    assert novelty(np.tile([3.0, -3.0], 50), 2.0).tolist() == [1.0] * 100, "never more than in full"


def test_evidence_against_a_shift_counts_in_full() -> None:
    found = weighed([np.array([2.0, -2.0])], [np.array([0.25, 0.25])])
    assert found[0].tolist() == [0.5, -2.0]


def test_a_spread_has_a_floor_and_does_not_cross_runs() -> None:
    assert find_spread([np.zeros(5)]) == 1 / 256
    assert find_spread([np.array([0.0, 1.0]), np.array([9.0, 8.0])]) == 1.0
    assert find_spread([np.array([4.0])]) == 1.0, "a single step tells nothing"
    spread = find_spread([np.tile([256.0, -256.0], 3)])
    assert EvidenceHead({"doubt": 1.0}, [0.0, 0.0], spread=spread).spread == 256.0, "what the core can hold"
