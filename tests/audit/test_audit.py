"""The audit: it passes what the core does, and finds what was tampered with."""

import json
import zlib
from dataclasses import replace

import numpy as np
import pytest
from exported import SEEING
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused
from streams import learned_params

from tcuq import Alarm, AlarmSide, Log, Monitor, Params
from tcuq.audit.derive import _abstentions, audit
from tcuq.io import Decisions
from tcuq.monitor.monitor import run_over
from tcuq.monitor.signals import NUMBER
from tcuq.monitor.state import state_for
from tcuq.reference import Params as Numbers
from tcuq.reference.decide import bounds

PARAMS = Params(
    classes=4,
    warmup=20,
    level=0.25,
    budget=0.2,
    burst=3,
    reference=0.4,
    alarm=Alarm(0.4, AlarmSide(0.02, 0.5, 1.0), AlarmSide(0.02, 0.5, 1.0)),
)


def stream(steps=400, seed=0, segments=False):
    rng = np.random.default_rng(seed)
    probs = np.concatenate([rng.dirichlet(np.full(4, a), steps // 2) for a in (0.2, 5.0)])
    return Log(probs, segments=np.arange(steps) // 100 if segments else None)


def failing(found):
    return [check.name for check in found.checks if not check.ok]


def test_what_the_core_does_is_accepted():
    log = stream(segments=True)
    steps = run_over(Monitor(PARAMS), log)
    assert {0, 1, 2} <= set(steps["alarm"].tolist())  # else the alarm would not be tested
    assert steps["abstain"].any() and (steps["flagged"] & ~steps["abstain"])[20:].any()
    found = audit(steps, PARAMS, log=log)
    assert failing(found) == [] and found.ok
    assert (found.steps, found.flags) == (400, int(steps["flagged"].sum()))
    assert json.loads(json.dumps(found.to_dict()))["ok"] is True
    assert "all checks hold" in found.text()


def test_an_alarm_is_raised_when_the_sum_just_reaches_its_limit():
    # The cap is the limit, so that the sum can reach it but not pass it.
    params = PARAMS.replace(alarm=Alarm(0.2, AlarmSide(0.0, 0.5, 0.5), AlarmSide(0.1, 0.5, 0.5)))
    steps = run_over(Monitor(params), stream())
    assert (steps["alarm"] > 0).any() and failing(audit(steps, params)) == []


@given(
    st.floats(0.001, 0.999),
    st.floats(0, 1),
    st.integers(1, 20),
    st.floats(0, 1),
    st.floats(0, 0.2),
    st.floats(0.2, 1),
    st.floats(0, 30),
    st.integers(0, 50),
    st.integers(0, 1000),
)
def test_any_monitor_is_accepted_on_any_input(
    level, budget, burst, reference, slope, steep, knee, warmup, seed
):
    params = PARAMS.replace(
        level=level,
        budget=budget,
        burst=burst,
        reference=reference,
        slope=slope,
        steep_slope=steep,
        knee=knee,
        warmup=warmup,
    )
    log = stream(120, seed)
    assert bounds(Numbers.of(params.integers())) == params.core().sizes()[2:]
    assert failing(audit(run_over(Monitor(params), log), params, log=log)) == []


def tampered(change):
    log = stream()
    steps = run_over(Monitor(PARAMS), log)
    change(steps)
    return failing(audit(steps, PARAMS)), failing(audit(steps, PARAMS, log=log))


def change_of(name, value, at=150):
    """Return what adds to a field of one step; a flag is turned."""

    def change(steps):
        steps[name][at] = not steps[name][at] if value is True else np.nan_to_num(steps[name][at]) + value

    return change


@pytest.mark.parametrize(
    ("name", "value", "at"),
    [
        ("threshold", 1 / 65536, 150),
        ("flagged", True, 150),
        ("warming_up", True, 19),
        ("warming_up", True, 20),
        ("alarm", 1, 150),
        ("answer", 1, 9),
        ("persistence", 0.5, 9),
        ("degradation", 0.5, 9),
        ("expected_accuracy", 0.5, 9),
    ],
)
def test_a_tampered_field_is_found(name, value, at):
    assert tampered(change_of(name, value, at))[0] == [name]


def test_a_tampered_abstention_is_found():
    assert "abstain" in tampered(change_of("abstain", True))[0]


def test_a_tampered_risk_is_found_by_its_effects_and_by_the_rerun():
    def change(steps):
        at = 20 + int(np.flatnonzero(steps["flagged"][20:])[0])
        steps["risk"][at] = 0.0

    alone, rerun = tampered(change)
    assert "threshold" in alone and "flagged" in alone
    assert "risk (rerun)" in rerun
    # One unit more changes no decision: only the input can tell.
    alone, rerun = tampered(change_of("risk", 1 / 65536, 0))
    assert alone == [] and rerun == ["risk (rerun)"]


@pytest.mark.parametrize("name", ["prediction", "uncertainty", "reason"])
def test_columns_that_only_the_input_can_vouch_for(name):
    def change(steps):
        at = int(np.flatnonzero(steps["flagged"])[9])
        other = {"prediction": (steps["prediction"][at] + 1) % 4, "uncertainty": 1 / 65536}
        other["reason"] = 0 if steps["reason"][at] else 2  # both are in use
        steps[name][at] = other[name]
        steps["answer"] = steps["prediction"]  # as it is without an instant head

    alone, rerun = tampered(change)
    assert alone == [] and rerun == [f"{name} (rerun)"]


def learned(signals=True, names=None):
    params = learned_params(names=names)
    log = stream(segments=True)
    steps, values = run_over(Monitor(params), log, signals=True)
    assert (steps["answer"] != steps["prediction"]).any() and len(set(steps["persistence"].tolist())) > 100
    assert {0, 1} <= set(steps["alarm"].tolist())
    kept = (values, params.signals) if signals else (None, ())
    return params, log, Decisions(steps, 0, *kept)


@pytest.mark.parametrize("signals", [True, False])
def test_what_a_monitor_learns_is_accepted(signals):
    params, log, decisions = learned(signals)
    assert failing(audit(decisions, params)) == [] and failing(audit(decisions, params, log=log)) == []
    names = {check.name for check in audit(decisions, params).checks}
    assert "expected_accuracy" in names and ("degradation" in names) is ("alarm" in names) is signals
    again = {check.name for check in audit(decisions, params, log=log).checks}
    assert {"answer (rerun)", "persistence (rerun)"} <= again and (
        "degradation (rerun)" in again
    ) is not signals


@pytest.mark.parametrize("bet", [None, (0.9, 0.25), (1.0, 1 / 65536), (8.0, 0.45)])
@pytest.mark.parametrize("about", ["prediction", "answer"])
def test_degradation_and_a_bet_on_the_evidence_follow_from_the_signals(bet, about):
    head = learned_params().evidence
    evidence = replace(head, allowance=0.125, bet=bet)
    params = learned_params(evidence=evidence, about=about)
    steps, signals = run_over(Monitor(params), stream(), signals=True)
    assert failing(audit(Decisions(steps, 0, signals, params.signals), params)) == []
    assert np.ptp(steps["degradation"]) > 0.5


def held_stream(wide):
    """Return a log whose input hangs from its first segment into its second, with features or without."""
    rng = np.random.default_rng(4)
    probs, features = rng.dirichlet(np.full(4, 0.4), 400), rng.integers(-90, 90, (400, 12)).astype(np.int8)
    probs[150:230], features[150:230] = probs[150], features[150]
    return Log(probs, features if wide else None, segments=np.arange(400) // 200)


@pytest.mark.parametrize("wide", [False, True])
def test_still_input_and_an_own_reference_are_derived_or_said_to_be_open(wide):
    head = replace(learned_params().evidence, frozen=6.0, bet=None, bias=-4.7, baseline=(30, -0.5, 0.25))
    head = replace(head, coef={"odds": 6.0, "degradation": 9.0})
    more = {}
    if wide:
        head = replace(head, reach=20_000)
        more = {"features": 12, "feature_scale": 1.0, "centers": ((0,) * 12,) * 4}
        more["signals"] = (*learned_params().signals[:3], "distance", "disbelief")
        more["clean_means"] = dict.fromkeys(more["signals"], 0.2)
    params, log = learned_params(evidence=head, **more), held_stream(wide)
    steps, signals = run_over(Monitor(params), log, signals=True)
    decisions = Decisions(steps, 0, signals, params.signals)
    assert steps["degradation"][229] > 1.9 and steps["alarm"].any() and not steps["alarm"].all()
    found = audit(decisions, params, log=log)
    assert failing(found) == [] and {"alarm", "degradation"} <= {check.name for check in found.checks}
    for changed, name in (
        (replace(head, frozen=0.0), "degradation"),
        (replace(head, baseline=None), "alarm"),
    ):
        assert name in failing(audit(decisions, learned_params(evidence=changed, **more), log=log))
    alone = audit(decisions, params)  # where the input hangs, a reset may have come at any step
    assert failing(alone) == [] and {"alarm", "degradation"} <= set(alone.unchecked)
    moving = audit(Decisions(steps[:150], 0, signals[:150], params.signals), params)
    assert failing(moving) == [] and ({"alarm", "degradation"} <= set(moving.unchecked)) is wide


@pytest.mark.parametrize("name", ["degradation", "expected_accuracy"])
def test_tampered_means_are_found_without_the_input(name):
    params, _, decisions = learned()
    decisions.steps[name][99] += 1 / 65536
    found = audit(decisions, params)
    assert failing(found) == [name] and {c.name: c for c in found.checks}[name].step == 99


@pytest.mark.parametrize("name", ["answer", "persistence"])
def test_tampered_answers_need_the_input(name):
    params, log, decisions = learned(False, ("cat", "dog", "cow", "emu"))
    steps = decisions.steps
    steps["answer"][99], before = (
        (int(steps["answer"][99]) + (name == "answer")) % 4,
        int(steps["answer"][99]),
    )
    steps["persistence"][99] += (name == "persistence") / 65536
    assert failing(audit(decisions, params)) == []
    found = audit(decisions, params, log=log)
    assert failing(found) == [f"{name} (rerun)"]
    if name == "answer":
        names = params.names
        said = f"says {(before + 1) % 4} ({names[(before + 1) % 4]}) at step 99, the core gives {before} ("
        assert said in found.text()


def test_a_reason_on_a_step_that_is_not_flagged_is_found():
    def change(steps):
        steps["reason"][int(np.flatnonzero(~steps["flagged"])[3])] = NUMBER["doubt"]

    alone, rerun = tampered(change)
    assert alone == ["reason"] and rerun == ["reason", "reason (rerun)"]


def test_means_go_on_from_a_state():
    params, log, decisions = learned()
    monitor = Monitor(params)
    part = log.take(slice(0, 150))
    run_over(monitor, part)
    state = monitor.save()
    rest = Decisions(decisions.steps[150:], 150, decisions.signals[150:], params.signals)
    assert failing(audit(rest, params, log.take(slice(150, 400)), state)) == []
    fresh = failing(audit(Decisions(rest.steps, 0, rest.signals, rest.used), params))
    assert {"degradation", "expected_accuracy"} <= set(fresh)


def test_tampered_step_numbers_are_found():
    steps = run_over(Monitor(PARAMS), stream())
    numbers = np.arange(400)
    numbers[100:] += 1
    found = audit(Decisions(steps, numbers=numbers), PARAMS)
    assert failing(found) == ["step"] and found.checks[0].step == 101


def test_removed_steps_are_found():
    steps = run_over(Monitor(PARAMS), stream())
    kept = np.delete(steps, np.flatnonzero(steps["flagged"])[3])
    assert "threshold" in failing(audit(kept, PARAMS))


@pytest.mark.parametrize("value", [np.nan, np.inf, -0.5, 1.0, 0.1])
def test_fractions_that_no_core_gives_are_found(value):
    steps = run_over(Monitor(PARAMS), stream())
    steps["risk"][7] = value
    found = audit(steps, PARAMS)
    check = {c.name: c for c in found.checks}["fixed_point"]
    assert not check.ok and check.step == 7


def test_the_first_violation_is_named():
    steps = run_over(Monitor(PARAMS), stream())
    for at in (33, 44):
        steps["threshold"][at] += 1 / 65536
    check = {c.name: c for c in audit(steps, PARAMS).checks}["threshold"]
    assert check.step == 33 and "2 of 400 steps differ" in check.detail


def test_a_log_that_flags_too_much_fails_the_rate():
    steps = run_over(Monitor(PARAMS), stream())
    steps["threshold"] = 0.0
    steps["flagged"] = True
    check = {c.name: c for c in audit(steps, PARAMS).checks}["flag_rate"]
    _, high = bounds(Numbers.of(PARAMS.integers()))
    assert not check.ok and check.step == high // 3  # each flag adds 3 to a debt that starts at 0


def test_a_log_that_abstains_too_much_fails_budget_and_burst():
    steps = run_over(Monitor(PARAMS), stream())
    steps["abstain"] = False
    steps["abstain"][300:304] = True  # 4 - 0.2 * 4 = 3.2 more than the budget: above a burst of 3
    found = {c.name: c for c in audit(steps, PARAMS).checks}
    assert found["budget"].ok and not found["burst"].ok and found["burst"].step == 303
    steps["abstain"] = False
    steps["abstain"][:3] = True
    found = {c.name: c for c in audit(steps, PARAMS).checks}
    assert not found["budget"].ok and found["budget"].step == 0 and found["burst"].ok


@given(
    st.lists(st.booleans(), min_size=1, max_size=40),
    st.sampled_from([0.0, 0.05, 0.2, 0.5, 1.0]),
    st.integers(1, 4),
)
def test_the_worst_window_is_that_of_all_windows(abstained, budget, burst):
    p = Numbers.of(PARAMS.replace(budget=budget, burst=burst).integers())
    num, den = p.budget_num, p.budget_den
    values = np.array(abstained, dtype=np.int64)
    _, check = _abstentions(p, values, np.arange(len(values)), None)
    excess = max(
        den * sum(abstained[a:b]) - num * (b - a) for b in range(1, len(values) + 1) for a in range(b)
    )
    assert check.ok == (excess <= burst * den)
    assert f"holds {excess / den:g} abstentions" in check.detail


def halves():
    log = stream()
    monitor = Monitor(PARAMS)
    first = monitor.run(log.probs[:250])
    state = monitor.save()
    return log.take(slice(250, 400)), state, monitor.run(log.probs[250:]), first


def test_a_run_that_goes_on_from_a_state():
    log, state, steps, _ = halves()
    assert failing(audit(steps, PARAMS, log, state)) == []
    assert failing(audit(Decisions(steps, 250), PARAMS, log, state)) == []
    assert failing(audit(Decisions(steps, 251), PARAMS, log, state)) == ["step"]
    # Without the state, the same log is not that of a fresh monitor.
    assert "threshold" in failing(audit(steps, PARAMS))


def test_states_that_do_not_belong_are_refused():
    _, state, steps, _ = halves()
    flipped = bytearray(state)
    flipped[24] ^= 1
    other = bytearray(state[:4] + b"\x03\x00" + state[6:-4])
    for content in (
        state[:50],
        state[:-1],
        bytes(flipped),
        b"nonsense" * 20,
        bytes(other) + zlib.crc32(other).to_bytes(4, "little"),
        b"",
    ):
        with refused("damaged"):
            audit(steps, PARAMS, state=content)
    with refused("conflict"):
        audit(steps, PARAMS.replace(burst=4), state=state)


@pytest.mark.parametrize("bit", range(0, 8 * 56, 7))
def test_every_flipped_bit_of_a_state_is_found(bit):
    state = bytearray(halves()[1])
    state[bit // 8 % len(state)] ^= 1 << bit % 8
    with refused("damaged"):
        state_for(PARAMS, bytes(state))


def test_a_label_or_a_reason_that_cannot_be_is_found_without_the_input():
    for name, value, said in [("prediction", 4, "4"), ("prediction", -1, "-1"), ("reason", 1, "instability")]:
        steps = run_over(Monitor(PARAMS), stream())
        steps[name][77] = value
        steps["risk"][77] = steps["threshold"][77]  # flagged, or it could have no reason at all
        found = {c.name: c for c in audit(steps, PARAMS).checks}
        assert (
            not found[name].ok and found[name].step == 77 and f"says {said} at step 77" in found[name].detail
        )


def test_what_the_input_alone_can_vouch_for_is_said():
    log = stream()
    steps, signals = run_over(Monitor(PARAMS), log, signals=True)
    assert audit(steps, PARAMS, log=log).unchecked == ()
    found = audit(Decisions(steps, 0, signals, PARAMS.signals), PARAMS)
    assert found.unchecked == ("prediction", "risk", "uncertainty", "reason", "low_mass", *PARAMS.signals)
    assert "not checked without --log: whether the input gives prediction, risk" in found.text()


@pytest.mark.parametrize("name", ["low_mass", "divergence", "flips", "doubt"])
def test_signals_and_low_mass_are_compared_where_the_decisions_have_them(name):
    log = stream()
    steps, signals = run_over(Monitor(PARAMS), log, signals=True)
    assert failing(audit(Decisions(steps, 0, signals, PARAMS.signals), PARAMS, log=log)) == []
    if name == "low_mass":
        steps["low_mass"][9] ^= True
    else:
        signals[9, NUMBER[name]] += 1 / 65536
    found = audit(Decisions(steps, 0, signals, PARAMS.signals), PARAMS, log=log)
    assert failing(found) == [f"{name} (rerun)"] and found.checks[-1].name == "doubt (rerun)"


def test_a_state_must_pass_the_core_and_not_its_header_alone():
    _, state, steps, _ = halves()
    # The prediction of the newest entry is none that there is; the checksum is right.
    content = state[:64] + b"\x09\x00" + state[66:-4]
    with refused("damaged"):
        audit(steps, PARAMS, state=content + zlib.crc32(content).to_bytes(4, "little"))


def test_a_resumed_log_without_its_state_is_told_what_is_missing():
    _, _, steps, _ = halves()
    check = audit(Decisions(steps, 250), PARAMS).checks[0]
    assert not check.ok and check.detail.endswith("give --state if the run was resumed")


def test_an_empty_log_and_another_length_are_told():
    steps = run_over(Monitor(PARAMS), stream())
    with refused("missing"):
        audit(steps[:0], PARAMS)
    found = audit(steps, PARAMS, log=stream(200))
    assert failing(found) == ["input"] and "1 of 18 checks fail" in found.text()


def test_an_alarm_that_sees_the_input_is_run_again():
    pytest.importorskip("tcuq.reference.sight")
    rng, params = np.random.default_rng(0), SEEING
    gauges = np.array(params.sight.means[:3]) + rng.normal(size=(400, 3)) * params.sight.deviations[:3]
    gauges[200:] += 40
    features = rng.integers(-90, 90, (400, 4)).astype(np.int8)
    log = Log(rng.dirichlet([0.4] * 5, 400), features, gauges=gauges, gauge_names=params.sight.gauges)
    steps = run_over(Monitor(params), log)
    assert {0, 1} == {*steps["alarm"].tolist()} and failing(audit(steps, params, log=log)) == []
    assert {"alarm", "changed", "moved", "expected_accuracy"} <= {*audit(steps, params).unchecked}
    steps["alarm"][300], steps["moved"][310] = 0, 7
    assert failing(audit(steps, params, log=log)) == ["action", "alarm (rerun)", "moved (rerun)"]
