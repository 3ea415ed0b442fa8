"""Order of events: the engine against a few lines of plain Python, and any batches against one."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from fleet_runs import MESSY
from fleet_traffic import traffic
from hypothesis import given
from hypothesis import strategies as st
from naive_fleet import NaiveFleet, naive_rows, rows_of
from refusals import refused
from streams import int8_stream, learned_params

from tcuq import Monitor, Params
from tcuq_device.cost.stock import monitors
from tcuq_watch.engine.events import Events, joined
from tcuq_watch.engine.model_version import ModelVersion
from tcuq_watch.engine.order import Order

COUNTS = ("received", "missing", "late", "duplicates", "reboots")


def messy(params: Params, devices: int, steps: int, seed: int = 0) -> Events:
    probs, features = int8_stream(500, params.classes, params.features, seed=seed)
    found = traffic(probs, devices=devices, steps=steps, network=MESSY, seed=seed)
    if features is None:
        return found.events
    events = found.events
    more = features[found.rows % len(features)]
    return Events(events.devices, events.boots, events.seqs, events.probs, more, events.times)


def counts_of(model: ModelVersion) -> dict[str, dict[str, int]]:
    return {
        name: {each: int(model.places[each][slot]) for each in COUNTS}
        for slot, name in enumerate(model.devices)
    }


def split(events: Events, cuts: list[int]) -> list[Events]:
    ends = [0, *sorted(min(cut, len(events)) for cut in cuts), len(events)]
    return [events.some(slice(a, b)) for a, b in pairwise(ends)]


@pytest.mark.parametrize(("hold", "bridge"), [(1, 0), (5, 3)])
def test_a_model_equals_plain_python(hold: int, bridge: int) -> None:
    params = learned_params()
    events = messy(params, devices=7, steps=90, seed=hold)
    naive, model = NaiveFleet(params, hold, bridge), ModelVersion("v", params, hold, bridge)
    decided = model.take(events)
    assert len(decided) > 200
    assert rows_of(decided) == naive_rows(naive.take(events))
    assert counts_of(model) == {name: device.counts for name, device in naive.devices.items()}
    assert model.places["held"].tolist() == [len(device.held) for device in naive.devices.values()]
    assert rows_of(model.flush()) == naive_rows(naive.flush())
    assert not model.places["held"].any()
    states = model.bank.save_many(range(len(model.devices)))
    assert [each.tobytes() for each in states] == [each.monitor.save() for each in naive.devices.values()]


def test_with_features_and_floats() -> None:
    params = monitors()["standard"]
    events = messy(params, devices=4, steps=60)
    naive, model = NaiveFleet(params, 8, 2), ModelVersion("v", params, 8, 2)
    assert events.features is not None
    assert rows_of(model.take(events)) == naive_rows(naive.take(events))
    plain = Params(classes=3)
    probs = np.random.default_rng(0).dirichlet(np.ones(3), 200)
    for dtype in (np.float64, np.float32, np.float16):
        floats = traffic(probs.astype(dtype), devices=3, steps=50, network=MESSY).events
        naive, model = NaiveFleet(plain, 8, 2), ModelVersion("v", plain, 8, 2)
        assert rows_of(model.take(floats)) == naive_rows(naive.take(floats))


def same_models(one: ModelVersion, other: ModelVersion) -> bool:
    """Tell whether two models would go on alike."""
    here, there = one.arrays(), other.arrays()
    return all(here[name].tobytes() == there[name].tobytes() for name in here)


EVENT = st.tuples(
    st.integers(0, 2),
    st.integers(-1, 3),
    st.integers(-1, 12) | st.integers(60, 90),
    st.integers(0, 255),
)


@given(
    st.lists(EVENT, max_size=120),
    st.lists(st.integers(0, 120), max_size=8),
    st.integers(1, 6),
    st.integers(0, 3),
)
def test_any_events_in_any_batches(drawn: list[Any], cuts: list[int], hold: int, bridge: int) -> None:
    params = Params(classes=2, warmup=0)
    probs = np.array([[each[3] - 128, 127 - each[3]] for each in drawn], dtype=np.int8).reshape(-1, 2)
    columns = (
        [f"d{each[0]}" for each in drawn],
        *(np.array([e[k] for e in drawn], np.int64) for k in (1, 2)),
    )
    events = Events(*columns, probs)
    naive = NaiveFleet(params, hold, bridge)
    whole, model = (ModelVersion("v", params, hold, bridge) for _ in range(2))
    expected = rows_of(whole.take(events))
    assert expected == naive_rows(naive.take(events))
    assert rows_of(joined([model.take(each) for each in split(events, cuts)])) == expected
    assert same_models(model, whole)
    restored = ModelVersion.restored("v", params, [model.arrays()], hold=hold, bridge=bridge)
    assert same_models(restored, model)
    assert rows_of(restored.flush()) == rows_of(whole.flush()) == naive_rows(naive.flush())


@given(st.data())
def test_changes_since_any_moment(data: Any) -> None:
    params = Params(classes=2)
    model = ModelVersion("v", params, hold=4)
    kept = []
    for _ in range(data.draw(st.integers(1, 5))):
        drawn = data.draw(st.lists(EVENT, max_size=30))
        names = [f"d{each[0] + 3 * abs(each[1])}" for each in drawn]
        seqs = np.array([each[2] for each in drawn], np.int64)
        probs = np.array([[0, each[3] - 128] for each in drawn], dtype=np.int8).reshape(-1, 2)
        model.take(Events(names, np.zeros(len(drawn), np.int64), seqs, probs))
        kept.append((model.changed(), model.rows(model.changed())))
        model.settle()
    parts = [rows for _, rows in kept]
    assert same_models(ModelVersion.restored("v", params, parts, model.devices, hold=4), model)
    # The last ones as one: rows as they are now, for all that changed in any.
    since = data.draw(st.integers(0, len(kept) - 1))
    changes = np.unique(np.concatenate([slots for slots, _ in kept[since:]]))
    parts = [*(rows for _, rows in kept[:since]), model.rows(changes)]
    assert same_models(ModelVersion.restored("v", params, parts, model.devices, hold=4), model)


def test_numbers_as_large_as_they_may_be() -> None:
    model = ModelVersion("v", Params(classes=2), hold=2)
    top = 2**62 - 1
    probs = np.full((4, 2), 0.5)
    decided = model.take(Events(["a"] * 4, [0, top, top, top], [0, top, top - 1, 0], probs))
    assert decided.seqs.tolist() == [0, top - 1, top]
    counts = {"received": 4, "missing": top - 1, "late": 1, "duplicates": 0, "reboots": 1}
    assert counts_of(model)["a"] == counts


@pytest.mark.parametrize(
    ("array", "field", "value"),
    [
        ("places", "seq", 2**63 - 1),
        ("places", "held", 3),
        ("held_keys", ..., -1),
        ("held_slots", ..., 1),
    ],
)
def test_what_cannot_be_is_not_loaded(array: str, field: Any, value: int) -> None:
    orders = [Order(width=1, hold=4, bridge=0) for _ in range(2)]
    for order in orders:
        order.grow(1)
    orders[0].take([0, 0], [0, 0], [0, 2], np.zeros((2, 1), dtype=np.uint8))
    kept = orders[0].rows(np.array([0]))
    orders[1].load(kept)
    kept[array][field] = value
    with refused("damaged"):
        orders[1].load(kept)


def test_what_lies_before_a_place_that_was_adopted_is_missing() -> None:
    """Late ones that were run are repeated, others are late; a new start misses all that it sent before."""
    params, bank = Params(classes=2, warmup=0), Monitor(Params(classes=2, warmup=0))
    model = ModelVersion("v", params, 1, 0)

    def take(boot: int, *seqs: int) -> None:
        model.take(Events(["a"] * len(seqs), [boot] * len(seqs), seqs, [[0.5, 0.5]] * len(seqs)))

    take(0, 0, 1, 2)
    model.adopt("a", bank.save(), 0, 6)
    take(0, 2, 3, 6, 7, 7)
    assert counts_of(model)["a"] == {"received": 8, "missing": 4, "late": 2, "duplicates": 2, "reboots": 0}
    model.adopt("a", bank.save(), 1, 4)
    take(1, 5)
    assert counts_of(model)["a"]["missing"] == 9 and counts_of(model)["a"]["reboots"] == 1
