"""Rules that a user could write in five lines, each on an example by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tcuq import Log
from tcuq.fitting import simple_rules as rules_of
from tcuq.fitting.simple_rules import LAST, RATE, Rule, left_wrong, looked_at, simple_rules


def rule(log: Log, name: str) -> Rule:
    return next(each for each in simple_rules(log) if each.name.startswith(name))


def two(p: list[float]) -> np.ndarray:
    return np.column_stack([p, 1 - np.array(p)])


def test_the_vote_counts_labels_and_the_current_step_breaks_a_tie() -> None:
    found = rule(Log(two([0.9, 0.1, 0.9, 0.1, 0.1])), "vote of the last 8")
    assert found.answers.tolist() == [0, 1, 0, 1, 1]
    assert np.allclose(found.doubt, [0, 1 / 2, 1 / 3, 1 / 2, 2 / 5])
    short = rule(Log(two([0.9] * 3), segments=[0, 1, 2]), "vote of the last 8")
    assert short.doubt.tolist() == [0, 0, 0]


def test_the_belief_filter_follows_bayes() -> None:
    found = rule(Log(two([0.75, 0.75, 0.25])), "belief filter")
    prior, expected = 0.5, []
    for p in (0.75, 0.75, 0.25):
        prior = prior * (1 - RATE) + RATE / 2
        prior = prior * (p + 0.005) / (prior * (p + 0.005) + (1 - prior) * (1 - p + 0.005))
        expected.append(prior)
    assert np.allclose(found.doubt, 1 - np.maximum(expected, 1 - np.array(expected)))
    assert found.answers.tolist() == [0, 0, 0], "one contrary step does not turn it"
    anew = rule(Log(two([0.75, 0.75, 0.25]), segments=[0, 0, 1]), "belief filter")
    assert anew.answers.tolist() == [0, 0, 1]


def test_what_is_left_wrong_is_counted_among_the_surest() -> None:
    wrong, doubt = np.array([True, False, True, False]), np.array([0.4, 0.3, 0.2, 0.1])
    assert left_wrong(wrong, doubt, 0.5) == 0.5
    assert left_wrong(wrong, doubt, 0.01) == 0.0, "at least one step is looked at"
    assert left_wrong(wrong, doubt, 1.0) == 0.5


def test_a_long_log_is_looked_at_in_whole_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log(np.full((5000, 2), 0.5))
    assert looked_at(log).tolist() == list(range(5000))
    monkeypatch.setattr(rules_of, "MOST", 1000)
    monkeypatch.setattr(rules_of, "BLOCK", 100)
    rows = looked_at(log)
    assert len(rows) == 1000 and rows[0] == 0 and rows[-1] == 4999
    starts = rows[np.diff(rows, prepend=-2) != 1]
    assert len(starts) == 10 and LAST < 100
