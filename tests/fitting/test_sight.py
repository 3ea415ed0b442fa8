"""Promises of the alarm that sees the input: what it finds, what leaves it quiet, and what it says."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

from tcuq import Bank, InputError, Log, Monitor, Params, fit, moved_name
from tcuq.base.checks import InputNote
from tcuq.fitting import FitOptions

CLASSES, WIDTH, NAMES = 5, 12, ("brightness", "sharpness", "tint")
QUICK = FitOptions(explain=False)


def made(seed: int, steps: int = 3000, stay: int = 8, **moved: float) -> Log:
    """Return a stream whose gauges may lie apart from clean ones, in deviations; outputs never show it."""
    rng = np.random.default_rng(seed)
    truth = np.repeat(rng.integers(0, CLASSES, steps // stay + 1), stay)[:steps]
    logits = rng.normal(0, 1, (steps, CLASSES)) + 3.5 * np.eye(CLASSES)[truth]
    probs = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    centers = np.random.default_rng(7).normal(0, 2, (CLASSES, WIDTH))
    features = centers[truth] + rng.normal(0, 1, (steps, WIDTH))
    gauges = rng.normal(0, 1, (steps, len(NAMES))) * (8.0, 0.3, 2.0) + np.outer(truth, (1.0, 0.05, 0.2))
    for name, by in moved.items():
        gauges[:, NAMES.index(name)] += by * (8.0, 0.3, 2.0)[NAMES.index(name)]
    return Log(probs, features, labels=truth, gauges=gauges, gauge_names=NAMES)


def unlabeled(log: Log) -> Log:
    return Log(log.probs, log.features, gauges=log.gauges, gauge_names=log.gauge_names)


@pytest.fixture(scope="module")
def params() -> Params:
    return fit(unlabeled(made(0)), options=QUICK)


def on(params: Params, log: Log) -> float:
    return float((Monitor(params).run(log)["alarm"] != 0).mean())


@pytest.mark.parametrize("stay", [1, 8, 64, 400])
def test_other_clean_examples_are_quiet_however_long_a_class_stays(params: Params, stay: int) -> None:
    assert np.mean([on(params, made(seed, stay=stay)) for seed in (1, 2, 3)]) <= 0.05


@pytest.mark.parametrize("name", NAMES)
def test_what_only_the_input_shows_is_found_and_named(params: Params, name: str) -> None:
    steps = Monitor(params).run(made(4, 600, **{name: -3.0}))
    raised = np.flatnonzero(steps["alarm"])
    assert raised[0] < 100
    assert (steps["alarm"][100:] != 0).mean() > 0.8
    assert (steps["action"][steps["alarm"] != 0] == 2).all()
    named = steps["moved"][steps["changed"]][20:]
    assert np.median(named == 128 + NAMES.index(name)) == 1


def test_labels_change_nothing_of_the_alarm(params: Params) -> None:
    assert params.sight is not None
    labeled = fit(made(0), about="answer", options=QUICK)
    assert labeled.sight is not None
    assert labeled.alarm == params.alarm
    assert labeled.sight.matrix == params.sight.matrix


def test_a_frozen_input_holds(params: Params) -> None:
    log = made(5, 400)
    for values in (log.probs, log.features, log.gauges):
        assert values is not None
        values[200:] = values[200]
    steps = Monitor(params).run(log)
    assert np.flatnonzero(steps["alarm"][200:])[0] < 100
    assert (steps["moved"][-50:] == 254).all()


def unsure(log: Log, mixed: float) -> Log:
    """Return the same with posteriors that say less."""
    probs = (1 - mixed) * np.asarray(log.probs) + mixed / CLASSES
    return Log(probs, log.features, labels=log.labels, gauges=log.gauges, gauge_names=log.gauge_names)


def test_a_device_that_begins_a_little_off_is_one_of_its_own(params: Params) -> None:
    assert params.sight is not None
    alone = params.replace(sight=replace(params.sight, baseline=0))
    others = [made(seed, 3000, brightness=0.6, sharpness=-0.6, tint=0.6) for seed in (11, 12, 13)]
    own, none = (np.median([on(each, log) for log in others]) for each in (params, alone))
    assert own <= 0.05 < 0.3 < none


@pytest.mark.parametrize("stay", [1, 8])
def test_a_device_degraded_from_its_first_step_never_is(params: Params, stay: int) -> None:
    for degraded in (made(14, 3000, stay, sharpness=-3.0), unsure(made(15, 3000, stay), 0.6)):
        steps = Monitor(params).run(degraded)
        assert np.flatnonzero(steps["alarm"])[0] < 100
        assert (steps["alarm"][100:] != 0).mean() > 0.8
        assert (steps["alarm"][-500:] != 0).mean() > 0.8


def test_an_alarm_ends_soon_after_the_shift(params: Params) -> None:
    steps, monitor = [], Monitor(params)
    for part in (made(6, 600), made(7, 400, sharpness=-3.0), made(8, 600)):
        steps.append(monitor.run(part)["alarm"] != 0)
    assert steps[1].mean() > 0.7
    assert not steps[2][100:].any()


def test_sums_of_features_stand_for_gauges_where_there_are_none(params: Params) -> None:
    plain = made(0)
    blind = fit(Log(plain.probs, plain.features, labels=plain.labels), options=QUICK)
    assert blind.evidence is None and blind.sight is not None and blind.sight.gauges == ()
    assert blind.sight.numbers[:2] == ("features_0", "features_1")
    assert blind.sight.numbers[8:] == ("odds", "distance", "blocks")
    bare = fit(Log(plain.probs, labels=plain.labels), options=QUICK).sight
    assert bare is not None and bare.numbers == ("odds",)
    other = made(7, 400)
    assert other.features is not None
    features = np.asarray(other.features) * np.where(np.arange(other.width) < other.width // 2, 0.5, 1.5)
    monitor = Monitor(blind)
    assert (monitor.run(Log(made(6, 600).probs, made(6, 600).features))["alarm"] == 0).mean() > 0.9
    steps = monitor.run(Log(other.probs, features))
    assert (steps["alarm"] != 0).mean() > 0.7, "features that moved, beside posteriors that did not"
    assert (
        moved_name(3, blind.sight)
        == moved_name(128 + 3, blind.sight)
        == "features unlike those of the clean log"
    )
    with pytest.warns(InputNote, match="no gauge 'brightness'"):
        Monitor(params).run(Log(plain.probs, plain.features))


def test_steps_one_by_one_and_in_a_bank_are_those_of_a_run(params: Params) -> None:
    log = made(9, 300, tint=4.0)
    assert log.features is not None
    whole = Monitor(params).run(log)
    assert (Monitor(params).run(log.probs, log.features, gauges=np.asfortranarray(log.gauges)) == whole).all()
    single = Monitor(params)
    rows = zip(log.probs, log.features, log.gauges, strict=True)  # type: ignore[arg-type]
    said = [single.step(probs, features, gauges=gauges) for probs, features, gauges in rows]
    assert [step.action for step in said] == [("act", "ask", "hold")[each] for each in whole["action"]]
    bank = Bank(params, 1).run([0] * 300, log.probs, log.features, gauges=log.gauges)
    assert (bank == whole).all()
    state = Monitor(params)
    state.run(log.take(slice(0, 150)))
    rest = Monitor(params).load(state.save()).run(log.take(slice(150, 300)))
    assert (rest["degradation"] == whole["degradation"][150:]).all()


def test_parameters_are_the_same_after_writing_and_reading(params: Params) -> None:
    assert Params.from_json(params.to_json()) == params


def test_gauges_of_another_number_are_refused(params: Params) -> None:
    with pytest.raises(InputError, match="expected 3 a step: brightness, sharpness, tint"):
        Monitor(params).run(made(1, 20).probs, made(1, 20).features, gauges=np.zeros((20, 2)))


def test_expected_accuracy_falls_where_the_input_is_far(params: Params) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        near, far = (Monitor(params).run(made(3, 600, brightness=by)) for by in (0.0, 6.0))
    assert far["expected_accuracy"][100:].mean() < near["expected_accuracy"][100:].mean() - 0.1
