"""The step over whole columns is that of the core: evidence, what the alarm sums, where it is on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from streams import int8_stream

from tcuq import Alarm, AlarmSide, EvidenceHead, Monitor, Params
from tcuq.base.fixed import ONE
from tcuq.fitting.arrays import added_in_run, alarm_on, evidence, leaky_mean
from tcuq.monitor.heads import InstantHead
from tcuq.monitor.signals import SIGNALS
from tcuq.monitor.state import read_state

HEAD = EvidenceHead(
    {"odds": 5.0, "degradation": 12.0, "magnitude": -6.0, "drift": 3.0},
    [1.5, 2.25, 0.0, 4.0],
    clip=0.75,
    reach=100_000,
    bias=-6.0,
    allowance=0.125,
)
HEADS = {
    "plain": HEAD,
    "wide": replace(HEAD, clip=8.0, bias=-4.0, allowance=0.0),
    "bet": replace(HEAD, clip=3.0, allowance=0.0, bet=(0.9, 0.25)),
    "bet that hardly loses": replace(HEAD, clip=1.0, allowance=0.0, bet=(1.0, 1 / ONE)),
    "bet that may lose nearly all": replace(HEAD, clip=3.0, allowance=0.0, bet=(1.48, 0.49)),
    "frozen input": replace(HEAD, frozen=2.5),
}


def watched(head: EvidenceHead) -> Params:
    sides = Alarm(0.2, AlarmSide(0.05, 2.0, 3.0, 0.5), least_raised=4)
    names = ("instability", "doubt", "odds", "degradation", "magnitude", "distance", "drift", "disbelief")
    centers = np.random.default_rng(0).integers(-128, 128, (4, 8)).tolist()
    more = {"features": 8, "feature_zero_point": -128, "signals": names, "warmup": 0, "centers": centers}
    two = {"instant": InstantHead({"odds": 8.0}, -4.0), "about": "answer"}
    return Params(classes=4, evidence=head, alarm=sides, **two, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", HEADS)
def test_what_the_alarm_sums_is_what_the_core_sums(name: str) -> None:
    params = watched(HEADS[name])
    head, side = params.evidence, params.alarm.rise
    assert head is not None and side is not None
    probs, features = int8_stream(600, 4, 8, 0)
    probs[300:400], features[300:400] = probs[300], features[300]
    steps, signals = Monitor(params).run(probs, features, signals=True)
    states = []
    monitor = Monitor(params)
    for row, values in zip(probs, features, strict=True):
        monitor.step(row, values)
        states.append(read_state(monitor.save()))
    still = np.array([each.stillness for each in states]) > round(head.frozen * ONE)
    frozen = still if head.frozen else None
    assert still.any()
    subject = steps["answer"]
    own = evidence(head, SIGNALS, np.round(signals * ONE).astype(np.int64), subject, frozen)
    sums = added_in_run(params, steps, signals, frozen)
    degradation, total, before = 0, 0, 0
    for value, novelty, more, state in zip(own, np.round(steps["novelty"] * 256), sums, states, strict=True):
        degradation += ((int(value) - degradation) * int(novelty) + 1024) >> 11
        total = min(max(0, total + int(more)), round(side.cap * ONE))
        total = 0 if before and not state.alarm else total
        assert (state.degradation, state.rise) == (degradation, total)
        before = state.alarm
    assert len(set(steps["novelty"].tolist())) > 10 and steps["alarm"].any() != (
        name == "bet that hardly loses"
    )


def test_a_bet_is_a_logarithm() -> None:
    head = EvidenceHead({"odds": 8.0}, [-1.0] * 2, clip=2.0, bet=(1.0, 0.25))
    params = Params(classes=2, signals=("odds", "degradation"), evidence=head)
    steps = Monitor(params).run([[0.9, 0.1]] * 3)
    signals = np.zeros((3, len(SIGNALS)))
    signals[:, SIGNALS.index("odds")] = [0.0, 0.25, 0.875]
    steps["novelty"] = 1.0
    wanted = np.log(1 + 0.25 * np.array([-1.0, 1.0, 2.0]))  # the last one is clipped
    assert added_in_run(params, steps, signals) / ONE == pytest.approx(wanted, abs=1e-3)


def test_an_alarm_is_on_where_the_core_raises_it() -> None:
    params = watched(replace(HEAD, allowance=0.0, bias=-8.55))
    params = params.replace(alarm=Alarm(rise=AlarmSide(0.0, 0.5, clear=0.25), least_raised=4))
    probs, features = int8_stream(3000, 4, 8, 1)
    steps, signals = Monitor(params).run(probs, features, signals=True)
    sums = added_in_run(params, steps, signals) / ONE
    on = alarm_on(sums, 0.5, 0.25, 4)
    assert (on == (steps["alarm"] > 0)).all() and np.diff(on.astype(int)).clip(0).sum() > 5


def test_a_leaky_mean_is_that_of_a_loop() -> None:
    rng = np.random.default_rng(0)
    for count in (0, 1, 7, 1000):
        values, rates = rng.normal(size=count), rng.random(count)
        level, wanted = 0.0, []
        for value, rate in zip(values, rates, strict=True):
            level += (value - level) * rate
            wanted.append(level)
        assert np.allclose(leaky_mean(values, rates), wanted)
