"""The stage that estimates accuracy, and its error on kinds of shift that were left out."""

from __future__ import annotations

import numpy as np
import pytest
from streams import dwell_stream

from tcuq import FitOptions, Log, Monitor, fit
from tcuq.fitting.stages import accuracy
from tcuq.fitting.stages.accuracy import HORIZON
from tcuq.monitor.monitor import run_over


def made(seed: int, kinds: int = 3, labels: bool = True, steps: int = 6000) -> Log:
    probs, features, truth, marks = dwell_stream(steps, 5, 4, np.random.default_rng(seed), shifted=True)
    shifted = np.where(marks, 1 + np.arange(steps) // 500 % kinds, 0)
    return Log(probs, features, truth if labels else None, shifted=shifted)


def test_there_is_none_without_labels_and_sight_or_with_one_head() -> None:
    for options in ({"log": made(0, labels=False), "alarm": "risk"}, {"log": made(0), "profile": "paper"}):
        params = fit(run_length=300, options=FitOptions(explain=False), **options)
        assert params.horizon == 0 and "expected_accuracy" not in params.notes["fit"]
        assert np.isnan(run_over(Monitor(params), made(1))["expected_accuracy"]).all()


def test_it_follows_the_accuracy_of_unseen_steps() -> None:
    params = fit(made(0), run_length=300)
    found, log = params.notes["fit"]["expected_accuracy"], made(1)
    steps = run_over(Monitor(params), log)
    right = steps["answer"] == log.labels
    assert params.horizon == HORIZON
    assert abs(params.expected_start - right[~log.shifted].mean()) < 0.03
    # At the end of each stretch of 250 steps, clean and degraded in turn.
    expected = steps["expected_accuracy"][249::250]
    truth = right.reshape(-1, 250).mean(1)
    assert truth.std() > 0.05 and np.abs(expected - truth).mean() < 0.06
    assert found["kinds"] == 3 and 0 < found["error"] < 0.1 and found["windows"] > 10


def test_its_error_is_unknown_with_fewer_than_two_kinds() -> None:
    found = fit(made(0, kinds=1), run_length=300).notes["fit"]["expected_accuracy"]
    assert found["error"] is None and found["kinds"] == 0
    silent = fit(made(0), run_length=300, options=FitOptions(explain=False)).notes["fit"]["expected_accuracy"]
    assert "error" not in silent and silent["horizon"] == HORIZON


def test_an_unknown_kind_that_fools_the_signals_shows_in_the_error() -> None:
    """A kind whose wrong answers look as sure as right ones cannot be seen, and the fit must say so."""
    log = made(0)
    labels = np.array(log.labels)
    fooled = log.kinds == 2
    labels[fooled] = (log.predictions()[fooled] + 1) % 5
    odd = fit(Log(log.probs, log.features, labels, shifted=log.kinds), run_length=300)
    plain = fit(log, run_length=300)
    errors = [each.notes["fit"]["expected_accuracy"]["error"] for each in (plain, odd)]
    assert errors[1] > errors[0] + 0.1


def test_heads_do_not_see_the_kind_that_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    log, seen = made(0), []
    learn = accuracy.relearn
    monkeypatch.setattr(
        accuracy, "relearn", lambda state, parts, *more: seen.append(parts) or learn(state, parts, *more)
    )
    fit(log, run_length=300, alarm="risk")
    order = np.random.default_rng(0).permutation(len(log))  # as the stage of the signals draws it
    assert len(seen) == 3 and log.kinds is not None
    for kind, ((_, _, rows), (_, _, mixed)) in zip((1, 2, 3), seen, strict=True):
        for kinds in (log.kinds[rows], log.kinds[order[mixed]]):
            assert set(kinds.tolist()) == {0, 1, 2, 3} - {kind}
