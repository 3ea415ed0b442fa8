"""Answers get better, never worse, the longer a class stays."""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt
import pytest

from tcuq import Log, Monitor, Params, fit

CLASSES, RIGHT = 6, 0.77


def outputs(truth: npt.NDArray[np.int64], seed: int) -> npt.NDArray[np.float64]:
    """Return posteriors of a network that confuses each class with the next one, often with confidence."""
    rng = np.random.default_rng(seed)
    shown = np.where(rng.random(len(truth)) < RIGHT, truth, (truth + 1) % CLASSES)
    logits = (
        rng.normal(0, 0.7, (len(truth), CLASSES))
        + rng.uniform(1, 4, len(truth))[:, None] * np.eye(CLASSES)[shown]
    )
    weights = np.exp(logits)
    return np.asarray(weights / weights.sum(1, keepdims=True))


def stays(steps: int, stay: int, seed: int) -> npt.NDArray[np.int64]:
    """Return the class at each step; at every step it is drawn again once in `stay`."""
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, CLASSES, steps)
    last = np.maximum.accumulate(np.where(rng.random(steps) < 1 / stay, np.arange(steps), 0))
    return np.asarray(drawn[last])


@functools.cache
def fitted() -> Params:
    truth = np.concatenate([stays(1500, stay, stay) for stay in (1, 4, 16, 64)])
    return fit(Log(outputs(truth, 9)))


@pytest.mark.parametrize("stay", [64, 256, 1000, 4000])
def test_the_longer_a_class_stays_the_better_the_answers(stay: int) -> None:
    truth = stays(12_000, stay, stay + 1)
    steps = Monitor(fitted()).run(outputs(truth, 3))
    predictions, answers = (float((steps[name] != truth).mean()) for name in ("prediction", "answer"))
    # Mistakes that always fall on the same class, and often with confidence, are the hardest case.
    assert predictions > 0.25
    assert answers < (0.12 if stay == 64 else 0.09)
    assert steps["persistence"].mean() > 0.7


def test_where_classes_change_at_each_step_answers_are_predictions() -> None:
    truth = stays(6000, 1, 5)
    steps = Monitor(fitted()).run(outputs(truth, 4))
    predictions, answers = (float((steps[name] != truth).mean()) for name in ("prediction", "answer"))
    assert answers < predictions + 0.005
    assert steps["persistence"].mean() < 0.05
