"""Estimates of accuracy: exact where what they assume holds, judged by scikit-learn, fitted by halves."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

from tcuq_lab.methods.estimates import (
    ATC,
    DOC,
    ESTIMATES,
    Development,
    Estimated,
    Windows,
    monotone,
    nuclear_norms,
    transport,
)

pytestmark = pytest.mark.slow

CLASSES, SIZE = 4, 50
NAMED = {each.name: each for each in ESTIMATES}


def made(windows: int, seed: int, warmth: float = 1.0) -> Development:
    """Return windows whose labels are drawn from the posteriors, which are then sharpened by `warmth`."""
    rng = np.random.default_rng(seed)
    level = np.linspace(0.0, 6.0, windows)[:, None, None]
    logits = (
        level * rng.random((windows, SIZE, 1)) * np.eye(CLASSES)[rng.integers(0, CLASSES, (windows, SIZE))]
    )
    logits += rng.normal(0, 0.3, logits.shape)
    probs = np.exp(logits) / np.exp(logits).sum(axis=2, keepdims=True)
    labels = (rng.random((windows, SIZE, 1)) > probs.cumsum(axis=2)).sum(axis=2)
    sharp = np.exp(logits * warmth) / np.exp(logits * warmth).sum(axis=2, keepdims=True)
    return Development(
        Windows(sharp, logits * warmth), np.minimum(labels, CLASSES - 1), np.arange(windows) // 5
    )


def learned(name: str, dev: Development) -> Estimated:
    found = Estimated(NAMED[name])
    found.learn(dev)
    return found


@pytest.mark.parametrize("estimate", [ATC, DOC], ids=["ATC", "DoC"])
def test_thresholds_and_differences_are_exact_on_development_data(estimate: object) -> None:
    dev = made(20, 0)
    for setting in estimate.grid:  # type: ignore[attr-defined]
        found = estimate.learn(dev, **setting)(dev.windows)  # type: ignore[attr-defined]
        assert found.mean() == pytest.approx(dev.accuracy, abs=1e-9), setting


def test_mean_confidence_is_right_where_posteriors_are_calibrated() -> None:
    """And far off where they are sharpened, which a temperature repairs."""
    test, plain = made(200, 4), learned("mean confidence", made(10, 4))
    assert abs(plain.of(test.windows) - test.accuracies).mean() < 0.06  # the noise of 50 steps
    sharp, sharp_test = made(100, 5, warmth=3.0), made(200, 4, warmth=3.0)
    assert plain.of(sharp_test.windows).mean() - test.accuracy > 0.1
    scaled = learned("mean confidence, temperature", sharp)
    assert scaled.of(sharp_test.windows).mean() == pytest.approx(test.accuracy, abs=0.015)
    assert sharp.temperature == pytest.approx(3.0, rel=0.1)


def test_monotone_is_the_isotonic_regression_of_scikit_learn() -> None:
    rng = np.random.default_rng(8)
    x, y = rng.integers(0, 30, 200) / 10, rng.random(200)
    judge = IsotonicRegression(out_of_bounds="clip").fit(x, y)
    grid = np.linspace(-1, 4, 101)
    assert monotone(x, y)(grid) == pytest.approx(judge.predict(grid))


def test_nuclear_norm_is_that_of_singular_values() -> None:
    probs = made(3, 9).windows.probs
    for found, matrix in zip(nuclear_norms(probs), probs, strict=True):
        whole = np.linalg.svd(matrix, compute_uv=False).sum() / np.sqrt(CLASSES * SIZE)
        assert found == pytest.approx(whole, rel=1e-6)


def test_a_transport_is_the_best_one() -> None:
    """Against all ways to give six steps to three classes, two each."""
    probs = np.random.default_rng(1).dirichlet(np.full(3, 0.5), (4, 6))
    places = set(itertools.permutations((0, 0, 1, 1, 2, 2)))
    best = [min(1 - row[np.arange(6), place].mean() for place in places) for row in probs]
    assert transport(probs, np.full(3, 1 / 3)).mean(axis=1) == pytest.approx(best, abs=0.03)


def test_trials_are_judged_on_the_other_half_and_the_best_is_kept() -> None:
    """A half that has learned nothing but errors says so of the other half."""
    found, dev = learned("isotonic", made(30, 12)), made(10, 13)
    assert len(found.trials) == 8 and found.setting == ATC.grid[int(np.argmin(found.trials))]
    top = dev.windows.probs.argmax(axis=2)
    labels = np.where(dev.stretches[:, None] == 0, top, (top + 1) % CLASSES)
    assert learned("ATC", Development(dev.windows, labels, dev.stretches, 1.0)).trials == [1.0] * 8
