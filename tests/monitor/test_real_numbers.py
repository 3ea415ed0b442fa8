"""The integer core against the same equations in real numbers: bounds where there are some."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import roundings
from digits import DEV_CORRUPTIONS, load, make_log, train
from places import ROOT
from real_step import on_integers, on_learned, random_params, random_stream, real_steps
from streams import int8_stream, learned_params

from tcuq import Alarm, AlarmSide, EvidenceHead, Monitor, Params
from tcuq.fitting import fit
from tcuq.log.quantize import quantize_features, quantize_probs
from tcuq.monitor.heads import InstantHead
from tcuq.monitor.signals import profile_signals

# Of the four signals of the paper: docs/TRUST.md.
ERRORS = {"divergence": 5.0e-4, "instability": 8.0e-5, "flips": 2.5e-5, "doubt": 2.5e-5}


def paper_params(rng: np.random.Generator) -> Params:
    classes = int(rng.choice([2, 3, 10, 35]))
    while True:
        params = random_params(rng, classes)
        if params.features >= 8:
            break
    return params.replace(
        signals=tuple(ERRORS),
        coef={name: float(rng.normal(0, 12)) for name in ERRORS},
        clean_means=dict.fromkeys(ERRORS, 0.2),
        bias=float(rng.normal(0, 3)),
        anchor="confidence",
    )


def test_no_step_of_the_paper_is_further_off_than_its_bound() -> None:
    rng = np.random.default_rng(5)
    nearest = 0.0
    for _ in range(40):
        params = paper_params(rng)
        probs, features = random_stream(400, params.classes, params.features, params.feature_zero_point, rng)
        rows = quantize_probs(probs)
        steps, signals = Monitor(params).run(rows, features, signals=True)
        real = real_steps(params, rows, features)
        for column, name in enumerate(params.signals):
            assert np.abs(signals[:, column] - real.signals[:, column]).max() <= ERRORS[name], name
        # Errors of the signals, floors, and the logistic.
        shares = sum(abs(params.coef[name]) * ERRORS[name] for name in params.signals)
        bound = (shares + (len(params.signals) + 1) / 65536) / 4 + 2.1e-4
        off = np.abs(steps["uncertainty"] - real.uncertainty).max()
        assert off <= bound
        risk = params.blend * bound + (1 - params.blend) / 65536 + 0.5 / 65536 + 1e-9
        assert np.abs(steps["risk"] - real.risk).max() <= risk
        nearest = max(nearest, off / bound)
    # A bound that nothing comes near would tell nobody anything.
    assert nearest > 0.1


@pytest.mark.slow
def test_roundings_of_functions_are_those_of_the_page() -> None:
    page = (ROOT / "docs" / "TRUST.md").read_text(encoding="utf-8")
    assert [line for line in roundings.table() if line not in page.splitlines()] == []


@pytest.mark.slow
def test_random_params_over_a_million_steps() -> None:
    gaps = on_integers(1_000_000, seed=1)
    assert len(gaps) >= 1_000_000 and gaps.max() <= 0.01 and gaps.mean() <= 0.002


@pytest.mark.parametrize(
    ("classes", "mean", "others"),
    [(2, 0.001, 0.001), (10, 0.002, 0.002), (35, 0.02, 0.02), (200, 0.01, 0.02)],
)
def test_what_is_learned_stays_near_real_numbers(classes: int, mean: float, others: float) -> None:
    """Answers differ where two classes are nearly as likely; the rest is rounding, which does not add up."""
    gaps, other = on_learned(classes, 10_000, seed=1)
    assert max(gaps[name].mean() for name in ("risk", "persistence", "degradation")) <= mean
    assert gaps["expected_accuracy"].max() <= 10 * mean and other <= others
    if classes <= 10:
        assert max(gaps[name].max() for name in ("risk", "persistence")) <= 0.05


@pytest.mark.parametrize("about", ["prediction", "answer"])
@pytest.mark.parametrize("anchor", ["confidence", "belief"])
def test_the_subject_of_a_step_is_that_of_the_reference(about: str, anchor: str) -> None:
    names = ("odds", "degradation", "disbelief")
    params = learned_params(
        6,
        about=about,
        anchor=anchor,
        signals=names,
        coef=dict.fromkeys(names, 1.0),
        clean_means=dict.fromkeys(names, 0.3),
        instant=InstantHead({"odds": 4.0}, -2.0),
        evidence=EvidenceHead({"odds": 4.0}, [-1.0, -1.5, -2.0, -2.5, -3.0, -3.5], 2.0),
        blend=0.5,
        alarm=Alarm(),  # which would move the head start of the class mix
    )
    probs, _ = int8_stream(2000, 6, 0)
    steps, signals = Monitor(params).run(probs, signals=True)
    real = real_steps(params, probs)
    same = steps["answer"] == real.answer
    assert same.mean() > 0.999 and (steps["answer"] != steps["prediction"]).any() == (about == "answer")
    assert np.abs(steps["risk"] - real.risk)[same].max() <= 0.005
    assert np.abs(signals - real.signals)[same].max() <= 0.005
    other = real_steps(params.replace(about="prediction" if about == "answer" else "answer"), probs)
    assert (
        np.abs(steps["risk"] - other.risk).max() > 0.1
        and np.abs(steps["degradation"] - other.degradation).max() > 0.01
    )


@pytest.mark.parametrize("features", [0, 16])
def test_input_that_stands_still(features: int) -> None:
    names = ("odds", "degradation", "distance", "drift") if features else ("odds", "degradation")
    centers = [[-60] * features] * 6 if features else None
    reach = 20_000 if features else 40_000_000
    params = Params(
        classes=6,
        features=features,
        signals=names,
        coef={"odds": 6.0},
        bias=-5.0,
        lags=(),
        centers=centers,
        evidence=EvidenceHead({"odds": 4.0}, [-1.0] * 6, reach=reach, frozen=9.3),
        alarm=Alarm(rise=AlarmSide(0, 4.0)),
    )
    probs, values = int8_stream(600, 6, features)
    probs[300:400] = probs[300]
    if features:
        values[300:400] = values[300]
    steps, signals = Monitor(params).run(probs, values, signals=True)
    real = real_steps(params, probs, values)
    assert real.frozen[330:400].all() and not real.frozen[:300].any() and not real.frozen[450:].any()
    assert np.abs(signals - real.signals).max() <= 0.005
    for name in ("uncertainty", "novelty", "degradation", "risk"):
        assert np.abs(steps[name] - getattr(real, name)).max() <= 0.005, name


def test_without_an_instant_head_nothing_is_learned() -> None:
    probs, _ = int8_stream(300, 10, 0)
    real = real_steps(Params(classes=10), probs)
    assert (real.persistence == 0).all() and (real.degradation == 0).all()
    assert np.isnan(real.expected_accuracy).all() and (real.answer == probs.argmax(1)).all()


@pytest.mark.parametrize(("profile", "most"), [("paper", 0.002), ("standard", 0.01)])
def test_a_real_stream(profile: Any, most: float) -> None:
    train_part, dev_part, _ = load(0)
    log = make_log(train(train_part, 0), dev_part, DEV_CORRUPTIONS, 6000, 1)
    # An alarm would move the head start of the class mix; that and distances are not in the real numbers.
    alarm = "proved" if profile == "standard" else None
    params = fit(log, profile=profile, run_length=1000, alarm=alarm).replace(alarm=Alarm())
    probs = quantize_probs(log.probs)
    features = quantize_features(log.features, params.feature_scale, params.feature_zero_point)
    steps, signals = Monitor(params).run(log.probs, log.features, signals=True)
    real = real_steps(params, probs, features)
    same = steps["answer"] == real.answer  # two classes may be nearly as likely
    gap = np.abs(steps["risk"] - real.risk)[same]
    assert same.mean() > 0.999 and gap.max() <= 0.01 and gap.mean() <= 0.002
    assert np.abs(signals - real.signals)[same].max() <= most


def test_the_comparison_can_fail() -> None:
    """Another blend gives another risk: the distance is not zero by construction."""
    params = Params(classes=10, signals=profile_signals("paper", 0), blend=0.7)
    probs, _ = int8_stream(500, 10, 0)
    risk = Monitor(params).run(probs)["risk"]
    assert np.abs(risk - real_steps(params, probs).risk).max() <= 0.01
    assert np.abs(risk - real_steps(params.replace(blend=0.5), probs).risk).max() > 0.01
