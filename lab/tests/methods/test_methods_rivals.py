"""Rivals without settings: against plain loops, causal, segment by segment, with answers of their own."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import numpy.typing as npt
import pytest

from tcuq.metrics import auroc
from tcuq_lab.detectors.alarm import RIVALS as ALARMS
from tcuq_lab.detectors.alarm import Clean, Seen
from tcuq_lab.detectors.scores import centers_of
from tcuq_lab.detectors.windows import hotelling
from tcuq_lab.methods.belief import STAYS, Belief, BeliefStay, BeliefTold, Hmm, expected
from tcuq_lab.methods.confidence import Stacked
from tcuq_lab.methods.ensembles import DeepBelief
from tcuq_lab.methods.method import Labeled, Method, Observed
from tcuq_lab.methods.registry import FIXED_RULES
from tcuq_lab.methods.rules import Vote8

CLASSES, DWELL = 5, 12


def simulated(seed: int, steps: int = 2000, size: bool = True) -> Labeled:
    """Return a class that stays, and a network that is often wrong, the more where features are small."""
    rng = np.random.default_rng(seed)
    labels = np.empty(steps, np.int64)
    now = 0
    for step in range(steps):
        if step % (steps // 2) == 0 or rng.random() < CLASSES / (DWELL * (CLASSES - 1)):
            now = int(rng.integers(CLASSES))
        labels[step] = now
    strength = rng.uniform(0.2, 3.0, steps)
    logits = rng.normal(0, 1, (steps, CLASSES))
    logits[np.arange(steps), labels] += strength
    probs = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    features = rng.normal(0, 1, (steps, 16)) * (strength if size else np.ones(steps))[:, None]
    segments = np.repeat([3, 1], steps // 2)
    seen = Observed(probs.astype(np.float32), features.astype(np.float16), stretches=segments)
    return Labeled(seen, labels, np.zeros(steps, np.uint8))


DEV, TEST = simulated(0), simulated(1)


def errors(found: Method) -> npt.NDArray[np.bool_]:
    return np.asarray(found.answer(TEST.observed).predictions() != TEST.labels)


def test_rules_answer_better_than_the_network_where_classes_stay() -> None:
    own = (TEST.observed.probs.argmax(1) != TEST.labels).mean()
    rates = {}
    for kind in FIXED_RULES:
        found = kind()
        found.fit(DEV)
        rates[kind.name] = errors(found).mean()
    assert max(rates.values()) < own
    assert rates["belief_told"] < min(rates["vote_8"], rates["mean_8"])


def believed(seen: Observed, redraw: float) -> npt.NDArray[np.float64]:
    """Return the belief by the definition, one number at a time."""
    found, before = [], None
    prior = [1 / CLASSES] * CLASSES
    assert seen.stretches is not None
    for row, segment in zip(seen.probs.astype(float).tolist(), seen.stretches.tolist(), strict=True):
        if segment != before:
            prior = [1 / CLASSES] * CLASSES
        mixed = [(1 - redraw) * each + redraw / CLASSES for each in prior]
        raw = [each * (p + 0.01 / CLASSES) for each, p in zip(mixed, row, strict=True)]
        prior = [each / sum(raw) for each in raw]
        found.append(prior)
        before = segment
    return np.array(found)


@pytest.mark.parametrize(("dwell", "redraw"), [(None, 1 / 16), (12.0, 5 / 48), (1.0, 1.0), (1.25, 1.0)])
def test_a_belief_is_a_bayes_filter(dwell: float | None, redraw: float) -> None:
    found: Belief = Belief()
    if dwell is not None:
        found = BeliefTold()
        found.tell(dwell)
    answer = found.answer(TEST.observed)
    wanted = believed(TEST.observed, redraw)
    np.testing.assert_allclose(answer.probs, wanted, rtol=1e-9)
    np.testing.assert_allclose(answer.score, 1 - wanted.max(1), rtol=0, atol=1e-12)


def test_the_dwell_is_told_by_labels_or_by_hand() -> None:
    found = BeliefTold()
    found.fit(DEV)
    runs = 1 + (np.diff(DEV.labels[:1000]) != 0).sum() + 1 + (np.diff(DEV.labels[1000:]) != 0).sum()
    assert found.setting == {"dwell": 2000 / runs} and abs(found.setting["dwell"] / DWELL - 1) < 0.2
    found.tell(64)
    assert found.setting == {"dwell": 64}
    with pytest.raises(ValueError, match=r"dwell is 0\.5"):
        found.tell(0.5)
    nobody = Labeled(DEV.observed, np.full(2000, -1), DEV.kinds)
    with pytest.raises(ValueError, match="no step of the stream has a class, expected one or more"):
        found.fit(nobody)


def test_a_vote_is_the_majority_and_the_latest_of_equal_ones() -> None:
    seen = TEST.observed
    labels, found = seen.probs.argmax(1).tolist(), Vote8().answer(seen)
    ties = 0
    for piece in seen.pieces():
        for step in range(piece.start, piece.stop):
            window = labels[max(piece.start, step - 7) : step + 1]
            counts = Counter(window)
            most = max(counts.values())
            tied = [label for label in counts if counts[label] == most]
            ties += len(tied) > 1
            answer = next(label for label in reversed(window) if label in tied)
            assert found.predictions()[step] == answer
            against = 1 - most / len(window)
            assert against <= found.score[step] < against + 0.02 + 1e-9
    assert ties > 50


def test_expected_states_are_those_of_all_paths() -> None:
    rng, redraw = np.random.default_rng(2), 0.3
    heard = rng.dirichlet(np.ones(3), (1, 4))
    states, redrawn = np.zeros((4, 3)), np.zeros(4)
    for path in itertools.product(range(3), repeat=4):
        for drawn in itertools.product((False, True), repeat=3):
            weight = np.prod([heard[0, at, each] + 0.01 / 3 for at, each in enumerate(path)])
            for before, now, anew in zip(path[:-1], path[1:], drawn, strict=True):
                weight *= redraw / 3 if anew else (1 - redraw) * (before == now)
            states[np.arange(4), path] += weight
            redrawn[1:] += weight * np.array(drawn)
    found, anew = expected(heard, redraw)
    np.testing.assert_allclose(found[0], states / states.sum(1, keepdims=True))
    np.testing.assert_allclose(anew[0], redrawn / states[0].sum())


def test_an_hmm_learns_its_pace_without_labels() -> None:
    found = Hmm()
    found.fit(Labeled(DEV.observed, np.full(2000, -1), DEV.kinds))
    assert found.setting["redraw"] == pytest.approx(CLASSES / (DWELL * (CLASSES - 1)), rel=0.2)
    assert 0.5 < found.setting["temperature"] < 1.5


def test_a_fixed_stay_is_the_best_of_eight_and_serves_an_ensemble_too() -> None:
    found, deep = BeliefStay(), DeepBelief()
    for each in (found, deep):
        each.fit(DEV)
        assert each.setting in ({"dwell": 8.0}, {"dwell": 16.0})  # classes stay for 12 steps
    assert len(STAYS) == 8 and STAYS[0] == {"dwell": 20.0}
    np.testing.assert_array_equal(deep.answer(TEST.observed).probs, found.answer(TEST.observed).probs)


def test_the_stacked_regression_is_that_of_scikit_learn_and_says_how_often_it_errs() -> None:
    linear = pytest.importorskip("sklearn.linear_model", reason="pip install scikit-learn")
    found = Stacked()
    found.fit(DEV)
    answer, wrong = found.answer(TEST.observed), errors(found)
    own = found.answer(DEV.observed)
    values = (found.values(DEV.observed, own.probs) - found.usual[0]) / found.usual[1]
    judge = linear.LogisticRegression(class_weight="balanced", tol=1e-8)
    judge.fit(values, own.predictions() != DEV.labels)
    np.testing.assert_allclose(found.coef, judge.coef_[0], atol=0.05)
    plain = BeliefStay()
    plain.setting = found.setting
    assert auroc(answer.score, wrong) > auroc(plain.answer(TEST.observed).score, wrong)
    assert answer.score.mean() == pytest.approx(wrong.mean(), abs=0.03)


def test_t2_is_the_squared_mahalanobis_distance_of_a_mean() -> None:
    covariance = pytest.importorskip("sklearn.covariance", reason="pip install scikit-learn")
    rng = np.random.default_rng(5)
    mixed = np.eye(6) + 0.3 * rng.normal(0, 1, (6, 6))
    clean, x = (rng.normal(1, 2, (steps, 6)) @ mixed for steps in (800, 200))
    found = hotelling(x[None], centers_of(clean, np.zeros(len(clean), int), 1), 30)[0]
    judge = covariance.EmpiricalCovariance().fit(clean)
    means = np.array([x[at - 29 : at + 1].mean(axis=0) for at in range(29, 200)])
    np.testing.assert_allclose(found[29:], 30 * judge.mahalanobis(means), rtol=0.05)


def test_a_random_alarm_and_a_clock_know_nothing_of_the_input() -> None:
    named = {each.name: each for each in ALARMS}
    probs = np.random.default_rng(0).dirichlet(np.ones(4), (40, 1000))
    seen = Seen(1 - probs.max(axis=2), probs)
    clean = Clean(seen, np.ones(seen.score.shape, dtype=bool))
    drawn = named["random"].prepare(clean, seen, {"hold": 1}).on(np.array([0.9, 0.99]))
    assert drawn.mean(axis=(1, 2)) == pytest.approx([0.1, 0.01], rel=0.1)
    assert not np.array_equal(drawn[0, 0], drawn[0, 1])  # another stretch, other draws
    assert named["clock"].prepare(clean, seen, {"period": 100}).on(np.array([89.5])).mean() == 0.1
