"""How new a step is, in the fit and in the core; and answers that do harm."""

from __future__ import annotations

import numpy as np
import pytest
from fits import findings
from streams import dwell_stream, int8_stream

from tcuq import EvidenceHead, FitOptions, Log, Monitor, Params, fit
from tcuq.fitting.alarms import find_reach
from tcuq.fitting.arrays import compared, novelty
from tcuq.fitting.signal_table import read_signals
from tcuq.monitor.state import read_state


@pytest.mark.parametrize("features", [0, 3, 21])
def test_a_look_is_that_of_the_core(features: int) -> None:
    rng = np.random.default_rng(features)
    probs = rng.dirichlet(np.ones(4), 600)
    values = rng.integers(-128, 128, (600, features)).astype(np.int8)
    probs[200:300], values[200:300] = probs[200], values[200]  # an object that stays
    log = Log(probs, values if features else None, segments=np.arange(600) // 150)
    names = ("odds", "distance") if features else ("odds",)
    plain = Params(
        classes=4, features=features, signals=names, centers=[[3] * features] * 4 if features else None
    )
    table = read_signals(plain, log, ("odds",))
    found = compared(log, None if features else table.of(("odds",))[:, 0])
    reach = find_reach(found, table.subject.astype(np.int64), np.ones(600, dtype=bool), 0)
    own, _ = novelty(found, reach, ~table.settled)
    core = read_signals(plain.replace(evidence=EvidenceHead({}, [0.0] * 4, reach=reach)), log, names).novelty
    assert (own == core).all()
    assert (own[201:300][np.arange(201, 300) % 150 != 0] == 32).all() and own[0] == own[150] == 256
    assert 100 < np.delete(own, np.arange(200, 300)).mean() < 240


def test_features_alone_tell_what_is_new() -> None:
    probs, features, *_ = dwell_stream(1200, 4, 8, np.random.default_rng(3))
    log = Log(probs, features)
    options = FitOptions(signals=("distance", "disbelief"))
    params = fit(log, alarm="proved", options=options, run_length=100, force=True)
    assert params.evidence is not None and "odds" not in params.signals
    assert fit(log, options=options, run_length=100, force=True).sight is None, "which reads the odds"


@pytest.mark.parametrize("features", [0, 21])
def test_a_stillness_is_that_of_the_core(features: int) -> None:
    probs, values = int8_stream(400, 4, features)
    probs[200:300] = probs[200]
    if features:
        values[200:300] = values[200]
    log = Log(probs, values)
    names = ("odds", "distance") if features else ("odds",)
    plain = Params(
        classes=4, features=features, signals=names, centers=[[3] * features] * 4 if features else None
    )
    found = compared(log, None if features else read_signals(plain, log, ("odds",)).units[:, 0])
    reach = find_reach(found, np.zeros(400, dtype=np.int64), np.ones(400, dtype=bool), 0)
    _, own = novelty(found, reach, np.isin(np.arange(400), (0, 270)))
    monitor, core = Monitor(plain.replace(evidence=EvidenceHead({}, [0.0] * 4, reach=reach))), []
    for t in range(400):
        if t == 270:
            monitor.reset()
        monitor.step(log.probs[t], log.features[t] if log.features is not None else None)
        core.append(read_state(monitor.save()).stillness / 65536)
    assert np.abs(own - core).max() < 0.0002
    assert own[269] > 10 and own[269] > 2 * own[:200].max() and own[270] == 0 < own[271]


def test_answers_that_do_harm_are_not_given() -> None:
    """A class that comes for single steps between long stays of others: taking steps together misses it."""
    rng = np.random.default_rng(0)
    truth = np.repeat(rng.integers(0, 3, 500), 8)
    truth[::6] = 3
    logits = rng.normal(0, 1, (4000, 4)) + 3 * np.eye(4)[truth]
    log = Log(np.exp(logits) / np.exp(logits).sum(1, keepdims=True), labels=truth)
    quick = FitOptions(explain=False)
    params = fit(log, run_length=300, options=quick)
    assert params.about == "prediction"
    assert "answers_do_harm" in findings(params)
    steps = Monitor(params).run(log.probs)
    assert (steps["answer"] == steps["prediction"]).all()
    assert fit(log, about="answer", run_length=300, options=quick).about == "answer"
    staying = dwell_stream(3000, 4, 0, np.random.default_rng(0), shifted=True)
    assert fit(Log(staying[0], labels=staying[2]), run_length=300, options=quick).about == "answer"
