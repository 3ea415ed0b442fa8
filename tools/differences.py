"""How far the integer core is from float64: random parameters, random streams.

    python tools/differences.py [STEPS]     default 1,000,000

Prints the largest and mean difference of the risk on the same dequantized input, and, per number
of classes, against input that was never quantized. The disbelief signals have a table of their own: a
belief of 16 bits a class is coarse where there are many classes. So has what is learned of a stream.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from tcuq import EvidenceHead, Monitor, Params
from tcuq.log.quantize import quantize_probs
from tcuq.monitor.heads import InstantHead
from tcuq.monitor.signals import BELIEF, FEATURE_BASED, SIGNALS, SLOW, profile_signals
from tcuq_lab.float_reference import exact, reference, weighed

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
        signals = tuple(name for name in usable if name not in (*BELIEF, *SLOW, "distance"))
    return Params(
        classes=classes,
        features=features,
        feature_zero_point=int(rng.integers(-128, 128)),
        signals=signals,
        lags=lags,
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
        # The bias is in no signal.
        real = weighed(
            params,
            real.signals,
            real.doubted,
            real.answer,
            real.persistence,
            real.look,
            real.severity,
            real.still,
        )
        gap = np.abs(Monitor(params).run(ints, raw)["risk"] - real.risk)
        largest, total, done = max(largest, float(gap.max())), total + float(gap.sum()), done + LENGTH
    return Difference(largest, total / done, done)


@dataclass(frozen=True)
class Learned:
    """Distances of the core from float64 where it learns the persistence."""

    risk: Difference
    persistence: Difference
    look: Difference
    expected_accuracy: Difference
    severity: Difference
    other_answers: float


def learned_params(classes: int, features: int, rng: np.random.Generator) -> Params:
    """Return the kind of parameters that a fit gives: log-odds in, a probability out."""
    signals = ("odds", "severity", "magnitude", "distance", "disbelief", "drift")
    head = {"odds": rng.uniform(0, 4), "severity": rng.uniform(-1, 1), "magnitude": rng.uniform(-1, 1)}
    steady = {**head, "disbelief": rng.uniform(7, 11), "distance": rng.uniform(0, 2)}
    instant = {**head, "odds": rng.uniform(9, 11), "distance": rng.uniform(0, 2)}
    return Params(
        classes=classes,
        features=features,
        signals=signals,
        lags=(),
        coef=steady,
        bias=-6.0,
        clean_means=dict.fromkeys(signals, 0.3),
        blend=float(rng.random()),
        anchor="belief",
        about="answer",
        centers=tuple(tuple(row) for row in rng.integers(-60, 60, (classes, features)).tolist()),
        instant=InstantHead(instant, -6.0),
        evidence=EvidenceHead(
            {"odds": 4.0, "distance": 2.0}, rng.normal(-2, 0.3, classes).tolist(), 4.0, reach=50_000
        ),
        horizon=256,
        expected_start=0.9,
    )


def on_learned(classes: int, steps: int, seed: int = 0) -> Learned:
    """Compare everything that is learned of a stream on the same dequantized input."""
    rng = np.random.default_rng(seed)
    gaps: dict[str, list[Any]] = {
        name: [] for name in ("risk", "persistence", "look", "expected_accuracy", "severity")
    }
    done = other = 0
    while done < steps:
        params = learned_params(classes, 8, rng)
        probs, raw = random_stream(LENGTH, classes, 8, 0, rng)
        ints = quantize_probs(probs)
        real, found = reference(params, ints, raw), Monitor(params).run(ints, raw)
        same = found["answer"] == real.answer
        for name, kept in gaps.items():
            gap = np.abs(found[name] - getattr(real, name))
            kept.append(gap[same] if name == "risk" else gap)
        done, other = done + LENGTH, other + int((~same).sum())
    whole = {name: np.concatenate(kept) for name, kept in gaps.items()}
    found_of = {name: Difference(float(gap.max()), float(gap.mean()), done) for name, gap in whole.items()}
    return Learned(**found_of, other_answers=other / done)


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
    print("\nlearned persistence, same dequantized input: largest and mean")
    heads = ("risk", "persistence", "look", "accuracy", "severity")
    print(f"{'classes':>8} {' '.join(f'{head:>17}' for head in heads)} {'answers':>9}")
    for classes in (2, 10, 35, 200, 1000):
        learned = on_learned(classes, 50_000)
        parts = (learned.risk, learned.persistence, learned.look)
        parts += (learned.expected_accuracy, learned.severity)
        shown = " ".join(f"{each.largest:>8.4f} {each.mean:>8.5f}" for each in parts)
        print(f"{classes:>8} {shown} {learned.other_answers:>9.5f}", flush=True)
    print("\nunquantized input, stock coefficients, posterior only:")
    print(f"{'classes':>8} {'largest':>9} {'mean':>9}")
    for classes in (2, 10, 35, 100, 200, 1000):
        found = on_reals(classes, 50_000)
        print(f"{classes:>8} {found.largest:>9.4f} {found.mean:>9.5f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
