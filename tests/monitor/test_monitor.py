"""The Python face: same results whichever door is used, and clear words for bad input."""

from __future__ import annotations

import copy
import pickle
import struct
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused
from streams import dwell_stream, int8_stream, same_steps

from tcuq import SIGNALS, STEP_DTYPE, Alarm, AlarmSide, EvidenceHead, Log, Monitor, Params
from tcuq.log.quantize import quantize_features, quantize_probs, two_classes
from tcuq.monitor.signals import FEATURE_BASED, profile_signals
from tcuq.monitor.steps import ACTIONS

ALARM = Alarm(0.3, AlarmSide(0.05, 2.0), AlarmSide(0.05, 2.0))


MIXED = ("instability", "doubt", "odds", "degradation", "magnitude")
"""Some signals of both profiles; none needs an instant head."""


def make_params(profile: str = "mixed", classes: int = 10, features: int = 32, **options: Any) -> Params:
    signals = MIXED if profile == "mixed" else profile_signals(profile, features)
    signals = tuple(name for name in signals if features or name not in FEATURE_BASED)
    if profile == "mixed":
        head = EvidenceHead(
            {"odds": 5.0, "degradation": 12.0},
            [-2.5] * classes,
            3.0,
            10_000_000,
            bias=-6.0,
            baseline=(40, -4.0, 2.0),
        )
        options = {
            "evidence": head,
            "alarm": Alarm(0.3, AlarmSide(0.05, 2.0, clear=0.5), least_raised=5),
            **options,
        }
    return Params(
        classes=classes,
        features=features,
        feature_zero_point=-128,
        feature_scale=1 / 60,
        signals=signals,
        coef={name: (-1.0) ** i * (1 + i / 3) for i, name in enumerate(signals)},
        clean_means=dict.fromkeys(signals, 0.2),
        warmup=10,
        **{"alarm": ALARM, **options},
    )


@pytest.mark.parametrize("profile", ["paper", "mixed"])
@pytest.mark.parametrize("features", [0, 32])
def test_run_equals_repeated_step(profile: str, features: int) -> None:
    params = make_params(profile, features=features)
    probs, values = int8_stream(600, 10, features)
    steps, signals = Monitor(params).run(probs, values, signals=True)
    single = Monitor(params)
    for t in range(len(probs)):
        one = single.step(probs[t], None if values is None else values[t], signals=True)
        for name in STEP_DTYPE.names or ():
            expected = steps[name][t]
            if name == "reason":
                assert one.reason == (SIGNALS[expected] if expected < len(SIGNALS) else None)
            elif name == "expected_accuracy":
                assert one.expected_accuracy is None and np.isnan(expected)
            elif name == "action":
                assert one.action == ACTIONS[expected]
            else:
                assert getattr(one, name) == expected, (t, name)
        assert one.signals == tuple(signals[t])
    assert single.save() == (lambda m: (m.run(probs, values), m.save())[1])(Monitor(params))


@given(cut=st.integers(0, 200), gap=st.integers(0, 200), profile=st.sampled_from(["paper", "mixed"]))
def test_save_and_load_anywhere_changes_nothing(cut: int, gap: int, profile: str) -> None:
    params = make_params(profile)
    probs, values = int8_stream(200, 10, 32, seed=3)
    whole, split = Monitor(params), Monitor(params)
    parts = []
    for start, stop in ((0, min(cut, gap)), (min(cut, gap), max(cut, gap)), (max(cut, gap), 200)):
        parts.append(split.run(probs[start:stop], values[start:stop]))
        split = Monitor(params).load(split.save())
    assert same_steps(np.concatenate(parts), whole.run(probs, values))
    assert split.save() == whole.save()


def test_float_input_is_the_same_as_its_quantized_form() -> None:
    params = make_params()
    probs, values, _, _ = dwell_stream(400, 10, 32, np.random.default_rng(2))
    ints = quantize_probs(probs), quantize_features(values, params.feature_scale, -128)
    expected = Monitor(params).run(*ints)
    for kind in (np.float64, np.float32):
        assert same_steps(Monitor(params).run(probs.astype(kind), values.astype(kind)), expected)
    as_uint8 = (ints[0].astype(np.int16) + 128).astype(np.uint8)
    assert same_steps(Monitor(params).run(as_uint8, ints[1]), expected)
    assert same_steps(Monitor(params).run(ints[0].tolist(), ints[1].tolist()), expected)


def test_quantization_is_that_of_an_int8_runtime() -> None:
    # Round half up for the non-negative posteriors, half away from zero for features.
    assert quantize_probs([[0.5 / 256, 1 - 0.5 / 256]]).tolist() == [[-127, 127]]
    assert quantize_features([[0.5, -0.5, 1.5, -1.5, 1e9, -1e9]], 1.0, 0).tolist() == [
        [1, -1, 2, -2, 127, -128]
    ]


def test_the_last_float_below_a_half_step_rounds_down() -> None:
    below = np.nextafter(np.float32(0.5 / 256), np.float32(0))
    row = np.array([[below, 1 - below]], dtype=np.float32)
    assert quantize_probs(row)[0, 0] == -128


def test_unaligned_arrays_are_read_like_any_other() -> None:
    params = make_params()
    probs, values, _, _ = dwell_stream(1, 10, 32, np.random.default_rng(0))
    shifted = [np.frombuffer(b"\0" + a[0].tobytes(), np.float64, offset=1) for a in (probs, values)]
    assert Monitor(params).step(*shifted) == Monitor(params).step(probs[0], values[0])


def test_a_sigmoid_becomes_two_classes() -> None:
    steps = Monitor(Params(classes=2)).run(two_classes([0.1, 0.9]))
    assert steps["prediction"].tolist() == [0, 1]
    raw = np.arange(-128, 128).astype(np.int8)
    both = two_classes(raw).astype(int) + 128
    assert (both.sum(1)[1:] == 256).all() and both[0].tolist() == [255, 0]
    assert np.array_equal(two_classes(np.arange(256, dtype=np.uint8)), both)


def test_strided_and_half_precision_input() -> None:
    params = make_params(features=0)
    probs, _ = int8_stream(100, 10, 0)
    wide = np.repeat(probs, 2, axis=1)
    assert same_steps(Monitor(params).run(wide[:, ::2]), Monitor(params).run(probs))
    half = np.full((3, 10), 0.1, dtype=np.float16)
    assert Monitor(params).run(half)["risk"].shape == (3,)
    assert Monitor(params).step(wide[0, ::2]).prediction == Monitor(params).step(probs[0]).prediction


def test_reset_keeps_debt_credit_alarm_and_forgets_the_past() -> None:
    names = tuple(name for name in SIGNALS if name not in FEATURE_BASED)
    names = tuple(name for name in names if name not in ("disbelief", "degradation"))  # outlive a reset
    params = Params(classes=10, signals=names, clean_means=dict.fromkeys(names, 0.2), alarm=ALARM)
    probs, _ = int8_stream(500, 10, 0)
    monitor = Monitor(params)
    monitor.run(probs)
    before = monitor.steps, monitor.debt, monitor.credit, monitor.alarm
    monitor.reset()
    assert (monitor.steps, monitor.debt, monitor.credit, monitor.alarm) == before
    step = monitor.step(probs[0], signals=True)
    assert step.signals is not None
    for name in ("divergence", "flips"):
        assert abs(step.signals[SIGNALS.index(name)] - 0.2) < 1e-4, "the clean mean stands in"
    fresh = Monitor(params).step(probs[0], signals=True)
    assert fresh.signals == step.signals, "beliefs start over"


def test_pickle_copy_and_repr() -> None:
    params = make_params()
    probs, values = int8_stream(120, 10, 32)
    monitor = Monitor(params)
    monitor.run(probs[:60], values[:60])
    for twin in (pickle.loads(pickle.dumps(monitor)), copy.deepcopy(monitor)):
        assert twin.params == params
        assert same_steps(twin.run(probs[60:], values[60:]), copy.copy(monitor).run(probs[60:], values[60:]))
    assert repr(monitor) == "Monitor(classes=10, features=32, profile='custom', steps=60)"


class Named(Monitor):
    """A subclass whose constructor wants more than params."""

    def __init__(self, params: Params, name: str) -> None:
        super().__init__(params)
        self.name = name


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_a_copy_of_a_subclass_is_one(how: Callable[[Named], Named]) -> None:
    monitor = Named(make_params(features=0), "door")
    monitor.run(int8_stream(30, 10, 0)[0])
    twin = how(monitor)
    assert type(twin) is Named and twin.name == "door" and twin.save() == monitor.save()


def with_crc(state: bytes) -> bytes:
    return state[:-4] + struct.pack("<I", zlib.crc32(state[:-4]))


def changed(state: bytes, offset: int, value: int, size: int = 4) -> bytes:
    return with_crc(
        state[:offset] + value.to_bytes(size, "little", signed=value < 0) + state[offset + size :]
    )


def test_every_bit_flip_and_truncation_of_a_state_is_refused() -> None:
    monitor = Monitor(make_params())
    monitor.run(*int8_stream(30, 10, 32))
    state = monitor.save()
    target = Monitor(monitor.params)
    before = target.save()
    for i in range(len(state)):
        broken = bytearray(state)
        broken[i] ^= 1 << (i % 8)
        with refused("damaged"):
            target.load(bytes(broken))
        with refused("damaged"):
            target.load(state[:i])
    with refused("damaged"):
        target.load(state + b"\0")
    assert target.save() == before, "a refused state changes nothing"


BAD_NUMBERS = {
    4: {20: 0, 24: 10**6, 28: -1, 32: 10**9, 36: 1, 40: 3 * 65536 + 1, 44: 2**21 + 1, 48: 2**31 - 1}
    | {52: 256 * 40 + 1, 56: 1},
    2: {6: 1, 64: 10},
    1: {60: 4, 61: 5, 62: 2, 63: 3},
}
"""By their size in bytes: offset in a state, and a number that cannot be there."""


def test_a_state_with_a_good_checksum_and_a_bad_number_is_refused() -> None:
    monitor = Monitor(make_params())
    monitor.run(*int8_stream(30, 10, 32))
    for size, numbers in BAD_NUMBERS.items():
        for offset, value in numbers.items():
            with refused("damaged"):
                Monitor(monitor.params).load(changed(monitor.save(), offset, value, size))


def test_a_last_step_of_more_than_one_is_refused() -> None:
    head = EvidenceHead({"odds": 1.0}, [0.0] * 3)
    monitor = Monitor(Params(classes=3, signals=("odds",), lags=(), evidence=head))
    monitor.run(int8_stream(9, 3, 0)[0])
    state = monitor.save()
    Monitor(monitor.params).load(changed(state, 64, 65535))
    with refused("damaged"):
        Monitor(monitor.params).load(changed(state, 64, 65536))


def test_the_step_counter_stops_instead_of_wrapping() -> None:
    """A monitor that has run for 2^32 - 1 steps must not start its warm-up again."""
    monitor = Monitor(make_params(features=0))
    probs, _ = int8_stream(5, 10, 0)
    monitor.run(probs)
    monitor.load(changed(monitor.save(), 20, 2**32 - 1))
    assert not monitor.run(probs)["warming_up"].any()
    assert monitor.steps == 2**32 - 1


GOOD = [0.1] * 10


def test_bad_steps_are_refused_with_the_value() -> None:
    monitor = Monitor(make_params(features=0))
    before = monitor.save()
    odd: list[tuple[Any, str]] = [
        ([np.nan, *GOOD[1:]], r"probs\[0\] is nan, expected 0 to 1$"),
        ([-0.1, 0.3, *GOOD[2:]], r"probs\[0\] is -0.1"),
        ([0.5] * 10, r"probs sum to 5"),
        ([0.5, 0.5], r"probs has 2 values per step; the params say 10"),
        (np.full((2, 10), 0.1), r"probs has 2 dimensions"),
        (np.full(10, 1, dtype=np.int64), r"dtype int64"),
        ([300] + [0] * 9, r"probs holds 300"),
        (["a"] * 10, r"probs has dtype <U1"),
    ]
    for probs, message in odd:
        with refused("value") as found:
            monitor.step(probs if isinstance(probs, np.ndarray) else list(probs))
        found.match(message)
        assert monitor.save() == before


def test_features_that_the_params_do_not_use_are_ignored() -> None:
    alone, beside = Monitor(make_params(features=0)), Monitor(make_params(features=0))
    for seed in range(20):
        probs = np.random.default_rng(seed).dirichlet(np.ones(10))
        assert alone.step(probs) == beside.step(probs, [1.0, np.inf, -3.0])
    table, wide = np.full((5, 10), 0.1), np.ones((5, 7), dtype=np.int8)
    assert same_steps(alone.run(table), beside.run(table, wide))
    assert alone.save() == beside.save()


def test_bad_tables_are_refused_before_anything_moves() -> None:
    monitor = Monitor(make_params())
    before = monitor.save()
    probs, values = np.full((5, 10), 0.1), np.ones((5, 32))
    broken = probs.copy()
    broken[3, 7] = np.nan
    cases: list[tuple[Any, Any, str]] = [
        (broken, values, r"probs\[3, 7\] is nan"),
        (probs * 2, values, r"probs\[0\] sum to 2"),
        (probs, None, r"features are missing"),
        (probs, values[:4], r"features have 4 rows"),
        (probs, values[:, :5], r"features has 5 values per step"),
        (probs, np.where(np.eye(5, 32) > 0, np.inf, 1.0), r"features\[0, 0\] is inf"),
        (probs, np.ones((5, 32), dtype=np.uint8), r"features are uint8"),
        (probs[0], values, r"probs has 1 dimensions"),
    ]
    for p, f, message in cases:
        with refused("missing" if f is None else "value") as found:
            monitor.run(p, f)
        found.match(message)
    assert monitor.save() == before


def test_bad_logs_are_refused() -> None:
    for options in (
        {"labels": [2]},
        {"labels": [0, 1]},
        {"labels": [0.5]},
        {"shifted": [-1]},
        {"features": [[1.0], [2.0]]},
        {"probs": [[1.0]]},
        {"probs": [[0.5, 0.5], [1.0]]},
    ):
        with refused("value"):
            Log(**{"probs": [[0.5, 0.5]], **options})
