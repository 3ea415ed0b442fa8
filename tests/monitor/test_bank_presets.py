"""A bank has code of its own for each preset: bit for bit what one monitor a device decides."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from streams import int8_stream, learned_params, same_steps

from tcuq import Alarm, AlarmSide, Bank, InstantHead, Monitor, Params
from tcuq.monitor.signals import profile_signals

DEVICES, STEPS = 9, 6000


def preset(profile: str, classes: int, features: int) -> Params:
    """Return params with exactly the signals of a preset that these inputs allow."""
    signals = profile_signals(profile, features)
    coef = dict.fromkeys(signals, 0.5)
    rates: dict[str, Any] = {"warmup": 20, "level": 0.25, "budget": 0.2, "burst": 3}
    if profile == "paper":
        rates["alarm"] = Alarm(0.4, AlarmSide(0.02, 2.0), AlarmSide(0.02, 2.0))
        return Params(classes=classes, features=features, signals=signals, coef=coef, **rates)
    centers = np.random.default_rng(1).integers(-100, 100, (classes, features)).tolist() if features else None
    return learned_params(
        classes,
        instant=InstantHead({"odds": 11.0}, -5.5),
        signals=signals,
        features=features,
        coef=coef,
        clean_means=dict.fromkeys(signals, 0.2),
        centers=centers,
    )


@pytest.mark.parametrize("features", [0, 16])
@pytest.mark.parametrize("classes", [2, 3, 8, 10, 100])
@pytest.mark.parametrize("profile", ["standard", "paper"])
def test_a_bank_of_a_preset_equals_monitors(profile: str, classes: int, features: int) -> None:
    params = preset(profile, classes, features)
    probs, values = int8_stream(STEPS, classes, features, seed=classes)
    slots = np.random.default_rng(classes).integers(0, DEVICES, STEPS)
    banks = {threads: Bank(params, DEVICES) for threads in (1, 2)}
    runs = {n: bank.run(slots, probs, values, True, n) for n, bank in banks.items()}
    said = set()
    for device in range(DEVICES):
        mine, monitor = slots == device, Monitor(params)
        steps, signals = monitor.run(probs[mine], None if values is None else values[mine], signals=True)
        for threads, (of_bank, their_signals) in runs.items():
            assert same_steps(of_bank[mine], steps)
            assert np.array_equal(their_signals[mine], signals)
            assert banks[threads].save_many([device])[0].tobytes() == monitor.save()
        said |= {(bool(step["abstain"]), int(step["alarm"])) for step in steps}
    assert len(said) > 1, "a stream on which nothing happens proves nothing"
