"""Rivals of the alarm on made data: limits keep their run length, shifts are found, nothing looks ahead."""

from dataclasses import fields

import numpy as np
import pytest

from tcuq_lab.detectors.alarm import RIVALS, Clean, Rival, Seen
from tcuq_lab.harness.figures import Figure
from tcuq_lab.harness.intervals import drawn, interval
from tcuq_lab.harness.types import Truth
from tcuq_lab.metrics.alarms import (
    AGAIN,
    SETTLE,
    Scene,
    clean_figures,
    events,
    false_starts,
    find_limit,
    recently,
    scene_of,
    shift_figures,
)

pytestmark = pytest.mark.slow

NAMES = ("clean", "fog/5")
WANTED = 250


def made(runs: int, seed: int, shift: float = 0.0, steps: int = 1000) -> tuple[Seen, Scene]:
    """Posteriors and features of a network whose input degrades from step 600 to 800."""
    rng = np.random.default_rng(seed)
    sources = np.zeros((runs, steps), dtype=np.int64)
    if shift:
        sources[:, 600:800] = 1
    bad = sources[:, :, None] * shift
    logits = rng.normal(size=(runs, steps, 4))
    logits[:, :, 0] += 4 - 2.5 * bad[:, :, 0] + rng.normal(size=(runs, steps))
    probs = np.exp(logits) / np.exp(logits).sum(axis=2, keepdims=True)
    features = rng.normal(size=(runs, steps, 6)) + [8, 0, 0, 0, 0, 0] + 3 * bad
    return Seen(1 - probs.max(axis=2), probs, features, logits), Scene(sources, NAMES)


BLIND = ("random", "clock")
BASE = [pytest.param(each, id=each.name) for each in RIVALS if each.row == "base" and each.name not in BLIND]


@pytest.mark.parametrize("rival", BASE)
def test_limits_from_clean_data_find_a_shift_and_keep_their_run_length(rival: Rival) -> None:
    seen, scene = made(8, 0)
    clean, setting = Clean(seen, scene.settled), rival.settings[1]
    if rival.proved is None:
        ready = rival.statistic(clean, seen, **setting)
        limit = find_limit(ready.on, ready.path(scene.settled), scene.settled, WANTED)
    else:
        limit = rival.proved
    limits = np.array([limit])

    fresh, still = made(8, 1)
    count = false_starts(rival.statistic(clean, fresh, **setting).on(limits)[0], still.settled).sum()
    asked = 8 * 1000 / WANTED
    assert count <= 2.5 * asked
    if rival.proved is None:
        assert count >= asked / 4

    later, _ = made(4, 2, shift=1.0)
    on = rival.statistic(clean, later, **setting).on(limits)[0]
    assert on[:, 600:800].mean() > 0.5 + on[:, :600].mean()
    assert on[:, 950:].mean() < 0.5
    given = {each.name: getattr(later, each.name) for each in fields(Seen)}
    cut = Seen(**{name: None if values is None else values[:, :700] for name, values in given.items()})
    np.testing.assert_array_equal(on[:, :700], rival.statistic(clean, cut, **setting).on(limits)[0])


def test_a_limit_is_the_lowest_with_few_enough_false_alarms() -> None:
    values = np.zeros((1, 1000))
    values[0, 100::100] = np.arange(1.0, 10.0)  # peaks of 1 to 9, far apart
    on = lambda limits: values[None] >= limits[:, None, None]  # noqa: E731
    settled = np.ones((1, 1000), dtype=bool)
    limit = find_limit(on, np.array([-1.0, 0.5, 3.5, 9.5]), settled, wanted=500)  # two may come
    assert 7 < limit <= 8
    # An alarm that is always on comes once, but counts again and again.
    assert false_starts(np.ones((1, 1000), dtype=bool), settled).sum() == 7


def test_false_alarms_are_counted_as_a_loop_would() -> None:
    rng = np.random.default_rng(6)
    on = np.repeat(rng.uniform(size=(3, 40)) < 0.3, 25, axis=1)
    settled = np.repeat(rng.uniform(size=(3, 20)) < 0.7, 50, axis=1)
    expected = 0
    for line, calm in zip(on.tolist(), settled.tolist(), strict=True):
        held = 0
        for step in range(len(line)):
            before = any(line[max(0, step - SETTLE) : step])
            held = held + 1 if (line[step] or before) and calm[step] else 0
            expected += (line[step] and calm[step] and not before) or (held > 1 and held % AGAIN == 1)
    assert false_starts(on, settled).sum() == expected > 3
    assert recently(on).mean() > on.mean()


def test_an_alarm_that_was_on_already_has_to_come_anew() -> None:
    scene = Scene(np.array([[0, 0, 1, 1, 1, 1, 0, 0]]), NAMES)
    stuck = events(np.array([[0, 1, 1, 1, 1, 1, 1, 1]], dtype=bool), scene)
    anew = events(np.array([[0, 1, 1, 0, 1, 1, 1, 0]], dtype=bool), scene)
    assert (stuck.delays.tolist(), stuck.already.tolist()) == ([np.inf], [True])
    assert (anew.delays.tolist(), anew.clears.tolist()) == ([2.0], [1.0])


def values(figures: dict[str, Figure]) -> dict[str, float]:
    return {name: drawn(each, 2, "x").value for name, each in figures.items()}


def test_figures_of_an_alarm_are_counted_by_hand() -> None:
    sources = np.zeros((2, 400), dtype=np.int64)
    sources[0, 200:300], sources[1, 200:300] = 1, 2
    on = np.zeros((2, 400), dtype=bool)
    on[0, 210:304] = on[1, 20:30] = True
    scene = Scene(sources, ("clean", "fog/5", "fog/1"))
    still = clean_figures(on, scene)
    assert values(still) == pytest.approx({"clean on": 14 / 600, "false per 10,000": 10_000 / 500})
    rate = interval(drawn(still["false per 10,000"], 2, "x"))
    assert rate.low < 1 and rate.high > 100  # of a single event in 500 steps: 0.5 to 111
    assert values(shift_figures(on, scene, ["fog/5"])) == {
        "found": 1.0,
        "already on": 0.0,
        "delay": 10.0,
        "clears": 4.0,
        "costly on": 0.9,
        "shifted on": 0.45,
        "benign on": 0.0,
    }


def test_a_shift_that_sets_in_slowly_is_what_it_comes_to() -> None:
    sources = np.zeros((1, 400), dtype=np.int64)
    sources[0, 100:130], sources[0, 130:200] = 1, 2  # reaches fog/5
    sources[0, 300:350] = 1  # stays at fog/1
    on = np.zeros((1, 400), dtype=bool)
    on[0, 120:200] = on[0, 340:350] = True
    scene = Scene(sources, ("clean", "fog/1", "fog/5"))
    assert [each[3] for each in scene.shifts] == ["fog/5", "fog/1"]
    found = {name: drawn(each, 1, "x").value for name, each in shift_figures(on, scene, ["fog/5"]).items()}
    assert found["found"] == 1 and found["delay"] == 20
    assert found["costly on"] == 0.8 and found["benign on"] == 0.2


def test_stretches_of_other_lengths_are_counted_as_they_are() -> None:
    truth = Truth(np.zeros(500, int), np.zeros(500, int), np.repeat([0, 1], [200, 300]), ("clean",))
    scene, on = scene_of(truth), np.ones(500, dtype=bool)
    assert scene.flat(scene.rows(on)).all() and scene.settled.sum() == 500
    assert values(clean_figures(scene.rows(on), scene))["clean on"] == 1
    assert false_starts(scene.rows(on), scene.settled).sum() == 2 + 2
