"""Real fleets: a classifier of digits, a fitted monitor, twenty devices of which four see degraded input."""

from __future__ import annotations

from typing import Any

import digits as demo
import numpy as np
import pytest
from fleet_summaries import PLACE, Shard, played
from streams import seeing_params

from tcuq import Bank, Log, fit
from tcuq_watch.engine.tallies import Tallies
from tcuq_watch.verdicts.summary import summarize
from tcuq_watch.verdicts.versions import FALSE_SHARE, LEAST, PEERS, degradation_p

DEVICES, DEGRADED, CLEAN_STEPS, STEPS = 20, 4, 200, 500
KINDS = [(each, strength) for each in demo.TEST_CORRUPTIONS for strength in (0.5, 0.75, 1.0)]
"""Corruptions that the fit has not seen, and how much of each is mixed into the picture."""


class World:
    """A monitor, and long streams to cut devices from: a clean one, and one for each kind."""

    def __init__(self) -> None:
        train, dev, test = demo.load(0)
        classifier, rng = demo.train(train, 0), np.random.default_rng(5)
        self.params = fit(demo.make_log(classifier, dev, demo.DEV_CORRUPTIONS, 20_000, 1))

        def stream(steps: int, corruption: Any, strength: float) -> Log:
            def seen(images: Any) -> Any:
                return classifier((1 - strength) * images + strength * corruption(images, rng))

            whole: Any = seen
            return demo.make_log(whole, test, (lambda images, rng: images,), steps, 2)

        self.clean = stream(20_000, demo.mirror, 0.0)
        self.degraded = [stream(4_000, *kind) for kind in KINDS]

    def fleet(self, rng: np.random.Generator, kind: int | None) -> tuple[Any, set[str]]:
        """Return a fleet after its steps, and the devices whose input is degraded from some step on."""
        names = [f"d{n:02d}" for n in rng.permutation(DEVICES)]
        bad = set() if kind is None else set(names[:DEGRADED])
        probs, features = [], []
        for name in names:
            parts = [(self.clean, STEPS)]
            if kind is not None and name in bad:
                parts = [(self.clean, CLEAN_STEPS), (self.degraded[kind], STEPS - CLEAN_STEPS)]
            cuts = [(log, int(rng.integers(0, len(log) - size)), size) for log, size in parts]
            probs.append(np.concatenate([log.probs[at : at + size] for log, at, size in cuts]))
            features.append(
                np.concatenate([np.asarray(log.features)[at : at + size] for log, at, size in cuts])
            )
        slots = np.tile(np.arange(DEVICES), STEPS)
        in_turn = [np.stack(each, axis=1).reshape(len(slots), -1) for each in (probs, features)]
        tallies = Tallies(self.params)
        tallies.grow(DEVICES)
        times = 1.7e9 + 60.0 * np.repeat(np.arange(STEPS), DEVICES)
        tallies.update(slots, times, Bank(self.params, DEVICES).run(slots, *in_turn))
        return Shard("v", names, tallies, np.zeros(DEVICES, dtype=PLACE)), bad


@pytest.fixture(scope="module")
def world() -> World:
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    return World()


def test_of_twenty_devices_the_four_degraded_ones_are_named(world: World) -> None:
    rng = np.random.default_rng(0)
    found = {kind: [0, 0] for kind in range(len(KINDS))}
    for number in range(54):
        kind = number % len(KINDS)
        fleet, bad = world.fleet(rng, kind)
        said = set(summarize([fleet])["named"]["devices"])
        found[kind][0] += len(said & bad)
        found[kind][1] += len(said - bad)
    right, false = np.sum(list(found.values()), axis=0)
    assert false <= FALSE_SHARE * (right + false)
    assert sum(found[kind][0] for kind in found if KINDS[kind][1] == 1.0) >= 0.8 * 3 * 24
    assert right >= 0.5 * 54 * DEGRADED


def test_of_twenty_clean_devices_hardly_ever_one_is_named(world: World) -> None:
    rng = np.random.default_rng(1)
    named = [summarize([world.fleet(rng, None)[0]])["named"]["count"] for _ in range(60)]
    assert np.count_nonzero(named) <= 60 * FALSE_SHARE


def test_degradation_is_compared_with_enough_devices_that_have_made_enough_steps() -> None:
    degradation = np.append(np.linspace(-0.6, -0.4, PEERS - 1), 2.0)
    steps = np.full(PEERS, 500)
    for least, spread in LEAST.values():
        assert degradation_p(degradation, steps, least, spread)[-1] < 0.001
        below = degradation + least - degradation.max()
        assert degradation_p(below, steps, least, spread).min() == 1
    steps[0] = 10
    assert degradation_p(degradation, steps, 0.0, 0.05).min() == 1


@pytest.mark.parametrize("alike", [0.05, 0.4])
def test_a_device_is_named_by_its_distance_where_its_peers_are_close_to_clean_data(
    alike: float,
) -> None:
    degradation = np.where(np.arange(12) == 7, 1.4, np.linspace(alike, 2 * alike, 12))
    seeing = played("v", [f"d{n}" for n in range(12)], seeing_params(), [1e9], degradation=degradation)
    seeing.tallies.devices["steps"] += 500
    found = summarize([seeing])
    assert found["named"]["devices"] == (["d7"] if alike == 0.05 else [])
    assert found["named"]["by_degradation"] and found["ranked_by"] == "degradation"
