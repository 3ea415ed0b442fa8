"""The offline fit, and what it says."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from fits import findings, told
from refusals import refused
from sklearn.linear_model import LogisticRegression
from streams import dwell_stream

from tcuq import FitOptions, Log, Monitor, fit
from tcuq.fitting.logistic import fit_logistic, linear
from tcuq.fitting.signal_table import folds
from tcuq.fitting.words import in_words
from tcuq.metrics import auroc
from tcuq.monitor.monitor import run_over
from tcuq.monitor.signals import SIGNALS


def make_log(steps: int = 6000, features: int = 16, seed: int = 0, dwell: float = 8, **keep: bool) -> Log:
    rng = np.random.default_rng(seed)
    probs, values, truth, marks = dwell_stream(steps, 10, features, rng, dwell, shifted=True)
    labels = truth if keep.get("labels", True) else None
    return Log(probs, values, labels, shifted=marks if keep.get("shifted", True) else None)


@pytest.mark.parametrize("l2", [0.1, 1.0, 100.0])
def test_regression_agrees_with_scikit_learn(l2: float) -> None:
    rng = np.random.default_rng(0)
    x = rng.random((2000, 4)) * [1, 0.2, 3, 1]
    target = rng.random(2000) < 1 / (1 + np.exp(-(x @ [2, -5, 0.5, 0] - 2)))
    coef, bias = fit_logistic(x, target, l2)
    scale = x.std(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = LogisticRegression(C=1 / l2, class_weight="balanced", tol=1e-10, max_iter=10_000)
        other.fit((x - x.mean(0)) / scale, target)
    assert np.allclose(coef * scale, other.coef_[0], atol=1e-4)
    assert np.isclose(bias + coef @ x.mean(0), other.intercept_[0], atol=1e-4)


def test_nonnegative_regression_is_optimal_on_its_side() -> None:
    rng = np.random.default_rng(0)
    x = rng.random((1500, 3))
    target = rng.random(1500) < 1 / (1 + np.exp(-(x @ [3, -4, 1])))
    coef, _ = fit_logistic(x, target, 1.0, low=0.0)
    assert (coef >= 0).all() and coef[1] == 0 and coef[0] > 1
    # The optimum with the offending signal left out is the same one.
    without, _ = fit_logistic(x[:, [0, 2]], target, 1.0)
    assert np.allclose(coef[[0, 2]], without, atol=1e-5)


@pytest.mark.parametrize("options", [{"profile": "paper"}, {"about": "prediction"}], ids=str)
def test_fit_beats_confidence_on_a_stream_with_dwell_and_generalizes(options: Any) -> None:
    params = fit(make_log(), run_length=1000, **options)
    other = make_log(seed=7)
    risk = run_over(Monitor(params), other)["risk"]
    assert auroc(risk, other.errors()) > auroc(-other.confidence(), other.errors()) + 0.03
    found = params.notes["fit"]
    assert found["time_helps"]
    assert abs(found["auroc_core"] - found["auroc_float"]) < 1e-3
    assert "Time helps here" in in_words(params, details=True)


@pytest.mark.parametrize(("profile", "more"), [("paper", set()), ("standard", {"rules", "left_out"})])
def test_a_fit_without_explanation_differs_in_its_notes_alone(profile: str, more: set[str]) -> None:
    log = make_log()
    full, silent = (
        fit(log, profile=profile, run_length=1000, options=FitOptions(explain=each)) for each in (True, False)
    )
    assert silent.replace(notes={}) == full.replace(notes={})
    left_out = {"time_helps", "time", "signals", "run_length_elsewhere"} | more
    assert set(full.notes["fit"]) - set(silent.notes["fit"]) == left_out
    assert "held-out" in str(full) and "held-out" not in str(silent)


def test_a_tied_reference_does_not_flag_all_of_the_tie() -> None:
    probs = np.tile([0.75, 0.25], (600, 1))
    probs[::20] = [0.5, 0.5]
    params = fit(Log(probs, shifted=np.zeros(600)), level=0.1, run_length=100)
    risk = Monitor(params).run(probs)["risk"]
    assert (risk >= params.reference).mean() <= 0.1


def test_signs_are_free() -> None:
    # With every step of another class, staying the same is what is suspicious.
    rng = np.random.default_rng(0)
    truth = np.arange(4000) % 10
    logits = rng.normal(0, 1, (4000, 10)) + 3 * np.eye(10)[truth]
    stuck = np.arange(4000) % 400 >= 300
    logits[stuck] = 4 * np.eye(10)[0] + rng.normal(0, 1, (int(stuck.sum()), 10))
    log = Log(np.exp(logits) / np.exp(logits).sum(1, keepdims=True), labels=truth, shifted=stuck)
    free = fit(log, profile="paper", run_length=500, options=FitOptions(drop_unused=False))
    assert free.coef is not None and min(free.coef.values()) < -0.5
    _, signals = run_over(Monitor(free), log, signals=True)
    used = signals[:, [SIGNALS.index(name) for name in free.signals]]
    bound = linear(used, *fit_logistic(used, log.errors(), 1.0, low=0.0))
    assert free.notes["fit"]["auroc"] > auroc(bound, log.errors()) + 0.05


@pytest.mark.parametrize(("budget", "level"), [(0.2, 0.2), (0.999, 0.999), (1.0, 0.999), (0.0, 0.1)])
def test_the_default_level_follows_the_budget(budget: float, level: float) -> None:
    assert fit(make_log(600), budget=budget, options=FitOptions(explain=False)).level == level


def test_shifts_without_cost_are_not_called_missing() -> None:
    log = make_log()
    harmless = Log(log.probs[~log.shifted], labels=log.labels[~log.shifted])
    marked = replace(harmless, shifted=np.arange(len(harmless)) % 500 >= 250)
    params = fit(marked, run_length=100, alarm="proved", options=FitOptions(explain=False))
    assert findings(params)["few_degraded"]["degraded"] == 0


def test_answers_and_time_do_not_contradict_each_other() -> None:
    """Answers may be hardly better than predictions where time still ranks their errors."""
    rng = np.random.default_rng(0)
    truth, bad = np.arange(4000) % 10, np.arange(4000) // 500 % 2 == 1  # no class stays, but what is bad does
    logits = rng.normal(0, np.where(bad, 3, 1)[:, None], (4000, 10)) + 3 * np.eye(10)[truth]
    log = Log(np.exp(logits) / np.exp(logits).sum(1, keepdims=True), labels=truth, shifted=bad)
    said = in_words(fit(log, run_length=100), details=True)
    assert "Time helps here" in said
    assert "does not help" not in said and "past steps can only help" not in said


def test_reference_is_the_clean_quantile_and_means_are_clean() -> None:
    log = make_log()
    assert log.shifted is not None
    clean = ~log.shifted
    for profile, name in (("paper", "doubt"), ("standard", "distance")):
        params = fit(log, profile=profile, run_length=1000, level=0.2)
        steps, signals = run_over(Monitor(params), log, signals=True)
        assert params.clean_means is not None
        assert abs((steps["risk"][clean] >= params.reference).mean() - 0.2) < 0.02
        assert abs(signals[clean, SIGNALS.index(name)].mean() - params.clean_means[name]) < 0.01


def test_segments_are_independent_streams() -> None:
    """Cutting a log into segments of one step removes all past, so lagged signals fall silent."""
    log = make_log(800)
    assert log.labels is not None
    cut = Log(log.probs, log.features, log.labels, np.arange(800), log.shifted)
    with refused("missing"):
        fit(cut, run_length=100)
    assert set(folds(Log(log.probs, segments=np.repeat(np.arange(8), 100))).tolist()) == {0, 1, 2, 3}


def test_kinds_of_shift_take_turns_in_being_held_out() -> None:
    log = make_log(4000)
    kinds = np.where(log.shifted, 1 + np.arange(4000) // 250 % 3, 0)
    named = Log(log.probs, log.features, log.labels, shifted=kinds)
    fold = folds(named)
    for kind in (1, 2, 3):
        assert len(set(fold[kinds == kind].tolist())) == 1
    assert len(set(fold[kinds == 0].tolist())) == 4
    assert named.take(slice(500, 900)).kinds.tolist() == kinds[500:900].tolist()
    found = fit(named, run_length=500)
    assert found.notes["fit"]["time"]["kinds"] == 3
    assert "with 3 kinds of shift held out in turn" in in_words(found, details=True)


def test_level_can_follow_the_budget_and_is_warned_about_otherwise() -> None:
    log = make_log(2000)
    options = {"profile": "paper", "run_length": 500}
    tied, apart = fit(log, level="budget", budget=0.2, **options), fit(log, **options)
    assert tied.level == 0.2 and "level_below_budget" not in findings(tied)
    assert fit(log, budget=0.2, run_length=500).level == 0.2, "two heads tie them unless told otherwise"
    assert fit(log, budget=0.2, level=0.05, run_length=500).level == 0.05
    assert findings(apart)["level_below_budget"] == {
        "code": "level_below_budget",
        "level": 0.1,
        "budget": 0.15,
    }


BAD_FITS: list[tuple[str, Any, dict[str, Any]]] = [
    ("missing", lambda log: log.take(slice(0, 0)), {}),
    ("missing", lambda log: Log(log.probs, labels=log.predictions()), {"profile": "paper"}),
    ("missing", lambda log: Log(log.probs, labels=log.predictions()), {"about": "prediction"}),
    ("value", lambda log: log, {"run_length": 1}),
    ("value", lambda log: log, {"l2": 0}),
    ("value", lambda log: log, {"profile": "best"}),
    ("missing", lambda log: log, {"feature_scale": 0.1}),
    ("value", lambda log: log, {"clean": Log([[0.5, 0.5]])}),
    ("missing", lambda log: Log(log.probs, shifted=np.ones(len(log))), {}),
]


@pytest.mark.parametrize(("code", "change", "options"), BAD_FITS)
def test_bad_fits_are_refused(code: str, change: Any, options: dict[str, Any]) -> None:
    with refused(code):
        fit(change(make_log(600)), **told(**options))


def test_int8_features_that_no_weight_reads_need_no_zero_point() -> None:
    log = make_log(1000, labels=False)
    raw = Log(log.probs, np.zeros((1000, 16), dtype=np.int8), shifted=log.shifted)
    params = fit(raw, profile="paper", run_length=100)
    assert params.features == 0 and "Dropped: 16 features, as no weight reads them" in str(params)
    # Deviations from clean steps read features, so two heads would use them if their zero point was known.
    assert fit(raw, run_length=100).features == 0
    assert fit(raw, run_length=100, options=FitOptions(feature_zero_point=0)).features == 16


def test_logits_are_refused_unless_they_are_said_to_be() -> None:
    log = make_log(1500, 0)
    logits = np.log(log.probs) + 3
    raw = np.clip(np.round(logits / 0.1), -128, 127).astype(np.int8)
    for given in (logits, raw):
        wrong = Log(given, labels=log.labels, shifted=log.shifted)
        with refused("value"):
            fit(wrong)
        with refused("value"):
            fit(log, clean=wrong)
    given = Log(logits, labels=log.labels, shifted=log.shifted)
    wanted = fit(log, run_length=100)
    assert fit(given, options=FitOptions(logits=True), run_length=100).replace(notes={}) == wanted.replace(
        notes={}
    )
    given = Log(raw, labels=log.labels, shifted=log.shifted)
    found = fit(given, run_length=100, options=FitOptions(logits=True, logits_scale=0.1))
    assert found.notes["fit"]["auroc"] == pytest.approx(wanted.notes["fit"]["auroc"], abs=0.02)
    with refused("missing"):
        fit(log, options=FitOptions(logits_scale=0.1))


def test_a_bad_row_is_named_by_its_number_in_the_whole_log() -> None:
    log = make_log(600, 0)
    probs = log.probs.copy()
    probs[350, :5] *= 0.5
    with pytest.raises(ValueError, match=r"probs\[350\] sum to 0\.\d+, expected 1\.00 ± 0\.02"):
        fit(Log(probs, labels=log.labels, segments=np.arange(600) // 100))


def test_labels_of_one_class_are_refused_and_predictions_noted() -> None:
    log = make_log(600, 0)
    with refused("missing"):
        fit(Log(log.probs, labels=np.full(600, 3)), run_length=100)
    stuck = np.tile([0.8, 0.1, 0.1], (600, 1))
    stuck[::2] = [0.6, 0.3, 0.1]
    params = fit(Log(stuck, labels=np.arange(600) // 3 % 3), run_length=100, force=True)
    assert "Note: every prediction is class 0: the log says nothing" in str(params)
    assert "every prediction" not in str(fit(log, run_length=100))


def test_steps_are_doubtful_from_the_largest_risk_on_that_keeps_the_error_rate() -> None:
    log = make_log()
    params = fit(log, run_length=200, options=FitOptions(explain=False, max_error=0.05))
    assert params.feedback is not None
    steps = run_over(Monitor(params.replace(feedback=None)), log)
    accepted, wrong = steps["risk"] < params.feedback.reference, steps["answer"] != log.labels
    assert wrong[accepted].mean() <= 0.05
    assert accepted.mean() == pytest.approx(params.notes["fit"]["feedback"]["accepted"], abs=0.01)
    for limit in np.unique(steps["risk"][~accepted])[::20]:
        assert wrong[steps["risk"] <= limit].mean() > 0.05


def test_some_signals_of_a_profile_may_be_chosen() -> None:
    log = make_log(1500)
    own = fit(log, options=FitOptions(signals=("odds", "disbelief")), run_length=100)
    assert own.signals == ("odds", "disbelief") and own.sight is not None
    with refused("conflict"):
        fit(log, profile="paper", options=FitOptions(signals=("odds",)))
    with refused("missing"):
        fit(log, options=FitOptions(signals=("odds", "distance")))
