"""Two heads at once: what they learn on the log and on its shuffle."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from streams import dwell_stream

from tcuq import FitOptions, Log, Monitor, Params, fit
from tcuq.fitting import logistic
from tcuq.fitting.signal_table import read_signals
from tcuq.fitting.stages.heads import learn_gated
from tcuq.metrics import auroc
from tcuq.monitor.monitor import run_over


def made(seed: int, features: int = 0, steps: int = 8000) -> Log:
    probs, values, truth, marks = dwell_stream(
        steps, 6, features, np.random.default_rng(seed), dwell=10, shifted=True
    )
    return Log(probs, values, truth, shifted=marks)


def shuffled(log: Log, seed: int) -> Log:
    order = np.random.default_rng(seed).permutation(len(log))
    mixed = log.take(order)
    return Log(mixed.probs, mixed.features, mixed.labels)


@functools.cache
def fitted(features: int = 0, about: str = "prediction") -> Params:
    return fit(made(1, features), about=about, run_length=500, options=FitOptions(explain=False))


def test_on_a_stream_the_past_helps_and_on_its_shuffle_nothing_is_lost() -> None:
    stream, monitor = made(2), Monitor(fitted())
    wrong = stream.errors()
    assert auroc(run_over(monitor, stream)["risk"], wrong) > auroc(-stream.confidence(), wrong) + 0.03
    mixed = shuffled(stream, 3)
    wrong, plain = mixed.errors(), -mixed.confidence()
    assert abs(auroc(run_over(Monitor(fitted()), mixed)["risk"], wrong) - auroc(plain, wrong)) < 0.01
    # One head, learned on the stream, does lose on the shuffle.
    one = fit(made(1), profile="paper", run_length=500, options=FitOptions(explain=False))
    assert auroc(run_over(Monitor(one), mixed)["risk"], wrong) < auroc(plain, wrong) - 0.01


def test_persistence_is_high_where_classes_stay_and_low_where_they_do_not() -> None:
    stream, found = made(2), fit(made(1), run_length=500, options=FitOptions(explain=False)).notes["fit"]
    stays = run_over(Monitor(fitted()), stream)["persistence"][200:]
    mixed = run_over(Monitor(fitted()), shuffled(stream, 3))["persistence"][200:]
    assert stays.mean() > 0.4 and mixed.mean() < 0.1
    assert found["persistence"] > 0.4 and found["persistence_shuffled"] < 0.1


@pytest.mark.parametrize("features", [0, 8])
@pytest.mark.parametrize("about", ["answer", "prediction"])
def test_uncertainty_reads_as_a_probability_of_error(features: int, about: str) -> None:
    params = fitted(features, about)
    for log in (made(1, features), shuffled(made(1, features), 4)):
        steps = run_over(Monitor(params), log)
        wrong = steps[about] != log.labels
        assert abs(steps["uncertainty"].mean() - wrong.mean()) < 0.01
        high = steps["uncertainty"] > 0.5
        assert abs(steps["uncertainty"][high].mean() - wrong[high].mean()) < 0.06


def test_a_long_regression_starts_near_its_end_and_ends_there(monkeypatch: pytest.MonkeyPatch) -> None:
    log, params = made(5, 4), fitted(8).replace(features=4, centers=((0,) * 4,) * 6)
    table = read_signals(params, log, params.signals)
    parts = [(table, log.errors(), table.settled)]
    whole = learn_gated(params.signals, parts, 1.0)
    monkeypatch.setattr(logistic, "LONG", 1000)
    for near in (None, whole):
        found = learn_gated(params.signals, parts, 1.0, near=near)
        assert whole.steady == pytest.approx(found.steady, abs=1e-3)
        assert whole.instant == pytest.approx(found.instant, abs=1e-3)
    # Where every 16th row shows no error there is no start, and no failure.
    few = np.zeros(len(log), dtype=bool)
    few[3::16] = True
    parts = [(table, few, np.arange(len(log)))]
    assert np.isfinite(learn_gated(params.signals, parts, 1.0).steady_bias)


def test_logits_of_some_rows_are_those_of_all() -> None:
    log, params = made(5), fitted()
    table = read_signals(params, log, params.signals)
    found = learn_gated(params.signals, [(table, log.errors(), table.settled)], 1.0)
    every, some = found.logits(table), np.array([5, 17, 4000])
    assert np.allclose(found.logits(table, some), every[some]) and len(every) == len(log)
    assert np.allclose(found.logits(table, table.settled), every[1:])
