"""Estimates of accuracy: exact where what they assume holds, blind to other windows, as many trials each."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tcuq_lab.methods.estimates import (
    ESTIMATES,
    Atc,
    Bbse,
    Development,
    Doc,
    DocRegression,
    Gde,
    MeanConfidence,
    ScaledConfidence,
    Windows,
    monotone,
    nuclear_norms,
    transport,
)
from tcuq_lab.methods.method import TRIALS

CLASSES, SIZE = 4, 50
ALL = (*ESTIMATES, Gde)


def made(windows: int, seed: int, warmth: float = 1.0, low: float = 0.0, high: float = 6.0) -> Development:
    """Return windows whose labels are drawn from the posteriors, which are then sharpened by `warmth`.

    With warmth 1 confidence is calibrated; windows differ in how sure they are, `low` to `high`.
    """
    rng = np.random.default_rng(seed)
    level = np.linspace(low, high, windows)[:, None, None]
    logits = (
        level * rng.random((windows, SIZE, 1)) * np.eye(CLASSES)[rng.integers(0, CLASSES, (windows, SIZE))]
    )
    logits += rng.normal(0, 0.3, logits.shape)
    probs = np.exp(logits) / np.exp(logits).sum(axis=2, keepdims=True)
    labels = (rng.random((windows, SIZE, 1)) > probs.cumsum(axis=2)).sum(axis=2)
    labels = np.minimum(labels, CLASSES - 1)
    sharp = np.exp(logits * warmth) / np.exp(logits * warmth).sum(axis=2, keepdims=True)
    other = np.exp(logits + rng.normal(0, 1, logits.shape))
    other /= other.sum(axis=2, keepdims=True)
    return Development(Windows(sharp, logits * warmth, other), labels, np.arange(windows) // 5)


def test_atc_is_exact_on_development_data() -> None:
    """As many steps lie below the threshold as were wrong, whatever the measure of certainty."""
    dev = made(20, 0)
    for setting in Atc.grid:
        found = Atc().learn(dev, setting)(dev.windows)
        assert found.mean() == pytest.approx(dev.accuracy, abs=1e-9), setting


def test_doc_is_exact_on_development_data_and_follows_the_mean_confidence() -> None:
    """Development accuracy where confidence is as it was; each point of confidence is one of accuracy."""
    dev = made(20, 2)
    rule = Doc().learn(dev, Doc.grid[0])
    found, sure = rule(dev.windows), dev.windows.probs.max(axis=2).mean(axis=1)
    assert found.mean() == pytest.approx(dev.accuracy, abs=1e-9)
    assert np.diff(found) == pytest.approx(np.diff(sure), abs=1e-9)


@pytest.mark.parametrize("setting", DocRegression.grid)
def test_regression_of_confidence_finds_a_line(setting: dict[str, object]) -> None:
    """Where accuracy is a line of the mean certainty, it is found."""
    dev = made(40, 3)
    temperature = 1.0 if setting["scale"] is None else dev.temperature
    sure = dev.windows.certainty(str(setting["certainty"]), temperature).mean(axis=1)
    wanted = 0.9 + 0.5 * (sure - sure.max())
    right = np.arange(SIZE) < (wanted * SIZE).round()[:, None]
    top = dev.windows.probs.argmax(axis=2)
    lined = Development(
        dev.windows, np.where(right, top, (top + 1) % CLASSES), dev.stretches, dev.temperature
    )
    assert DocRegression().learn(lined, setting)(dev.windows) == pytest.approx(wanted, abs=0.02)


def test_mean_confidence_is_right_where_posteriors_are_calibrated() -> None:
    """And far off where they are sharpened, which a temperature repairs."""
    test = made(200, 4)
    plain = MeanConfidence()
    plain.fit(test)
    assert abs(plain.of(test.windows) - test.accuracies).mean() < 0.06  # the noise of 50 steps
    assert plain.of(test.windows).mean() == pytest.approx(test.accuracy, abs=0.01)
    sharp, sharp_test = made(100, 5, warmth=3.0), made(200, 4, warmth=3.0)
    assert plain.of(sharp_test.windows).mean() - test.accuracy > 0.1
    scaled = ScaledConfidence()
    scaled.fit(sharp)
    assert scaled.of(sharp_test.windows).mean() == pytest.approx(test.accuracy, abs=0.015)
    assert sharp.temperature == pytest.approx(3.0, rel=0.1)


def test_monotone_is_the_least_squares_fit() -> None:
    """No rising levels are nearer, by comparison with the formula of largest means of smallest means."""
    rng = np.random.default_rng(8)
    x, y = np.arange(12.0), rng.random(12)
    formula = [
        max(min(y[i : j + 1].mean() for j in range(at, 12)) for i in range(at + 1)) for at in range(12)
    ]
    assert monotone(x, y)(x) == pytest.approx(formula)


def test_nuclear_norm_is_that_of_singular_values() -> None:
    """Against a decomposition, as a share of the norm of sure and even posteriors."""
    probs = made(3, 9).windows.probs
    for found, matrix in zip(nuclear_norms(probs), probs, strict=True):
        whole = np.linalg.svd(matrix, compute_uv=False).sum() / np.sqrt(CLASSES * SIZE)
        assert found == pytest.approx(whole, rel=1e-6)
    even = np.eye(CLASSES)[np.arange(SIZE - SIZE % CLASSES) % CLASSES][None]
    assert nuclear_norms(even) == pytest.approx([1.0])


def test_a_transport_is_the_best_one() -> None:
    """Against all ways to give six steps to three classes, two each."""
    probs = np.random.default_rng(1).dirichlet(np.full(3, 0.5), (4, 6))
    places = set(itertools.permutations((0, 0, 1, 1, 2, 2)))
    best = [min(1 - row[np.arange(6), place].mean() for place in places) for row in probs]
    assert transport(probs, np.full(3, 1 / 3)).mean(axis=1) == pytest.approx(best, abs=0.03)


def test_label_shift_is_put_into_the_confidence() -> None:
    """Where the harder one of two classes becomes rare, accuracy rises, which BBSE tells."""
    rng = np.random.default_rng(2)

    def windows(share: float, count: int) -> Development:
        labels = (rng.random((count, SIZE * 4)) < share).astype(np.int64)
        x = rng.normal(0, 1 + 2 * labels)
        ones = 1 / (1 + 3 * np.exp(-4 / 9 * x * x))  # holds for even classes
        return Development(Windows(np.stack([1 - ones, ones], axis=2)), labels, np.arange(count) // 5)

    found, plain, test = Bbse(), MeanConfidence(), windows(0.05, 40)
    for each in (found, plain):
        each.fit(windows(0.5, 40))
    gaps = [abs(each.of(test.windows).mean() - test.accuracy) for each in (found, plain)]
    assert gaps[0] < gaps[1] / 2, gaps  # a penalty keeps it from all of the way


@pytest.mark.parametrize("estimate", [each for each in ALL if len(each.grid) > 1])
def test_the_best_trial_is_kept(estimate: type) -> None:
    """Trials are judged on stretches that did not teach them; the nearest is learned from all."""
    found, dev = estimate(), made(30, 12)
    found.fit(dev)
    assert len(found.trials) == TRIALS
    assert found.setting == found.grid[int(np.argmin(found.trials))]
    assert found.of(dev.windows) == pytest.approx(
        np.clip(estimate().learn(dev, found.setting)(dev.windows), 0, 1)
    )


def test_trials_are_judged_on_the_other_half() -> None:
    """A half that has learned nothing but errors says so of the other half."""
    dev = made(10, 13)  # two stretches
    top = dev.windows.probs.argmax(axis=2)
    labels = np.where(dev.stretches[:, None] == 0, top, (top + 1) % CLASSES)
    found = Atc()
    found.fit(Development(dev.windows, labels, dev.stretches, 1.0))
    assert found.trials == pytest.approx([1.0] * TRIALS)
