"""The stages of a fit: options, tables of signals, risk from a table, progress."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from streams import dwell_stream

from tcuq import FitOptions, Log, Monitor, Params, fit
from tcuq.fitting import logistic, signal_table
from tcuq.fitting.arrays import scores
from tcuq.fitting.logistic import fit_logistic, linear
from tcuq.fitting.signal_table import CHUNK, fill_in_means, read_signals
from tcuq.fitting.stages.evidence import find_signals, learn_evidence
from tcuq.fitting.stages.heads import fit_heads
from tcuq.fitting.stages.read import read
from tcuq.fitting.stages.state import Request
from tcuq.fitting.words import in_words
from tcuq.monitor.heads import EvidenceHead, InstantHead
from tcuq.monitor.monitor import run_over
from tcuq.monitor.signals import SIGNALS


def make_log(steps: int, seed: int = 0, segment: int = 400) -> Log:
    probs, features, labels, shifted = dwell_stream(steps, 5, 4, np.random.default_rng(seed), shifted=True)
    return Log(probs, features, labels, np.arange(steps) // segment, shifted)


ONE_HEAD = tuple(name for name in SIGNALS if name != "disbelief")


def random_params(rng: np.random.Generator, signals: tuple[str, ...] = ONE_HEAD, **more: Any) -> Params:
    return Params(
        classes=5,
        features=4,
        feature_scale=0.02,
        feature_zero_point=-128,
        signals=signals,
        lags=(3, 8),
        coef=dict(zip(signals, rng.uniform(-8, 8, len(signals)).tolist(), strict=True)),
        clean_means=dict(zip(signals, rng.random(len(signals)).tolist(), strict=True)),
        evidence=EvidenceHead({"odds": 5.0, "distance": 9.0}, rng.normal(-8, 1, 5).tolist(), 3.0, 5_000),
        centers=rng.integers(-128, 128, (5, 4)).tolist(),
        bias=float(rng.normal(0, 3)),
        blend=float(rng.random()),
        **more,
    )


def random_instant(rng: np.random.Generator) -> InstantHead:
    coef = dict(zip(SIGNALS, rng.uniform(-8, 8, len(SIGNALS)).tolist(), strict=True))
    return InstantHead(coef, float(rng.normal(0, 3)))


def compare_with_core(params: Params, log: Log) -> None:
    steps, signals = run_over(Monitor(params), log, signals=True)
    table = read_signals(params.replace(clean_means=None), log, params.signals)
    fill_in_means(table, params)
    used = [SIGNALS.index(name) for name in table.names]
    assert (table.units == signals[:, used] * 65536).all()
    assert (table.predictions == steps["prediction"]).all() and (table.answers == steps["answer"]).all()
    assert (table.persistence == steps["persistence"] * 65536).all()
    found = scores(params, table)
    assert (found.uncertainty == steps["uncertainty"]).all()
    assert (found.risk == steps["risk"]).all()


@pytest.mark.parametrize("seed", range(6))
def test_uncertainty_and_risk_of_a_table_are_those_of_the_core(seed: int) -> None:
    params = random_params(np.random.default_rng(seed))
    # Segments shorter than a lag, too.
    compare_with_core(params, make_log(2000, seed, segment=(2, 7, 2000)[seed % 3]))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("about", ["answer", "prediction"])
def test_two_heads_on_a_table_are_those_of_the_core(seed: int, about: str) -> None:
    rng = np.random.default_rng(seed)
    head = random_instant(rng)
    anchor = ("belief", "confidence")[seed % 3 == 2]
    params = random_params(rng, SIGNALS, instant=head, about=about, anchor=anchor)
    log = make_log(2000, seed, segment=(2, 7, 2000)[seed % 3])
    compare_with_core(params, log)
    share = run_over(Monitor(params), log)["persistence"]
    assert share.max() > share.min(), "both heads have a say"


def test_uncertainty_at_the_ends_is_that_of_the_core() -> None:
    log = make_log(600)
    for bias in (-250.0, -12.0, -0.001, 0.0, 11.99, 250.0):
        params = Params(classes=5, bias=bias, coef={"doubt": 0.01})
        steps = run_over(Monitor(params), log)
        table = read_signals(params, log, params.signals)
        assert (scores(params, table).uncertainty == steps["uncertainty"]).all()


def test_a_table_is_read_in_chunks_as_one_stream() -> None:
    steps = CHUNK + 700
    probs, _, _, _ = dwell_stream(steps, 3, 0, np.random.default_rng(1))
    params = Params(classes=3, signals=("flips", "odds"))
    _, values = run_over(Monitor(params), Log(probs), signals=True)
    calls: list[tuple[int, int]] = []
    table = read_signals(params, Log(probs), params.signals, progress=lambda *call: calls.append(call))
    used = [SIGNALS.index(name) for name in table.names]
    assert (table.units == values[:, used] * 65536).all()
    assert calls == [(CHUNK, steps), (steps, steps)]
    assert table.of(("odds",)).shape == (steps, 1)


def test_the_monitor_runs_as_often_as_it_must(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []
    run = Monitor.run
    monkeypatch.setattr(
        Monitor,
        "run",
        lambda self, probs, *more, **named: taken.append(len(probs)) or run(self, probs, *more, **named),
    )
    fit(make_log(2000), clean=make_log(1000, 1), profile="paper", run_length=100)
    assert sum(taken) == 2000 + 1000 + 2000  # the log, the clean log, the shuffle
    taken.clear()
    fit(make_log(2000), profile="paper", run_length=100, options=FitOptions(explain=False))
    assert sum(taken) == 2000
    taken.clear()
    fit(make_log(2000), run_length=100, options=FitOptions(explain=False))
    # What the alarm looks at, its distances on clean steps and on halves of them; heads, also shuffled.
    assert sum(taken) == 11_400


def test_a_long_log_is_explained_on_some_of_its_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    log = make_log(6000)
    whole = fit(log, run_length=100)
    monkeypatch.setattr(signal_table, "EXPLAINED", 2500)
    some = fit(log, run_length=100)
    assert some.replace(notes={}) == whole.replace(notes={})
    assert "explained_steps" not in whole.notes["fit"] and some.notes["fit"]["explained_steps"] == 2500
    assert "from 2,500 of the steps, drawn at random" in in_words(some, details=True)
    for name, row in some.notes["fit"]["signals"].items():
        assert abs(row["alone"] - whole.notes["fit"]["signals"][name]["alone"]) < 0.05


def test_regression_in_units_and_in_chunks_is_that_of_the_floats() -> None:
    rng = np.random.default_rng(5)
    units = rng.integers(0, 65536, (30_000, 3)).astype(np.uint16)
    target = rng.random(len(units)) < 1 / (1 + np.exp(-(units[:, 0] / 16384 - 2.5)))
    coef, bias = fit_logistic(units, target, 1.0)
    again, same = fit_logistic(units / 65536, target, 1.0)
    assert (coef == again).all() and bias == same
    # At the optimum of the whole, the gradient of the penalized loss is 0.
    x = (units / 65536 - (units / 65536).mean(0)) / (units / 65536).std(0)
    weights = np.where(target, 0.5 / target.mean(), 0.5 / (1 - target.mean()))
    probability = 1 / (1 + np.exp(-linear(units, coef, bias)))
    gradient = x.T @ (weights * (probability - target)) + coef * (units / 65536).std(0)
    assert np.abs(gradient).max() < 1e-3


def test_a_regression_that_meets_its_bounds_is_soon_at_its_optimum(monkeypatch: pytest.MonkeyPatch) -> None:
    """Features far apart: two signals hardly move, so that their coefficients are held at a bound."""
    rng = np.random.default_rng(4)
    truth = np.repeat(rng.integers(0, 10, 750), 8)
    noise = np.where(np.arange(6000) // 500 % 4 == 3, 2.0, 1.0)[:, None]
    logits = rng.normal(0, 1, (6000, 10)) * noise + 3 * np.eye(10)[truth]
    deep = rng.normal(0, 1, (10, 32))[truth] + rng.normal(0, 0.5, (6000, 32)) * noise
    log = Log(np.exp(logits) / np.exp(logits).sum(1, keepdims=True), np.maximum(0, deep), truth)
    passes, at = [], logistic._Loss.at
    monkeypatch.setattr(logistic._Loss, "at", lambda self, beta: passes.append(beta) or at(self, beta))
    state = read(Request(log, options=FitOptions(explain=False)))
    learn_evidence(state)
    find_signals(state)
    passes.clear()
    fit_heads(state)
    assert state.params.coef is not None
    assert (
        state.params.coef["distance"] > 63.9 and 5 < len(passes) < 40
    )  # five regressions, four of them on folds
    # At the optimum the bias is free: as many errors are expected as there are, over log and shuffle.
    assert state.shuffle is not None and state.errors is not None
    both = [(state.table, state.errors), (state.shuffle.table, state.shuffle.errors)]
    expected = sum(scores(state.params, table).uncertainty[table.settled].sum() for table, _ in both)
    assert abs(expected - sum(wrong[table.settled].sum() for table, wrong in both)) < 12
