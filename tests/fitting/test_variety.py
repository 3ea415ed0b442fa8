"""What the variety of other streams is compared with."""

from __future__ import annotations

import numpy as np
import pytest
from streams import dwell_stream

from tcuq import FitOptions, Log, Monitor, Params, fit
from tcuq.fitting import variety
from tcuq.fitting.variety import find_spread
from tcuq.monitor.instant_head import InstantHead
from tcuq.monitor.log import watch
from tcuq.monitor.signals import STOCK_INSTANT, STOCK_STEADY


def bare(classes: int) -> Params:
    head = InstantHead(*STOCK_INSTANT)
    signals = ("odds", "disbelief")
    return Params(
        classes=classes,
        signals=signals,
        coef=STOCK_STEADY[0],
        bias=STOCK_STEADY[1],
        instant=head,
        about="answer",
    )


def held(seed: int, dwell: int, steps: int = 6000) -> Log:
    """Return a stream in which each example is held, and shaken a little."""
    probs, _, truth, _ = dwell_stream(steps, 5, 0, np.random.default_rng(seed), 8, True)
    place = np.arange(steps) // dwell * dwell
    logits = np.log(probs[place]) + np.random.default_rng(seed + 1).normal(0, 0.1, probs.shape)
    weights = np.exp(logits)
    return Log(weights / weights.sum(1, keepdims=True), labels=truth[place])


def test_held_examples_have_less_variety_than_those_of_the_fit() -> None:
    probs, _, truth, marks = dwell_stream(6000, 5, 0, np.random.default_rng(0), 8, True)
    params = fit(Log(probs, labels=truth, shifted=marks), run_length=300, options=FitOptions(explain=False))
    fresh, _, _, _ = dwell_stream(6000, 5, 0, np.random.default_rng(9), 20, True)
    assert watch(Monitor(params), Log(fresh))["variety"][300:].mean() > 0.95
    said = watch(Monitor(params), held(3, 16))
    assert said["variety"][300:].mean() < 0.05
    assert said["persistence"][300:].mean() > 0.4, "classes do stay; it is the past that tells nothing new"


def test_a_monitor_fitted_to_held_examples_takes_them_as_usual() -> None:
    params = fit(held(5, 16), run_length=300, options=FitOptions(explain=False))
    assert watch(Monitor(params), held(7, 16))["variety"][300:].mean() > 0.8


def test_chunks_and_types_of_posteriors_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    probs, _, _, _ = dwell_stream(3000, 5, 0, np.random.default_rng(1), 8, True)
    found = find_spread(bare(5), Log(probs, segments=np.arange(3000) // 250))
    whole = variety.chunks
    monkeypatch.setattr(variety, "chunks", lambda count: whole(count, 7))
    assert find_spread(bare(5), Log(probs, segments=np.arange(3000) // 250)) == found > 0
    eighths = (np.clip(np.floor(probs * 256 + 0.5), 0, 255) - 128).astype(np.int8)
    assert find_spread(bare(5), Log(eighths, segments=np.arange(3000) // 250)) == found


@pytest.mark.parametrize("probs", [np.full((2000, 1000), 0.001), np.eye(4)[np.zeros(2000, int)], np.eye(3)])
def test_a_log_without_doubts_or_with_too_few_says_nothing(probs: np.ndarray) -> None:
    assert find_spread(bare(probs.shape[1]), Log(probs)) == 0.0
