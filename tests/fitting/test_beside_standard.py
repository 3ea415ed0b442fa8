"""What `tune` chose beside the standard profile."""

from __future__ import annotations

import numpy as np
from streams import dwell_stream

from tcuq import Log, tune
from tcuq.fitting import tune_findings
from tcuq.fitting.beside_standard import _risk_elsewhere, standard_beside
from tcuq.fitting.folds import folds
from tcuq.fitting.options import FitOptions
from tcuq.fitting.search import CHECK_FOLD
from tcuq.fitting.stages import Request, find_signals, read


def made(dwell: float) -> Log:
    rng = np.random.default_rng(0)
    probs, features, truth, marks = dwell_stream(5000, 6, 4, rng, dwell, shifted=True)
    return Log(probs, features, truth, shifted=marks)


def test_tune_says_when_the_standard_profile_leaves_fewer_errors() -> None:
    params = tune(made(12), trials=2, run_length=100, explain=False)
    assert params.instant is None, "tune searches one-head monitors"
    row = params.notes["tune"]["standard"]
    assert row["left_standard"] < row["left"], "answers of a stream with dwell are better than predictions"
    text = tune_findings(params)
    assert f"{row['left']:.1%} are wrong" in text and "`tcuq.fit` alone is better." in text
    tight = params.replace(notes={"tune": {**params.notes["tune"], "max_instructions": 10}})
    assert "`tcuq.fit` alone is better, beyond these limits." in tune_findings(tight)
    other = {**row, "left": 0.0}
    worse = params.replace(notes={"tune": {**params.notes["tune"], "standard": other}})
    assert "what was chosen is as good or better" in tune_findings(worse)


def test_heads_do_not_see_the_fold_that_they_are_checked_on() -> None:
    log, told = made(8), FitOptions.of(run_length=100, explain=False)
    fold, labels = folds(log), np.array(log.labels)

    def risk_of(labels: np.ndarray) -> np.ndarray:
        other = Log(log.probs, log.features, labels, shifted=log.kinds)
        return _risk_elsewhere(find_signals(read(Request(other, None, told))), fold, told)[0]

    plain = risk_of(labels)
    labels[fold == CHECK_FOLD] = 0
    assert (risk_of(labels) == plain).all()
    labels[fold != CHECK_FOLD] = 0
    labels[:600:2] = 1
    assert (risk_of(labels) != plain).any()


def test_without_errors_there_is_nothing_to_say() -> None:
    log = made(8)
    sure = Log(log.probs, labels=np.where(np.arange(5000) < 4, 5, log.predictions()))
    assert standard_beside(sure, None, folds(sure), {"about": "prediction"}) is None
