"""A shuffled log: what steps with a past look like is learned from its own steps in another order."""

from __future__ import annotations

import functools
from typing import Literal

import numpy as np
import pytest
from fits import findings
from streams import dwell_stream

from tcuq import FitOptions, Log, Monitor, Params, fit
from tcuq.fitting.signal_table import read_signals
from tcuq.fitting.stages.evidence import PACES, regrouped, says_little
from tcuq.metrics import auroc
from tcuq.monitor.monitor import run_over

CLASSES = 6


def made(seed: int, dwell: float, steps: int = 6000) -> Log:
    probs, _, truth, marks = dwell_stream(
        steps, CLASSES, 0, np.random.default_rng(seed), dwell=dwell, shifted=True
    )
    return Log(probs, labels=truth, shifted=marks)


@functools.cache
def fitted(dwell: float, about: Literal["answer", "prediction"]) -> Params:
    return fit(made(1, dwell), about=about, run_length=500, options=FitOptions(explain=False))


def test_classes_and_kinds_stay_in_the_new_order() -> None:
    log = made(3, 1)
    order = regrouped(log, 0)
    assert np.array_equal(np.sort(order), np.arange(len(log)))
    assert log.labels is not None and log.kinds is not None
    runs = 1 + int((np.diff(log.labels[order]) != 0).sum())
    assert PACES[0] < len(log) / runs < PACES[-1]
    changes = int((np.diff(log.kinds[order].astype(int)) != 0).sum())
    assert changes <= len(log) / (PACES[0] * CLASSES)


def test_steps_of_no_class_are_a_class_of_their_own() -> None:
    log = made(3, 1, steps=PACES[0] * CLASSES)
    assert log.labels is not None
    labels = np.where(np.arange(len(log)) % 2, -1, log.labels)
    order = regrouped(Log(log.probs, labels=labels), 0)
    assert int((np.diff(labels[order] < 0) != 0).sum()) <= 2


@pytest.mark.parametrize(("dwell", "little"), [(1, True), (4, False), (16, False)])
def test_only_logs_in_which_classes_hardly_stay_are_regrouped(dwell: float, little: bool) -> None:
    params, log = fitted(16, "prediction"), made(4, dwell)
    assert says_little(read_signals(params, log, params.signals)) is little
    assert ("regrouped" in findings(fitted(dwell, "prediction"))) is little


@pytest.mark.parametrize("about", ["answer", "prediction"])
def test_a_monitor_fitted_to_a_shuffled_log_serves_a_stream_in_which_classes_stay(
    about: Literal["answer", "prediction"],
) -> None:
    stream = made(5, 16)
    risks, gaps = {}, {}
    for dwell in (1, 16):
        steps = run_over(Monitor(fitted(dwell, about)), stream)
        wrong = np.asarray(steps[about] != stream.labels)
        risks[dwell] = auroc(steps["risk"], wrong)
        gaps[dwell] = abs(float((1 - steps["uncertainty"]).mean() - (~wrong).mean()))
        if about == "prediction":
            assert risks[dwell] > auroc(-stream.confidence(), wrong), dwell
    assert risks[1] > risks[16] - 0.03
    assert gaps[1] < 0.05
