"""A bank of monitors: the same bits as that many monitors, and nothing in the wrong slot."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from exported import FULL, PLAIN
from refusals import refused
from streams import int8_stream, learned_params, same_steps

from tcuq import Bank, Monitor, Params
from tcuq.monitor.heads import InstantHead

STOCK = {"standard": FULL, "learned": learned_params(10), "paper": PLAIN}


def events(params: Params, count: int, devices: int, seed: int = 0) -> tuple[Any, Any, Any]:
    probs, features = int8_stream(count, params.classes, params.features, seed=seed)
    return np.random.default_rng(seed).integers(0, devices, count), probs, features


def equals_monitors(params: Params, slots: Any, probs: Any, features: Any) -> None:
    devices = int(slots.max()) + 1
    bank, single = Bank(params, devices), [Monitor(params) for _ in range(devices)]
    steps, signals = bank.run(slots, probs, features, signals=True)
    for device in range(devices):
        mine = slots == device
        alone, values = single[device].run(probs[mine], None if features is None else features[mine], True)
        assert same_steps(steps[mine], alone)
        assert np.array_equal(signals[mine], values)
    states = bank.save_many(range(devices))
    assert [row.tobytes() for row in states] == [each.save() for each in single]


@pytest.mark.parametrize("name", STOCK)
def test_a_bank_equals_monitors(name: str) -> None:
    equals_monitors(STOCK[name], *events(STOCK[name], 1500, 17))


@pytest.mark.parametrize("classes", [2, 3, 4, 7, 8, 9, 13, 16, 37, 1000])
@pytest.mark.parametrize("about", ["answer", "prediction"])
def test_classes_that_fill_no_vector(classes: int, about: str) -> None:
    """Any bytes are a posterior: also none at all, and all classes at once."""
    params = learned_params(classes, about=about)
    probs = np.random.default_rng(classes).integers(-128, 128, (200, classes)).astype(np.int8)
    probs[::3] = int8_stream(200, classes, 0)[0][::3]
    probs[5::20], probs[6::20] = -128, 127
    assert params.instant is not None
    for instant in (params.instant, InstantHead(params.instant.coef, params.instant.bias)):
        equals_monitors(params.replace(instant=instant), np.arange(200) % 3, probs, None)


@pytest.mark.parametrize("features", [1, 7, 16, 256])
@pytest.mark.parametrize("profile", ["standard", "paper"])
def test_features_that_fill_no_vector(features: int, profile: str) -> None:
    stock = STOCK[profile]
    centers = stock.centers and np.resize(stock.centers, (stock.classes, features)).tolist()
    params = stock.replace(features=features, centers=centers)
    _, probs, _ = events(params, 300, 1)
    values = np.random.default_rng(features).integers(-128, 128, (300, features)).astype(np.int8)
    values[::7] = params.feature_zero_point
    equals_monitors(params, np.arange(300) % 3, probs, values)


@pytest.mark.parametrize("devices", [1, 5, 300])
def test_threads_do_not_matter(devices: int) -> None:
    params = STOCK["standard"]
    slots, probs, features = events(params, 9000, devices)
    runs = []
    for threads in (1, 2, 3, 64, None):
        bank = Bank(params, devices)
        steps, signals = bank.run(slots, probs, features, True, threads)
        runs.append((steps, signals, bank.save_many(range(devices))))
    for steps, signals, states in runs[1:]:
        assert same_steps(steps, runs[0][0])
        assert np.array_equal(signals, runs[0][1]) and np.array_equal(states, runs[0][2])
    for wrong in (0, 65):
        with refused("value", "threads"):
            bank.run(slots, probs, features, threads=wrong)


NO_THREADS = """
import resource, threading
import numpy as np
from tcuq import Bank, Params
slots = np.arange(9000) % 100
probs = np.random.default_rng(0).integers(-128, 128, (9000, 2)).astype(np.int8)
banks = [Bank(Params(classes=2), 100) for _ in range(2)]
expected = banks[0].run(slots, probs, threads=1).tobytes()
threading.stack_size(2**31)
pages = int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 2**27,) * 2)
try:
    threading.Thread(target=print).start()
except RuntimeError:
    print(banks[1].run(slots, probs, threads=4).tobytes() == expected)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits memory as Linux does")
def test_without_threads_the_work_is_done_all_the_same() -> None:
    done = subprocess.run([sys.executable, "-c", NO_THREADS], capture_output=True, text=True)
    assert done.stdout == "True\n", done.stderr


def test_batches_do_not_matter() -> None:
    params = learned_params()
    slots, probs, features = events(params, 600, 5)
    whole = Bank(params, 5).run(slots, probs, features)
    bank = Bank(params, 5)
    for size in (1, 7, 100):
        bank.reset(range(5), everything=True)
        parts = [
            bank.run(
                slots[at : at + size],
                probs[at : at + size],
                None if features is None else features[at : at + size],
            )
            for at in range(0, 600, size)
        ]
        assert same_steps(np.concatenate(parts), whole)


def test_it_grows_and_keeps_what_it_has() -> None:
    params = STOCK["standard"]
    slots, probs, features = events(params, 300, 4)
    bank = Bank(params, 4)
    bank.run(slots, probs, features)
    before = bank.save_many(range(4))
    assert bank.grow(100_000) == range(4, 100_004)
    assert np.array_equal(bank.save_many(range(4)), before)
    fresh = Monitor(params).save()
    assert bank.save_many([4, 100_003])[1].tobytes() == fresh
    after = bank.run(slots + 4, probs, features)
    assert same_steps(after, Bank(params, 4).run(slots, probs, features))


def test_states_move_between_banks_and_monitors() -> None:
    params = STOCK["standard"]
    slots, probs, features = events(params, 400, 3)
    bank = Bank(params, 3)
    bank.run(slots, probs, features)
    states = bank.save_many([2, 0])
    other = Bank(params, 10)
    other.load_many([5, 6], states)
    assert other.save_many([5, 6]).tobytes() == states.tobytes()
    assert Monitor(params).load(states[0].tobytes()).save() == states[0].tobytes()
    bank.reset([2])
    reset = Monitor(params).load(states[0].tobytes())
    reset.reset()
    assert bank.save_many([2])[0].tobytes() == reset.save()


def test_one_bad_state_changes_nothing() -> None:
    params = STOCK["standard"]
    bank = Bank(params, 3)
    bank.run([0, 1, 2], *(None if each is None else each[:3] for each in events(params, 3, 3)[1:]))
    before = bank.save_many(range(3))
    states = Bank(params, 3).save_many(range(3))
    states[2, 30] ^= 1
    with refused("damaged"):
        bank.load_many(range(3), states)
    assert np.array_equal(bank.save_many(range(3)), before)
    with refused("damaged"):
        bank.load_many([0], Bank(params.replace(budget=0.01), 1).save_many([0]))
    with pytest.raises(ValueError, match="states have"):
        bank.load_many([0], states[:, :-1])


def test_states_as_bytes_and_what_is_no_state() -> None:
    params = STOCK["standard"]
    _, probs, features = events(params, 40, 1)
    one, other, bank = Monitor(params), Monitor(params), Bank(params, 3)
    one.run(probs, features)
    bank.load_many([1], one.save())
    bank.load_many([2, 0], bytearray(other.save() + one.save()))
    assert [row.tobytes() for row in bank.save_many(range(3))] == [one.save(), one.save(), other.save()]
    before = bank.save_many(range(3))
    with pytest.raises(
        ValueError, match=f"states have {len(one.save()) - 1} bytes, expected {len(one.save())}"
    ):
        bank.load_many([0], one.save()[1:])
    # A cast would give the right bytes again.
    for kind in (np.int8, np.int64, np.float64):
        with refused("value"):
            bank.load_many([0], before[2:].astype(kind))
    assert np.array_equal(bank.save_many(range(3)), before)
    bank.load_many([], [])  # type: ignore[arg-type]


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, lambda bank: pickle.loads(pickle.dumps(bank))])
@pytest.mark.parametrize("devices", [0, 6])
def test_a_copy_goes_its_own_way(how: Callable[[Bank], Bank], devices: int) -> None:
    params = STOCK["standard"]
    slots, probs, features = events(params, 300, 4)
    bank = Bank(params, devices)
    if devices:
        bank.run(slots, probs, features)
    before = bank.save_many(range(devices))
    other = how(bank)
    assert len(other) == devices and other.params == params
    assert np.array_equal(other.save_many(range(devices)), before)
    other.grow(4)
    steps = other.run(slots, probs, features)
    assert len(bank) == devices and np.array_equal(bank.save_many(range(devices)), before)
    bank.grow(4)
    assert same_steps(bank.run(slots, probs, features), steps)


class Named(Bank):
    """A subclass whose constructor wants more than params."""

    def __init__(self, params: Params, name: str) -> None:
        super().__init__(params, 3)
        self.name = name


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, lambda bank: pickle.loads(pickle.dumps(bank))])
def test_a_copy_of_a_subclass_is_one(how: Callable[[Named], Named]) -> None:
    bank = Named(STOCK["standard"], "hall")
    slots, probs, features = events(bank.params, 30, 3)
    bank.run(slots, probs, features)
    other = how(bank)
    assert type(other) is Named and other.name == "hall"
    assert np.array_equal(other.save_many(range(3)), bank.save_many(range(3)))


def test_no_bank_is_too_large_to_say_so() -> None:
    bank = Bank(Params(classes=2), 2)
    with pytest.raises(ValueError, match=f"2 monitors and {sys.maxsize * 2 + 1} more are too many"):
        bank._core.grow(sys.maxsize * 2 + 1)
    with pytest.raises(ValueError, match=r"2 monitors and 4294967295 more are too many"):
        bank.grow(2**32 - 1)
    assert len(bank) == 2


@pytest.mark.parametrize(
    ("slots", "message"),
    [
        ([3], r"slots\[0\] is 3, expected 0 to 2"),
        ([-1], r"slots\[0\] is -1"),
        ([2**64 - 1], r"slots\[0\] is 18446744073709551615, expected 0 to 2"),
        (np.array([0, 2**63], np.uint64), r"slots\[1\] is 9223372036854775808, expected 0 to 2"),
        (np.array([3], np.uint64), r"slots\[0\] is 3, expected 0 to 2"),
        ([0.5], "slots are float64"),
        ([[0]], r"slots are int64 \(1, 1\)"),
        ([0, 1], "probs have 1 rows, expected 2"),
    ],
)
def test_bad_slots(slots: Any, message: str) -> None:
    bank = Bank(Params(classes=2), 3)
    with pytest.raises((IndexError, ValueError), match=message):
        bank.run(slots, [[0.5, 0.5]])
    assert bank.save_many(range(3)).tobytes() == Bank(Params(classes=2), 3).save_many(range(3)).tobytes()


def test_bad_input_is_refused_before_anything_runs() -> None:
    bank = Bank(Params(classes=2), 1)
    with refused("value") as found:
        bank.run([0, 0], [[0.5, 0.5], [np.nan, 1.0]])
    found.match(r"probs\[1, 0\] is nan")
    with refused("missing"):
        Bank(STOCK["standard"], 1).run([0], np.zeros((1, 7), np.int8))
    assert bank.save_many([0])[0].tobytes() == Monitor(Params(classes=2)).save()
    with refused("value", "params"):
        Bank({})  # type: ignore[arg-type]
    with refused("value", "count"):
        bank.grow(-1)


def test_other_threads_run_meanwhile_and_are_turned_away() -> None:
    params = STOCK["paper"]
    slots, probs, features = events(params, 100_000, 50)
    bank = Bank(params, 50)
    refused, turns = [], 0
    worker = threading.Thread(target=bank.run, args=(slots, probs, features))
    worker.start()
    while worker.is_alive():
        turns += 1
        try:
            bank.save_many([0])
        except RuntimeError as error:
            refused.append(str(error))
    worker.join()
    assert turns > 1, "the lock was never given up"
    assert refused and "in use by another thread" in refused[0]
    bank.save_many([0])
