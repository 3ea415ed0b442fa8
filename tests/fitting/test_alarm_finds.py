"""What a fitted alarm finds, and what it leaves alone: input that stands still, devices that differ."""

from __future__ import annotations

import numpy as np
import pytest
from refusals import refused

from tcuq import EvidenceHead, FitOptions, Log, Monitor, Params, accuracy_band, fit

CLASSES, WIDTH = 4, 16
INT8 = {"feature_scale": 1.0, "feature_zero_point": 0}


def stream(seed: int, steps: int = 4000, shifted: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return posteriors, int8 features and labels; objects are held for eight steps, and shaken."""
    rng = np.random.default_rng(seed)
    truth = np.repeat(rng.integers(0, CLASSES, steps // 8), 8)
    own = np.repeat(rng.normal(0, 12, (steps // 8, WIDTH)), 8, axis=0) + rng.normal(0, 2, (steps, WIDTH))
    centers = np.random.default_rng(0).normal(0, 30, (CLASSES, WIDTH))
    seen = centers[truth] * (0.5 if shifted else 1.0) + own * (2 if shifted else 1)
    logits = -np.square(seen[:, None] - centers).sum(2) / 2000
    probs = np.exp(logits - logits.max(1, keepdims=True))
    return probs / probs.sum(1, keepdims=True), np.clip(seen, -128, 127).astype(np.int8), truth


@pytest.fixture(scope="module")
def log() -> Log:
    parts = [stream(seed, 2000, shifted) for seed, shifted in ((1, False), (2, True), (3, False))]
    probs, features, labels = (np.concatenate(each) for each in zip(*parts, strict=True))
    return Log(probs, features, labels=labels, shifted=np.repeat([0, 1, 0], 2000), **INT8)


def fitted(log: Log, **options: int) -> Params:
    return fit(log, run_length=1000, options=FitOptions(explain=False, **options))


@pytest.mark.parametrize("labels", [True, False])
def test_input_that_freezes_raises_the_alarm(log: Log, labels: bool) -> None:
    clean = log.take(np.flatnonzero(log.shifted == 0))
    params = fitted(log if labels else Log(clean.probs, clean.features, **INT8))
    probs, features, _ = stream(4)
    for frozen in (1000, 1500, 2500):
        at = np.minimum(np.arange(frozen + 100), frozen)
        steps = Monitor(params).run(probs[at], features[at])
        assert steps["alarm"][:frozen].mean() < 0.05
        assert steps["alarm"][frozen + 50 :].all(), "a frozen input is found within 50 steps"
        assert (steps["uncertainty"][frozen + 50 :] >= 1 - 1 / CLASSES).all()


def test_a_clean_log_that_freezes_itself_allows_it(log: Log) -> None:
    clean = log.take(np.flatnonzero(log.shifted == 0))
    at = np.repeat(np.arange(len(clean) // 100), 100)  # one picture for a hundred steps
    params = fitted(Log(clean.probs[at], clean.features[at], **INT8))
    assert params.sight is not None and params.sight.frozen == 0


def hanging(steps: int) -> Log:
    """Return segments: clean, degraded, `steps` steps of one wrong answer, clean."""
    parts = [stream(1, 2000), stream(2, 2000, True), stream(3, 8), stream(4, 2000)]
    parts[2] = tuple(np.repeat(each[:1], steps, axis=0) for each in parts[2])
    lengths = [len(labels) for *_, labels in parts]
    probs, features, labels = (np.concatenate(each) for each in zip(*parts, strict=True))
    kinds, segments = np.repeat([0, 1, 2, 0], lengths), np.repeat(range(4), lengths)
    labels[kinds == 2] = (probs[4000].argmax() + 1) % CLASSES
    return Log(probs, features, labels=labels, shifted=kinds, segments=segments, **INT8)


def test_a_segment_that_hangs_teaches_nothing_once_it_stands_still() -> None:
    def head(steps: int) -> EvidenceHead:
        options = FitOptions(explain=False)
        log = hanging(steps)
        found = fit(log, about="prediction", alarm="proved", run_length=1000, options=options).evidence
        assert found is not None
        return found

    assert head(100) == head(1500)
    assert head(100).frozen == head(0).frozen > 0


def test_a_baseline_is_for_devices_that_differ(log: Log) -> None:
    plain, own = fitted(log, baseline_inputs=0), fitted(log, baseline_inputs=100)
    probs, features, _ = stream(5)
    offset = np.random.default_rng(3).normal(0, 5, WIDTH)  # features of another room
    other = probs, np.clip(features + offset, -128, 127).astype(np.int8)
    alone, referred = (Monitor(each).run(*other)["alarm"][1000:].mean() for each in (plain, own))
    assert alone > 0.2 and referred < 0.5 * alone
    bad = stream(6, shifted=True)
    steps = Monitor(own).run(*bad[:2])
    assert steps["alarm"][200:].mean() > 0.5, "a device that starts degraded is found"
    with refused("value", "baseline_inputs"):
        fit(log, alarm="risk", options=FitOptions(baseline_inputs=5))


def test_a_band_holds_most_accuracies_and_is_wider_in_alarm(log: Log) -> None:
    probs, features, labels = stream(7, 2000, shifted=True)
    more = Log(
        np.concatenate([log.probs, probs]),
        np.concatenate([log.features, features]),
        labels=np.concatenate([log.labels, labels]),
        shifted=np.concatenate([log.shifted, np.full(2000, 2)]),
        **INT8,
    )
    params = fit(more, run_length=1000)
    assert params.accuracy_error is not None and params.accuracy_error[1] >= params.accuracy_error[0]
    probs, features, labels = stream(8)
    steps = Monitor(params).run(probs, features)
    low, high = accuracy_band(params, steps)
    right = np.convolve(steps["answer"] == labels, np.ones(64) / 64)[64:4000]
    assert ((low[64:] <= right) & (right <= high[64:])).mean() > 0.8
    assert (high - low)[64:].mean() < 0.5
    assert np.isnan(accuracy_band(fitted(log), steps)).all()
    plain = fit(more, run_length=1000, alarm="risk")
    low, high = accuracy_band(plain, Monitor(plain).run(probs, features))
    assert plain.accuracy_error is not None and (high - low)[64:].mean() < 0.5, "each step is a new input"
