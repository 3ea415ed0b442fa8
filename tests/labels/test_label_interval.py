"""Which steps are asked for, and the interval of accuracy from their labels: it holds at every step."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from refusals import refused

import tcuq
from tcuq import STEP_DTYPE, InputError, LabelSampler, accuracy_from_labels
from tcuq.labels.accuracy import STAKES, gain
from tcuq.labels.sampler import BURST, FLOOR

SIZES = [(800, 60), pytest.param((3000, 300), marks=pytest.mark.slow)]
"""Steps and paths."""

Adversary = Callable[[int, list[int], np.random.Generator], int]

# An adversary sees which of its errors were found so far, and says whether the next answer is wrong.
ADVERSARIES: dict[str, Adversary] = {
    "never wrong": lambda t, found, rng: 0,
    "always wrong": lambda t, found, rng: 1,
    "rarely wrong": lambda t, found, rng: int(rng.random() < 0.03),
    "wrong at first": lambda t, found, rng: int(t < 200),
    "wrong at last": lambda t, found, rng: int(t > 600),
    "wrong until it is found": lambda t, found, rng: int(not found or t - found[-1] > 150),
    "wrong once it is found": lambda t, found, rng: int(bool(found) and t - found[-1] < 150),
}


def steps_with(uncertainty: Any) -> Any:
    """Return steps that all answer 0."""
    steps = np.zeros(len(uncertainty), dtype=STEP_DTYPE)
    steps["uncertainty"] = uncertainty
    return steps


def path(adversary: Adversary, rate: float, seed: int, count: int) -> tuple[Any, Any, Any, Any]:
    """Return steps, which were asked for, chances and truth, which the doubt does not know."""
    rng = np.random.default_rng(seed)
    steps = steps_with(rng.beta(0.3, 1.0, count))
    asked, chance = LabelSampler(rate, seed).ask(steps["uncertainty"])
    wrong, found = [], []
    for t in range(count):
        wrong.append(adversary(t, found, rng))
        if wrong[-1] and asked[t]:
            found.append(t)
    return steps, asked, chance, np.array(wrong)


@pytest.mark.parametrize("rate", [0.01, 0.1])
@pytest.mark.parametrize("name", ADVERSARIES)
@pytest.mark.parametrize("size", SIZES)
def test_the_interval_holds_at_all_steps_at_once_whatever_the_errors(
    name: str, rate: float, size: tuple[int, int]
) -> None:
    count, paths = size
    at = np.unique(np.geomspace(1, count, 40).astype(int))
    missed = 0
    for seed in range(paths):
        steps, asked, chance, wrong = path(ADVERSARIES[name], rate, seed, count)
        found = accuracy_from_labels(steps, asked, chance, np.where(asked, wrong, np.nan), at=at)
        truth = 1 - np.cumsum(wrong)[at - 1] / at
        missed += bool(((truth < found.low - 1e-9) | (truth > found.high + 1e-9)).any())
    assert missed <= 0.05 * paths


def test_a_bet_is_fair_for_either_truth_every_chance_and_every_stake() -> None:
    chance, guess, truth = (
        each.ravel() for each in np.meshgrid([1e-4, 0.01, 0.3, 0.999], [0, 0.02, 0.9, 1], [0, 1])
    )
    for sign in (1, -1):
        off, least = sign * (truth - guess), -guess if sign > 0 else guess - 1
        for stake in STAKES:
            drawn = gain(stake, off, least, np.ones(len(off), bool), chance)
            not_drawn = gain(stake, off, least, np.zeros(len(off), bool), chance)
            assert np.allclose(
                chance * drawn + (1 - chance) * not_drawn, np.expm1(stake * off), rtol=1e-9, atol=1e-12
            )
            assert min(drawn.min(), not_drawn.min()) > -1


@pytest.mark.parametrize("rate", [0.01, 0.1])
def test_doubt_that_knows_errors_narrows_it_and_so_does_asking_where_the_doubt_is(rate: float) -> None:
    rng, n = np.random.default_rng(3), 40_000
    steps = steps_with(rng.beta(0.15, 1.5, n))
    wrong = rng.random(n) < steps["uncertainty"]
    asked, chance = LabelSampler(rate, seed=0).ask(steps["uncertainty"])
    flat = rng.random(n) < rate
    labels = np.where(asked, wrong, np.nan)
    found = accuracy_from_labels(steps, asked, chance, labels, at=[n])
    alone = accuracy_from_labels(steps, asked, chance, labels, expected=np.zeros(n), at=[n])
    random = accuracy_from_labels(
        steps, flat, np.full(n, rate), np.where(flat, wrong, np.nan), expected=np.zeros(n), at=[n]
    )
    widths = [float((each.high - each.low)[0]) for each in (found, alone, random)]
    assert widths[0] < 0.95 * widths[1] < 0.9 * widths[2]
    assert abs(found.estimate[0] - 1 + wrong.mean()) < widths[0] / 4


def test_labels_that_have_not_come_may_be_either_and_all_labels_leave_no_doubt() -> None:
    rng, n = np.random.default_rng(4), 3000
    steps = steps_with(np.full(n, 0.1))
    wrong = (rng.random(n) < 0.1).astype(float)
    asked, chance = LabelSampler(0.2, seed=0).ask(steps["uncertainty"])
    come = np.where(rng.random(n) < 0.5, wrong, np.nan)
    found = accuracy_from_labels(steps, asked, chance, come, at=[n])
    for value in (0.0, 1.0):
        either = accuracy_from_labels(steps, asked, chance, np.where(np.isnan(come), value, come), at=[n])
        assert found.low[0] <= either.low[0] + 1e-9 and either.high[0] <= found.high[0] + 1e-9
    every = accuracy_from_labels(steps, np.ones(n, bool), np.ones(n), wrong)
    assert np.allclose(every.low, every.high) and every.low[-1] == pytest.approx(1 - wrong.mean())


def test_steps_that_do_not_count_change_nothing() -> None:
    rng = np.random.default_rng(5)
    steps = steps_with(rng.random(400))
    steps["abstain"] = rng.random(400) < 0.3
    asked, chance = LabelSampler(0.5, seed=0).ask(steps["uncertainty"])
    labels = rng.integers(-1, 2, 400)
    kept = ~steps["abstain"].astype(bool)
    found = accuracy_from_labels(steps, asked, chance, labels)
    only = accuracy_from_labels(steps[kept], asked[kept], chance[kept], labels[kept])
    assert all(np.array_equal(*pair) for pair in zip(found, only, strict=True))
    assert len(accuracy_from_labels(steps, asked, chance, labels, among=np.ones(400, bool)).low) == 400


def test_what_does_not_fit_is_refused() -> None:
    whole: dict[str, Any] = {"asked": [True] * 3, "chance": np.ones(3), "labels": [0, 1, 0]}
    odd = {"chance": np.zeros(3), "expected": np.full(3, 2.0), "asked": [True], "confidence": 1, "at": [4]}
    for name, value in odd.items():
        with refused("value"):
            accuracy_from_labels(steps_with(np.zeros(3)), **{**whole, name: value})


def test_questions_keep_to_their_rate_whatever_comes_and_never_leave_a_step_out() -> None:
    rng = np.random.default_rng(6)
    calm, doubtful = rng.beta(0.1, 3, 3000), rng.uniform(0.4, 0.6, 3000)
    for rate in (0.01, 0.1, 1.0):
        for stream in (calm, doubtful, np.r_[calm, doubtful], np.zeros(3000), np.tile([0, 0, 0, 0.5], 1000)):
            chance = LabelSampler(rate, seed=0).ask(stream).chance
            assert (np.cumsum(chance) <= rate * np.arange(1, len(chance) + 1) + BURST + 1e-9).all()
            assert chance.min() >= FLOOR * rate and chance.max() <= 1
        assert LabelSampler(rate, seed=0).ask(calm).chance.mean() == pytest.approx(rate, rel=0.1)
    asked, chance = LabelSampler(0.1, seed=1).ask(np.tile([0.01, 0.5], 20_000))
    for part in (slice(0, None, 2), slice(1, None, 2)):
        assert asked[part].mean() == pytest.approx(chance[part].mean(), rel=0.1)


def test_questions_do_not_depend_on_batches_and_differ_by_device_and_seed() -> None:
    stream = np.random.default_rng(7).random(500)
    whole = LabelSampler(0.2, seed=0).ask(stream)
    pieces = LabelSampler(0.2, seed=0)
    parts = [pieces.ask(part) for part in np.split(stream, [1, 2, 200])]
    assert np.array_equal(np.concatenate([part.asked for part in parts]), whole.asked)
    assert np.array_equal(np.concatenate([part.chance for part in parts]), whole.chance)
    assert not np.array_equal(LabelSampler(0.2, seed=0, device="b").ask(stream).asked, whole.asked)
    assert not np.array_equal(LabelSampler(0.2, seed=1).ask(stream).asked, whole.asked)
    assert not np.array_equal(LabelSampler(0.2, seed=0).ask(stream, boots=1).asked, whole.asked)
    for bad in ([1.5], [np.nan]):
        with refused("value"):
            pieces.ask(bad)
    with refused("value"):
        LabelSampler(0)


def test_the_seed_of_questions_is_drawn_unless_it_is_given_and_can_be_kept() -> None:
    stream = np.random.default_rng(8).random(500)
    first, second = LabelSampler(0.2), LabelSampler(0.2)
    assert first.seed != second.seed
    again, kept = LabelSampler(0.2, seed=first.seed), pickle.loads(pickle.dumps(first))
    asked = first.ask(stream).asked
    assert not np.array_equal(asked, second.ask(stream).asked)
    assert np.array_equal(asked, again.ask(stream).asked) and np.array_equal(asked, kept.ask(stream).asked)


@pytest.mark.parametrize(
    "odd", [{"boots": [1, 2]}, {"boots": 0.5}, {"boots": "a"}, {"seqs": [0.0, 1.0, 2.0]}, {"seqs": [0]}]
)
def test_boots_and_seqs_that_fit_no_steps_are_refused_in_one_line(odd: dict[str, Any]) -> None:
    [name] = odd
    with pytest.raises(InputError, match=rf"^{name} are .*, expected 3 integers, one per step$"):
        LabelSampler(0.5).ask([0.1, 0.2, 0.3], **odd)


def test_the_old_name_and_what_was_pickled_under_it_are_taken() -> None:
    kept = LabelSampler(0.2, seed=3)
    kept.ask([0.5] * 10)
    with pytest.warns(DeprecationWarning, match="LabelSampler"):
        assert tcuq.Questions is LabelSampler
    old = pickle.dumps(kept, 2).replace(
        b"tcuq.labels.sampler\nLabelSampler", b"tcuq.monitor.questions\nQuestions"
    )
    assert b"Questions" in old and vars(pickle.loads(old)) == vars(kept)
