"""Evidence without labels: deviations from clean steps."""

from __future__ import annotations

import numpy as np
import pytest
from streams import dwell_stream

from tcuq import FitOptions, Log, Monitor, fit
from tcuq.fitting.deviations import LEAST_SPREAD, deviation_head
from tcuq.fitting.signal_table import SignalTable
from tcuq.monitor.log import watch


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
    assert params.evidence is not None and params.notes["fit"]["evidence"]["from"] == "deviations"
    assert set(params.evidence.coef) == {"odds", *(["magnitude", "distance"] if features else [])}
    assert not watch(Monitor(params), made(3, features, False))["alarm"].any()
    alarm = watch(Monitor(params), made(4, features, True))["alarm"]
    assert not alarm[:2000].any() and alarm[2000:2300].any()


def table(units: list[list[int]], subject: list[int]) -> SignalTable:
    rows = np.array(units, dtype=np.uint16)
    none = np.zeros(len(rows), dtype=np.uint16)
    classes = np.array(subject, dtype=np.int16)
    settled = np.ones(len(rows), dtype=bool)
    return SignalTable(("odds", "magnitude"), rows, none, classes, classes, classes, none, none, settled)


def test_each_signal_is_centered_by_class_and_scaled_by_its_spread() -> None:
    # Class 0 lies at 1/4, class 1 at 1/2; both deviate by 1/8. Magnitude hardly moves.
    odds = [0.125, 0.375, 0.375, 0.625]
    rows = [[round(65536 * value), 6000] for value in odds]
    given = table([*rows, [60000, 60000]], [0, 0, 1, 1, 1])
    head, found = deviation_head(3, given.names, given, [slice(0, 4)], 2.0)
    assert found["clean_steps"] == 4
    assert np.isclose(head.coef["odds"], 8 / 1.5, atol=0.01)
    assert 0.5 / LEAST_SPREAD / 1.5 > 64 and head.coef["magnitude"] == -64.0, "the most that the core holds"
    added = head.values(given.registry(slice(0, 4)), given.subject[:4])
    assert np.allclose(added, np.array([-1, 1, -1, 1]) / 1.5, atol=0.02)
    # A class that no clean step shows is centered by all of them.
    third = head.values(given.registry(slice(0, 1)), np.array([2]))
    assert np.isclose(third, (0.125 - 0.375) * 8 / 1.5, atol=0.02)


def test_signals_without_a_way_to_deviate_are_refused() -> None:
    given = table([[1, 1]], [0])
    with pytest.raises(ValueError, match="evidence needs one of the signals odds, distance, magnitude"):
        deviation_head(2, ("doubt",), given, [slice(0, 1)], 2.0)


def test_a_log_with_labels_and_shifts_learns_its_evidence() -> None:
    probs, values, truth, marks = dwell_stream(4000, 5, 4, np.random.default_rng(1), shifted=True)
    params = fit(Log(probs, values, truth, shifted=marks), run_length=500, options=FitOptions(explain=False))
    assert "from" not in params.notes["fit"]["evidence"] and params.evidence is not None
    assert params.evidence.clip == 3.0
