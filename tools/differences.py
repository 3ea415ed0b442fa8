"""How far the integer core is from float64: random parameters, random streams.

    python tools/differences.py [STEPS]     default 1,000,000

Prints the largest and mean difference of the risk on the same dequantized input, and, per number
of classes, against input that was never quantized. The disbelief signals have a table of their own: a
belief of 16 bits a class is coarse where there are many classes.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from tcuq import Monitor, Params
from tcuq.monitor.quantize import quantize_probs
from tcuq.monitor.reference import exact, reference, weighed
from tcuq.monitor.signals import BELIEF, FEATURE_BASED, NUMBER, SIGNALS, profile_signals

LENGTH = 2500
"""Steps with one set of parameters."""


@dataclass(frozen=True)
class Difference:
    """Largest and mean distance of the core from float64, of the risk or of some signals."""

    largest: float
    mean: float
    steps: int


def random_stream(
    steps: int, classes: int, features: int, zero: int, rng: np.random.Generator
) -> tuple[Any, Any]:
    """Return float posteriors and int8 features with a random dwell, sharpness and feature scale."""
    changes = rng.random(steps) < 1 / rng.choice([1, 4, 16, 64])
    changes[0] = True
    labels = rng.integers(0, classes, int(changes.sum()))[np.cumsum(changes) - 1]
    logits = rng.normal(0, rng.uniform(0.2, 3), (steps, classes))
    logits[np.arange(steps), labels] += rng.uniform(0, 10) * rng.random(steps)
    exps = np.exp(logits - logits.max(1, keepdims=True))
    width = max(1, features)
    values = rng.normal(0, 1, (classes, width))[labels] + rng.normal(0, rng.uniform(0.1, 2), (steps, width))
    values *= 10 ** rng.uniform(-0.3, 2)
    if rng.random() < 0.5:
        values = np.maximum(values, 0)
    raw = np.clip(np.round(values) + zero, -128, 127).astype(np.int8)
    return exps / exps.sum(1, keepdims=True), raw if features else None


def random_params(rng: np.random.Generator, classes: int) -> Params:
    """Return parameters from the whole allowed range."""
    features = int(rng.choice([0, 1, 4, 16, 32, 64, 256]))
    count = int(rng.integers(1, 6))
    lags = tuple(int(lag) for lag in rng.choice(np.arange(1, 65), count, replace=False))
    signals = profile_signals("paper", features)
    if rng.integers(2):
        usable = [name for name in SIGNALS if features or name not in FEATURE_BASED]
        signals = tuple(name for name in usable if name not in BELIEF)
    return Params(
        classes=classes,
        features=features,
        feature_zero_point=int(rng.integers(-128, 128)),
        signals=signals,
        lags=lags,
        window=64,
        lag_weights=tuple(rng.random(count) + 1e-3),
        doubt_mix=float(rng.random()),
        blend=float(rng.random()),
        coef={name: float(rng.uniform(-64, 63.9)) for name in signals},
        clean_means={name: float(rng.random()) for name in signals},
    )


def centered(params: Params, signals: Any) -> Params:
    """Move the bias so that the logistic works in its steep part, where differences show."""
    z = signals @ np.array([params.coef.get(name, 0.0) for name in SIGNALS])
    return params.replace(bias=float(np.clip(-np.median(z), -256, 256)))


def on_integers(steps: int, seed: int = 0) -> Difference:
    """Compare on the same dequantized input, posteriors of any sum included."""
    rng = np.random.default_rng(seed)
    largest = total = 0.0
    done = 0
    while done < steps:
        classes = int(2 ** rng.uniform(1, np.log2(1000)))
        params = random_params(rng, classes)
        probs, raw = random_stream(LENGTH, classes, params.features, params.feature_zero_point, rng)
        ints = quantize_probs(probs)
        if rng.random() < 0.15:
            ints = rng.integers(-128, 128, ints.shape).astype(np.int8)
        real = reference(params, ints, raw)
        params = centered(params, real.signals)
        real = weighed(params, real.signals, real.doubted)  # the bias is in no signal
        gap = np.abs(Monitor(params).run(ints, raw)["risk"] - real.risk)
        largest, total, done = max(largest, float(gap.max())), total + float(gap.sum()), done + LENGTH
    return Difference(largest, total / done, done)


def on_beliefs(classes: int, steps: int, seed: int = 0) -> Difference:
    """Compare the disbelief signals on the same dequantized input, posteriors of any sum included."""
    rng = np.random.default_rng(seed)
    params = Params(classes=classes, signals=BELIEF, anchor="belief")
    columns = [NUMBER[name] for name in BELIEF]
    largest = total = 0.0
    done = 0
    while done < steps:
        probs, _ = random_stream(LENGTH, classes, 0, 0, rng)
        ints = quantize_probs(probs)
        if rng.random() < 0.15:
            ints = rng.integers(-128, 128, ints.shape).astype(np.int8)
        _, signals = Monitor(params).run(ints, signals=True)
        gap = np.abs(signals - reference(params, ints).signals)[:, columns]
        largest, total, done = max(largest, float(gap.max())), total + float(gap.mean(1).sum()), done + LENGTH
    return Difference(largest, total / done, done)


def on_reals(classes: int, steps: int, seed: int = 0) -> Difference:
    """Compare with float64 on posteriors that were never quantized, with ordinary coefficients."""
    rng = np.random.default_rng(seed)
    largest = total = 0.0
    done = 0
    while done < steps:
        signals = profile_signals("paper", 0)
        params = Params(classes=classes, signals=signals)
        probs, _ = random_stream(LENGTH, classes, 0, 0, rng)
        real = exact(params, probs, np.zeros((LENGTH, 1)))
        gap = np.abs(Monitor(params).run(probs)["risk"] - real.risk)
        largest, total, done = max(largest, float(gap.max())), total + float(gap.sum()), done + LENGTH
    return Difference(largest, total / done, done)


def main() -> int:
    """Print the tables."""
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    same = on_integers(steps)
    print(f"same dequantized input, {same.steps:,} steps: largest {same.largest:.5f}, mean {same.mean:.6f}")
    print("\ndisbelief signals, same dequantized input:")
    print(f"{'classes':>8} {'largest':>9} {'mean':>9}")
    for classes in (2, 10, 35, 100, 200, 1000):
        found = on_beliefs(classes, 50_000)
        print(f"{classes:>8} {found.largest:>9.4f} {found.mean:>9.5f}")
    print("\nunquantized input, stock coefficients, posterior only:")
    print(f"{'classes':>8} {'largest':>9} {'mean':>9}")
    for classes in (2, 10, 35, 100, 200, 1000):
        found = on_reals(classes, 50_000)
        print(f"{classes:>8} {found.largest:>9.4f} {found.mean:>9.5f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
