"""Evidence without labels, and how the two small regressions of learned evidence go."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from refusals import refused

from tcuq import Log, Monitor, fit
from tcuq.fitting.learn_head import Part, deviations, learn_moments
from tcuq.fitting.signal_table import SignalTable
from tcuq.monitor.monitor import run_over


def made(seed: int, features: int, shifted: bool) -> Log:
    """Return an unlabeled stream; with a shift, the features of which are those of the same classes."""
    rng = np.random.default_rng(seed)
    truth = np.repeat(rng.integers(0, 5, 700), 6)
    marks = (np.arange(len(truth)) >= 2000) & shifted
    logits = rng.normal(0, 1, (len(truth), 5)) + np.where(marks, 1.5, 4.5)[:, None] * np.eye(5)[truth]
    probs = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    if not features:
        return Log(probs)
    centers = np.random.default_rng(99).normal(0, 1, (5, features))
    noise = rng.normal(0, 0.3, (len(truth), features)) * np.where(marks, 3, 1)[:, None]
    return Log(probs, np.maximum(0, centers[truth] + noise))


@pytest.mark.parametrize("features", [0, 8])
def test_the_alarm_comes_on_a_shift_and_not_on_clean_steps(features: int) -> None:
    params = fit(made(1, features, False), clean=made(2, features, False), run_length=20_000)
    assert params.evidence is None and params.sight is not None
    assert len(params.sight.numbers) == (11 if features else 1), "sums of features, odds and both distances"
    quiet = np.concatenate(
        [run_over(Monitor(params), made(seed, features, False))["alarm"] for seed in (3, 5, 6)]
    )
    assert quiet.mean() < 0.03, "in so few clean steps some false alarms come"
    alarm = run_over(Monitor(params), made(4, features, True))["alarm"]
    assert alarm[:2000].mean() < 0.1 and alarm[2000:2300].any() and alarm[2300:].mean() > 0.9


def part(units: list[list[int]], subject: list[int], degraded: list[int]) -> Part:
    rows = np.array(units, dtype=np.uint16)
    none = np.zeros(len(rows), dtype=np.uint16)
    classes = np.array(subject, dtype=np.int16)
    bad = np.array(degraded, dtype=bool)
    table = SignalTable(
        ("odds", "magnitude"), rows, none, classes, classes, classes, none, none, none, np.ones_like(bad)
    )
    ends = [*np.flatnonzero(np.diff(bad)) + 1, len(bad)]
    runs = [slice(start, stop) for start, stop in zip([0, *ends], ends, strict=False) if not bad[start]]
    return Part(table, np.ones(len(rows)), np.zeros_like(bad), bad, runs)


def test_each_signal_is_centered_by_class_and_scaled_by_its_deviation() -> None:
    # Class 0 lies at 1/4, class 1 at 1/2; both deviate by 1/8. Magnitude hardly moves.
    rows = [[round(65536 * value), 6000] for value in (0.125, 0.375, 0.375, 0.625)] * 500
    given = part([*rows, [60000, 60000]], [0, 0, 1, 1] * 500 + [1], [0] * 2000 + [1])
    moments = deviations([given], given.table.names, 3)
    assert np.isclose(moments.coef[0], 8 / 1.5, atol=0.02)
    assert moments.coef[1] == -64.0, "the most that the core holds"
    assert np.allclose(moments.of(given)[:4], np.array([-1, 1, -1, 1]) / 1.5, atol=0.04)
    # A class that no clean step shows is centered by all of them.
    assert moments.offsets[1] < moments.offsets[2] < moments.offsets[0]


def test_signals_without_a_way_to_deviate_are_refused() -> None:
    with refused("missing"):
        deviations([part([[1, 1]], [0], [0])], ("doubt",), 2)


def test_steps_that_repeat_hardly_count() -> None:
    rng = np.random.default_rng(0)
    odds = np.concatenate([rng.normal(0.4, 0.05, 2000), rng.normal(0.5, 0.05, 2000)])
    given = part([[round(65536 * x), 1] for x in odds], [0] * 4000, [0] * 2000 + [1] * 2000)
    plain = learn_moments([given], ("odds",), 1)
    # Half of the degraded steps are one object that looks clean, held still.
    held = np.arange(4000) >= 3000
    given.table.units[held, 0] = round(65536 * 0.4)
    still = replace(given, novelty=np.where(held, 0.0, 1.0))
    weighed, even = (learn_moments([each], ("odds",), 1).coef[0] for each in (still, given))
    assert even < 0.7 * plain.coef[0] < 0.85 * weighed
