"""The integer core against the same equations in float64."""

from __future__ import annotations

import numpy as np
import pytest
from differences import on_beliefs, on_integers
from streams import int8_stream

from tcuq import Monitor, Params
from tcuq.demo import DEV_CORRUPTIONS, make_log, train
from tcuq.demo.digits import load
from tcuq.fitting import fit
from tcuq.monitor.quantize import quantize_features, quantize_probs
from tcuq.monitor.reference import reference
from tcuq.monitor.signals import profile_signals


@pytest.mark.slow
def test_random_params_over_a_million_steps() -> None:
    found = on_integers(1_000_000, seed=1)
    assert found.steps >= 1_000_000
    assert found.largest <= 0.01
    assert found.mean <= 0.002


@pytest.mark.parametrize(("classes", "most"), [(2, 0.002), (10, 0.002), (100, 0.02), (1000, 0.08)])
def test_beliefs_stay_near_float64(classes: int, most: float) -> None:
    """Sixteen bits a class are coarse where there are many classes, and no drift adds up."""
    found = on_beliefs(classes, 20_000, seed=1)
    assert found.largest <= most and found.mean <= most / 4


@pytest.mark.parametrize("profile", ["paper", "extended"])
def test_a_real_stream(profile: str) -> None:
    train_part, dev_part, _ = load(0)
    log = make_log(train(train_part, 0), dev_part, DEV_CORRUPTIONS, 6000, 1)
    params = fit(log, profile=profile, run_length=1000)
    probs = quantize_probs(log.probs)
    features = quantize_features(log.features, params.feature_scale, params.feature_zero_point)
    steps, signals = Monitor(params).run(log.probs, log.features, signals=True)
    real = reference(params, probs, features)
    gap = np.abs(steps["risk"] - real.risk)
    assert gap.max() <= 0.01 and gap.mean() <= 0.002
    assert np.abs(signals - real.signals).max() <= 0.002


def test_the_comparison_can_fail() -> None:
    """Another blend gives another risk: the distance is not zero by construction."""
    params = Params(classes=10, signals=profile_signals("paper", 0), blend=0.7)
    probs, _ = int8_stream(500, 10, 0)
    risk = Monitor(params).run(probs)["risk"]
    assert np.abs(risk - reference(params, probs).risk).max() <= 0.01
    assert np.abs(risk - reference(params.replace(blend=0.5), probs).risk).max() > 0.01


def test_a_posterior_does_not_diverge_from_itself() -> None:
    rng = np.random.default_rng(0)
    params = Params(classes=50, signals=("divergence",), coef={"divergence": 1})
    for _ in range(200):
        probs = np.tile(rng.integers(-128, 128, 50).astype(np.int8), (4, 1))
        assert (Monitor(params).run(probs, signals=True)[1][1:, 0] == 0).all()


def test_divergence_is_symmetric_and_bounded() -> None:
    rng = np.random.default_rng(0)
    params = Params(classes=7, signals=("divergence",), lags=(1,), coef={"divergence": 1})
    for _ in range(300):
        a, b = rng.integers(-128, 128, (2, 7)).astype(np.int8)
        ab = Monitor(params).run(np.array([a, b]), signals=True)[1][1, 0]
        ba = Monitor(params).run(np.array([b, a]), signals=True)[1][1, 0]
        assert ab == ba and 0 <= ab < 1
