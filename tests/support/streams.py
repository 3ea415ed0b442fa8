"""Made-up streams for tests, and drivers that put the risk where a test wants it."""

from __future__ import annotations

from typing import Any

import numpy as np

from tcuq import STEP_DTYPE, Alarm, AlarmSide, EvidenceHead, Log, Params
from tcuq.monitor.heads import InstantHead, Sight


def dwell_stream(
    steps: int, classes: int, features: int, rng: np.random.Generator, dwell: float = 8, shifted: bool = False
) -> tuple[Any, Any, Any, Any]:
    """Return float posteriors, float features, true labels and marks of degraded stretches."""
    changes = rng.random(steps) < 1 / dwell
    changes[:1] = True
    truth = rng.integers(0, classes, int(changes.sum()))[np.cumsum(changes) - 1]
    marks = (np.arange(steps) // 250) % 2 == 1 if shifted else np.zeros(steps, dtype=bool)
    logits = rng.normal(0, 1, (steps, classes))
    logits[np.arange(steps), truth] += np.where(marks, 1.5, 4.5)
    exps = np.exp(logits - logits.max(1, keepdims=True))
    probs = exps / exps.sum(1, keepdims=True)
    centers = rng.normal(0, 1, (classes, max(1, features)))
    noise = rng.normal(0, 0.3, (steps, max(1, features))) * np.where(marks, 3, 1)[:, None]
    values = np.maximum(0, centers[truth] + noise)
    return probs, values if features else None, truth, marks


def int8_stream(steps: int, classes: int, features: int, seed: int = 0) -> tuple[Any, Any]:
    """Return int8 posteriors and features (zero point -128)."""
    rng = np.random.default_rng(seed)
    probs, values, _, _ = dwell_stream(steps, classes, features, rng, shifted=True)
    probs8 = (np.clip(np.floor(probs * 256 + 0.5), 0, 255) - 128).astype(np.int8)
    if values is None:
        return probs8, None
    return probs8, (np.clip(values * 60, 0, 255) - 128).astype(np.int8)


def direct_params(**options: Any) -> Params:
    """Return params whose risk is 1 - confidence: a test then sets the risk through the posterior."""
    return Params(classes=2, signals=("doubt",), lags=(), blend=0.0, **options)


def posterior_of(level: int) -> Any:
    """Return an int8 posterior of two classes whose risk is 65536 - 256 * level, at most 65535."""
    return np.array([level - 128, -128], dtype=np.int8)


def same_steps(one: Any, other: Any) -> bool:
    """Tell whether two runs said the same at every step; an absent expected accuracy is NaN in both."""
    if one.dtype != STEP_DTYPE or one.shape != other.shape:
        return False
    return all(np.array_equal(one[n], other[n], equal_nan=one[n].dtype.kind == "f") for n in STEP_DTYPE.names)


def learned_params(classes: int = 4, **options: Any) -> Params:
    """Return params of a monitor that learns the persistence and uses everything that a step can say."""
    signals = ("doubt", "odds", "degradation", "disbelief")
    chosen: dict[str, Any] = {
        "signals": signals,
        "lags": (),
        "coef": {"odds": 2.0, "degradation": 1.0, "disbelief": 9.0},
        "bias": -5.5,
        "clean_means": dict.fromkeys(signals, 0.2),
        "instant": InstantHead({"odds": 11.0, "doubt": 0.5}, -5.5),
        "evidence": EvidenceHead(
            {"odds": 6.0}, [-1.5 - 0.1 * c for c in range(classes)], 2.0, reach=50_000_000, bet=(0.9, 0.25)
        ),
        "alarm": Alarm(rise=AlarmSide(0, 1.0, 2.0)),
        "about": "answer",
        "anchor": "belief",
        "horizon": 64,
        "expected_start": 0.9,
        "warmup": 20,
        "level": 0.25,
        "budget": 0.2,
        "burst": 3,
        "reference": 0.4,
    }
    return Params(classes=classes, **{**chosen, **options})


SEEN = ("brightness", "sharpness")


def seeing_params(classes: int = 4, **options: Any) -> Params:
    """Return params whose alarm sees two gauges, of mean 10 and 20 and deviation 2, beside the odds."""
    sight = Sight(
        means=[10.0, 20.0, 0.3, 0.3],
        deviations=[2.0, 2.0, 0.1, 0.1],
        class_means=[[0.0] * 4] * classes,
        matrix=[1.0, 0, 0, 0, 1.0, 0, 0, 0.2, 0, 0.0],
        gauges=SEEN,
        gauge_scales=(256.0, 256.0),
        reach=4000,
    )
    signals = ("doubt", "odds", "degradation")
    alarm = Alarm(rise=AlarmSide(0.0, 1.5, cap=64.0, clear=1.1))
    return Params(classes=classes, signals=signals, sight=sight, alarm=alarm, warmup=0, **options)


def seen_log(params: Params, steps: int = 400, from_step: int = 200) -> Log:
    """Return a log whose input loses its sharpness at a step."""
    rng = np.random.default_rng(5)
    gauges = rng.normal([10.0, 20.0], 2.0, (steps, 2)).astype(np.float32)
    gauges[from_step:, 1] -= 15
    return Log(int8_stream(steps, params.classes, 0, seed=2)[0], gauges=gauges, gauge_names=SEEN)
