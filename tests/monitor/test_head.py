"""The evidence head: what it holds, what the core makes of it, how it is learned, checked and exported."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from refusals import refused
from streams import int8_stream, same_steps

from tcuq import Alarm, AlarmSide, EvidenceHead, Log, Monitor, Params, fit
from tcuq.audit.derive import audit
from tcuq.fitting.learn_head import FAST, degraded_steps
from tcuq.io import Decisions
from tcuq.monitor.monitor import run_over
from tcuq.monitor.state import fingerprint, read_state

MIXED = ("instability", "doubt", "odds", "degradation", "magnitude")
HEAD = EvidenceHead(
    {"odds": 5.0, "degradation": 12.0, "magnitude": -6.0}, [1.5, 2.25, 0.0, 4.0], reach=20_000_000, bias=-6.0
)


def with_head(head: EvidenceHead | None = HEAD, **changes: Any) -> Params:
    options = {
        "classes": 4,
        "features": 8,
        "feature_zero_point": -128,
        "signals": MIXED,
        "alarm": Alarm(0.2, AlarmSide(0.05, 2.0, 3.0, 0.5), least_raised=4),
        "warmup": 0,
    }
    return Params(**{**options, "evidence": head, **changes})


def rows(steps: int = 600, seed: int = 0) -> tuple[Any, Any]:
    return int8_stream(steps, 4, 8, seed)


def test_a_saved_state_goes_on_and_belongs_to_its_head() -> None:
    probs, features = rows()
    whole = Monitor(with_head()).run(probs, features)
    monitor = Monitor(with_head())
    monitor.run(probs[:300], features[:300])
    state = monitor.save()
    again = Monitor(with_head()).load(state).run(probs[300:], features[300:])
    assert same_steps(again, whole[300:])
    assert read_state(state).fingerprint == fingerprint(with_head())
    changes = ({"offsets": (*HEAD.offsets[:3], 2.25)}, {"coef": {}}, {"clip": 3}, {"allowance": 1})
    for change in (*changes, {"reach": 300}, {"bias": 1.0}, {"frozen": 7.0}, {"baseline": (9, 0.0, 1.0)}):
        other = replace(HEAD, **change)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="other parameters"):
            Monitor(with_head(other)).load(state)


def test_a_head_survives_files_and_pickles() -> None:
    params = with_head(EvidenceHead({"odds": 1 / 3}, [0.1, -0.1, 200 / 3, -127.999], clip=1e-9 + 1 / 65536))
    assert Params.from_json(params.to_json()) == params == pickle.loads(pickle.dumps(params))
    assert hash(params) == hash(Params.from_json(params.to_json()))
    own = with_head(replace(HEAD, frozen=20 / 3, baseline=(70, -1 / 3, 2 / 3)))
    assert Params.from_json(own.to_json()) == own == pickle.loads(pickle.dumps(own)) != with_head()
    assert pickle.loads(pickle.dumps(HEAD)) == HEAD and hash(HEAD) == hash(pickle.loads(pickle.dumps(HEAD)))
    assert with_head(None, signals=("doubt",)).to_dict()["evidence"] is None


HEADS: list[tuple[str, Any]] = [
    ("value", []),
    ("missing", {"coef": {}}),
    ("unknown", {"spread": 1}),
    ("unknown", {"coef": {"hue": 1}}),
    ("unknown", {"coef": {"flips": 1}}),
    ("value", {"coef": {"odds": 65}}),
    ("value", {"offsets": [0, 0, 0, 129]}),
    ("value", {"offsets": "0000"}),
    ("value", {"coef": []}),
    ("value", {"offsets": [0] * 3}),
    ("value", {"clip": 0}),
    ("value", {"reach": 255}),
    ("value", {"frozen": 33}),
    ("value", {"baseline": 5}),
    ("value", {"baseline": [9, 0]}),
    ("value", {"baseline": [0, 0, 0]}),
    ("value", {"baseline": [9, -9, 0]}),
    ("value", {"baseline": [9, 0, -1]}),
    ("conflict", {"baseline": [9, 0, 1], "bet": [1.0, 0.1]}),
    ("value", {"bias": 257}),
    ("value", {"allowance": -1}),
]


@pytest.mark.parametrize(("code", "change"), HEADS)
def test_heads_that_are_refused(code: str, change: Any) -> None:
    whole = {"coef": {}, "offsets": [0] * 4}
    given = {**whole, **change} if change and code != "missing" else change
    with refused(code):
        Params.from_dict({**with_head().to_dict(), "evidence": given})


def test_a_head_leaves_no_fall_side() -> None:
    both = Alarm(0.2, AlarmSide(0.05, 4.0), AlarmSide(0.05, 4.0))
    with refused("conflict"):
        with_head(alarm=both)
    with refused("value"):
        with_head({"coef": {}})  # type: ignore[arg-type]
    with refused("missing"):
        with_head(EvidenceHead({}, [0.0] * 4), signals=("doubt",))
    with refused("missing"):
        with_head(None)
    with refused("missing"):
        with_head(signals=("odds", "degradation", "magnitude", "drift"))


# Learning.


def degrading(steps: int = 6000, seed: int = 0) -> Log:
    """A stream with clean stretches, a harmful kind of shift (1) and a benign one (2); class 2 is hard."""
    rng = np.random.default_rng(seed)
    truth = np.repeat(rng.integers(0, 3, steps // 15 + 1), 15)[:steps]
    kinds = np.array([0, 1, 0, 2])[np.arange(steps) // 400 % 4]
    strength = np.array([5.0, 5.0, 2.5])[truth] * np.where(kinds == 1, 0.4, 1.0)
    logits = rng.normal(0, 1, (steps, 3))
    logits[np.arange(steps), truth] += strength
    probs = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    centers = np.random.default_rng(1).normal(0, 1, (3, 12))
    scale = np.where(kinds == 1, 0.6, np.where(kinds == 2, 1.6, 1.0))[:, None]
    features = centers[truth] * scale + rng.normal(0, 0.3, (steps, 12))
    return Log(probs, features, truth, shifted=kinds)


def test_a_fit_has_an_alarm_that_comes_sooner_than_that_of_risk() -> None:
    log, fresh = degrading(), degrading(seed=5)
    found = {}
    for alarm in ("risk", "sight"):
        params = fit(log, alarm=alarm, run_length=1000)  # type: ignore[arg-type]
        assert (params.sight is not None) == (alarm == "sight")
        raised = run_over(Monitor(params), fresh)["alarm"] == 1
        delays = []
        for start in fresh.change_points():
            part = raised[start : start + 400]
            if fresh.kinds[start] == 1:
                delays.append(int(part.argmax()) if part.any() else 400)
        found[alarm] = float(np.median(delays))
    assert found["sight"] < 0.7 * found["risk"], found
    assert params.alarm.fall is None and params.alarm.rise is not None


def test_a_proved_alarm_learns_its_head_from_shifts_that_cost_accuracy() -> None:
    params = fit(degrading(), alarm="proved", run_length=1000)
    assert params.evidence is not None and set(params.evidence.coef) <= {*FAST, "degradation", "drift"}
    assert params.alarm.fall is None and params.alarm.rise is not None
    assert params.notes["fit"]["evidence"]["benign_steps"] > 0
    assert "Alarm: evidence from odds, " in str(params) and ", learned from shifts;" in str(params)


def test_which_shifts_count_as_degraded() -> None:
    wrong = np.array([0] * 8 + [1] * 2 + [0] * 10 + [1] * 5 + [0] * 5)
    probs = np.tile([0.9, 0.1], (30, 1))
    log = Log(probs, labels=wrong, shifted=[0] * 10 + [1] * 10 + [2] * 10)
    assert degraded_steps(log, 0.2).nonzero()[0].tolist() == list(range(20, 30))
    # A long stretch is judged by itself: here the first of a kind does no harm, the second does.
    labels = np.array([0] * 300 + [0] * 10 + [1] * 300)
    log = Log(np.tile([0.9, 0.1], (610, 1)), labels=labels, shifted=[1] * 300 + [0] * 10 + [1] * 300)
    assert degraded_steps(log, 0.0).nonzero()[0].tolist() == list(range(310, 610))


# Checking, showing, exporting.


def test_the_audit_derives_the_alarm_from_logged_signals() -> None:
    params = with_head()
    probs, features = rows()
    log = Log(probs, features)
    steps, signals = Monitor(params).run(probs, features, signals=True)
    assert steps["alarm"].any()
    full = Decisions(steps, 0, signals, params.signals)
    found = audit(full, params)
    assert found.ok and "alarm" in [check.name for check in found.checks] and "alarm" not in found.unchecked
    assert audit(full, params, log).ok
    changed = steps.copy()
    changed["alarm"][77] ^= 1
    assert [
        c.name for c in audit(Decisions(changed, 0, signals, params.signals), params).checks if not c.ok
    ] == ["alarm"]


def test_the_audit_says_when_it_cannot_derive_the_alarm() -> None:
    params = with_head()
    probs, features = rows()
    steps = Monitor(params).run(probs, features)
    found = audit(steps, params)
    assert found.ok and "alarm" in found.unchecked and "alarm" not in [check.name for check in found.checks]
    changed = steps.copy()
    changed["alarm"][77] ^= 1
    assert audit(changed, params).ok  # nothing in the log can tell
    failed = [check.name for check in audit(changed, params, Log(probs, features)).checks if not check.ok]
    assert failed == ["alarm (rerun)"]


# Magnitude.
