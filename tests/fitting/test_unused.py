"""Signals that no weight reads are dropped, also with two heads, and no decision changes."""

from __future__ import annotations

import numpy as np
import pytest
from exported import SEEING
from streams import dwell_stream

from tcuq import Alarm, AlarmSide, Log, Monitor, Params
from tcuq.fitting.stages.findings import without_unused
from tcuq.monitor.heads import EvidenceHead, InstantHead
from tcuq.monitor.monitor import run_over
from tcuq.monitor.signals import SIGNALS


def made(seed: int) -> Log:
    probs, features, labels, shifted = dwell_stream(3000, 5, 4, np.random.default_rng(seed), shifted=True)
    return Log(probs, features, labels, np.arange(3000) // 600, shifted)


def same_steps(one: Params, two: Params, log: Log) -> bool:
    first, second = run_over(Monitor(one), log), run_over(Monitor(two), log)
    return all(
        np.array_equal(first[name], second[name], equal_nan=name[0] == "e") for name in first.dtype.names
    )


@pytest.mark.parametrize("seed", range(8))
def test_random_heads_decide_as_before(seed: int) -> None:
    rng = np.random.default_rng(seed)
    kept = set(rng.choice(SIGNALS, 5, replace=False).tolist()) | {
        "disbelief",
        "odds",
        "degradation",
        "distance",
    }
    coef = {name: float(rng.uniform(-8, 8)) if name in kept else 0.0 for name in SIGNALS}
    half = {name: float(rng.uniform(-8, 8)) for name in sorted(kept)[:3]}
    params = Params(
        classes=5,
        features=4,
        feature_scale=0.02,
        feature_zero_point=-128,
        signals=SIGNALS,
        coef=coef,
        clean_means=dict(zip(SIGNALS, rng.random(len(SIGNALS)).tolist(), strict=True)),
        centers=rng.integers(-128, 128, (5, 4)).tolist(),
        instant=InstantHead(half, 0.5),
        about=("answer", "prediction")[seed % 2],
        anchor=("belief", "confidence")[seed // 2 % 2],
        evidence=EvidenceHead({"odds": 4.0, "degradation": 9.0}, [-2.0] * 5, 3.0, 5_000, bias=-4.0),
        alarm=Alarm(rise=AlarmSide(0.0, 3.0, clear=1.0), least_raised=7),
        horizon=64,
        expected_start=0.9,
        reference=0.4,
    )
    slim, dropped = without_unused(params)
    assert set(slim.signals) == kept and dropped is not None
    assert dropped["ram_bytes"] >= 0 and dropped["instructions"] > 0
    assert same_steps(params, slim, made(seed))


def test_names_and_notes_stay() -> None:
    params = Params(classes=2, features=3, names=("cat", "dog"), notes={"by": "hand"})
    slim, dropped = without_unused(params)
    assert dropped is not None and slim.names == ("cat", "dog") and slim.notes == {"by": "hand"}


def test_the_signal_that_an_alarm_of_the_input_adds_is_no_loss() -> None:
    coef = dict.fromkeys(SEEING.signals, 0.0) | {"odds": 1.0}
    params = SEEING.replace(coef=coef, clean_means=dict.fromkeys(coef, 0.5))
    slim, dropped = without_unused(params)
    assert slim.signals == ("odds", "distance") and dropped is None
    more = {"signals": ("doubt", *params.signals), "coef": {**coef, "doubt": 0.0}}
    slim, dropped = without_unused(params.replace(**more, clean_means={**params.clean_means, "doubt": 0.5}))
    assert slim.signals == ("odds", "distance") and dropped is not None and dropped["signals"] == ["doubt"]
