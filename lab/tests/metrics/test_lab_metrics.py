"""The lab's metrics against scikit-learn or against their definitions, written out slowly."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as other

from tcuq.metrics import auroc, reliability, risk_coverage
from tcuq_lab import metrics as m


def tied(seed: int, steps: int = 300, values: int = 12) -> tuple[Any, Any]:
    """Scores with many ties that say something about the flags."""
    rng = np.random.default_rng(seed)
    truth = rng.random(steps) < rng.choice([0.05, 0.3, 0.8])
    truth[:2] = True, False
    return rng.integers(0, values, steps) / 7 + truth * rng.choice([0, 2]) / 7, truth


@pytest.mark.parametrize("seed", range(8))
def test_ranking_agrees_with_scikit_learn(seed: int) -> None:
    score, truth = tied(seed, values=[2, 12, 1000][seed % 3])
    assert auroc(score, truth) == pytest.approx(other.roc_auc_score(truth, score), abs=1e-12)
    area, share = other.average_precision_score(truth, score), truth.mean()
    assert m.average_precision(score, truth) == pytest.approx(area, abs=1e-12)
    assert m.prevalence(truth) == share
    assert m.precision_lift(score, truth) == pytest.approx((area - share) / (1 - share), abs=1e-12)


@pytest.mark.parametrize("truth", [[], [True], [False], [True] * 5, [False] * 5])
def test_rankings_of_one_kind_are_undefined(truth: list[bool]) -> None:
    score = np.arange(len(truth))
    for metric in (auroc, m.precision_lift):
        assert math.isnan(metric(score, truth))
    assert math.isnan(m.prevalence(truth)) == (not truth)
    area = m.average_precision(score, truth)
    assert area == 1 if any(truth) else math.isnan(area)


def slow_curve(rows: list[tuple[int, bool]]) -> list[Fraction]:
    """Error rates among the k first, the mean over all orders of the steps sorted stably."""
    orders = [sorted(order, key=lambda r: r[0]) for order in itertools.permutations(rows)]
    return [
        Fraction(sum(sum(r[1] for r in order[:k]) for order in orders), k * len(orders))
        for k in range(1, len(rows) + 1)
    ]


@given(st.lists(st.tuples(st.integers(0, 2), st.booleans()), min_size=1, max_size=6), st.integers(0, 12))
def test_selective_risk_is_the_mean_over_tie_orders(rows: list[tuple[int, bool]], twelfths: int) -> None:
    score, wrong = [r[0] for r in rows], [r[1] for r in rows]
    expected, n = slow_curve(rows), len(rows)
    assert risk_coverage(score, wrong).error.tolist() == [float(x) for x in expected]
    assert m.aurc(score, wrong) == pytest.approx(float(sum(expected) / n))
    aim = Fraction(twelfths, 12)
    least = next(k for k in range(1, n + 1) if Fraction(k, n) >= aim)
    assert m.risk_at_coverage(score, wrong, float(aim)) == float(expected[least - 1])


@pytest.mark.parametrize("seed", range(4))
def test_likelihood_and_brier(seed: int) -> None:
    rng = np.random.default_rng(seed)
    probs, labels = rng.dirichlet(np.full(4, 0.4), 200), rng.integers(0, 4, 200)
    loss = other.log_loss(labels, np.maximum(probs, 1e-12), labels=range(4))
    assert m.nll(probs, labels) == pytest.approx(loss, rel=1e-6)
    total = np.square(probs - np.eye(4)[labels]).sum() / 200
    assert m.brier(probs, labels) == pytest.approx(total)
    assert m.brier_per_class(probs, labels) == pytest.approx(total / 4)
    sure = np.eye(3)
    assert m.nll(sure, [0, 1, 2]) == m.brier(sure, [0, 1, 2]) == 0
    assert m.nll(sure, [1, 2, 0]) == pytest.approx(-math.log(1e-12))
    for metric in (m.nll, m.brier, m.brier_per_class):
        with pytest.raises(ValueError, match=r"labels\[1\] is -1, none of the classes.*expected 0 to 2"):
            metric(sure, [0, -1, 2])


@pytest.mark.parametrize("bins", [1, 2, 7, 10, 15, 400])
@pytest.mark.parametrize("seed", range(4))
def test_calibration_errors(seed: int, bins: int) -> None:
    rng = np.random.default_rng(seed)
    # Values on the edges of the bins, zero and one among them.
    top = rng.integers(0, 31, 250) / 30 if seed % 2 else rng.integers(0, bins + 1, 250) / bins
    right, total = rng.random(250) < top**2, 0.0
    for b in range(bins):
        inside = (top > b / bins) & (top <= (b + 1) / bins) | ((top == 0) & (b == 0))
        total += abs(top[inside].sum() - right[inside].sum()) / 250
    assert m.ece(top, right, bins) == pytest.approx(total)
    table = reliability(top, right, bins)
    assert table.count.sum() == 250 and table.count @ np.nan_to_num(table.accuracy) == pytest.approx(
        right.sum()
    )


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_classification_agrees_with_scikit_learn(seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels = rng.integers(-1 if seed % 2 else 0, 4, 60)
    predicted = np.where(rng.random(60) < 0.6, np.maximum(labels, 0), rng.integers(0, 7, 60))
    present = sorted({*labels.tolist(), *predicted.tolist()} - {-1})
    slow = other.f1_score(labels, predicted, labels=present, average="macro")
    assert m.macro_f1(predicted, labels, 9) == pytest.approx(slow)
    assert m.accuracy(predicted, labels) == pytest.approx(other.accuracy_score(labels, predicted))
