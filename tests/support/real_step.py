"""A step in real numbers: the equations of SPEC.md without a rounding, on posteriors of any kind.

Nothing that a user runs calls this: it shows how far the integers are from what they stand for. `python
tests/support/real_step.py` measures that on random streams, and prints the tables of SPEC.md section 16.
"""

from __future__ import annotations

import sys
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tcuq import EvidenceHead, Monitor, Params
from tcuq.log.quantize import quantize_probs
from tcuq.monitor.heads import InstantHead
from tcuq.monitor.signals import FEATURE_BASED, LAGGED, SIGNALS, SLOW, profile_signals

Reals = npt.NDArray[np.float64]
LENGTH = 2500
"""Steps with one set of parameters."""


class RealSteps(NamedTuple):
    """What the equations give, an array a field; `leans_on` is what risk leans on beside the uncertainty."""

    signals: Reals
    leans_on: Reals
    answer: npt.NDArray[np.int64]
    persistence: Reals
    novelty: Reals
    degradation: Reals
    frozen: npt.NDArray[np.bool_]
    uncertainty: Reals
    risk: Reals
    expected_accuracy: Reals


class Mixture:
    """The six experts of section 6, those of a monitor without an alarm."""

    def __init__(self, classes: int) -> None:
        self.even = np.full(classes, 65536 // classes / 65536)
        self.old = [self.even] * 6  # the first stays; the last is the class mix
        self.deficits = np.zeros(6)

    def step(self, p: Reals) -> tuple[Reals, float]:
        """Return the mixed belief after a posterior, and the persistence."""
        likelihood = p + max(1, 164 // len(p)) / (64 * 256)
        after, totals = [], []
        for shift, old in zip((0, 1, 2, 4, 7, 6), self.old, strict=True):
            redrawn = (65536 >> shift) // len(p) if shift < 7 else (65536 // len(p) + 127) >> 7
            joint = (old * (1 - 2.0**-shift) + redrawn / 65536) * likelihood
            totals.append(joint.sum())
            after.append(joint / totals[-1])
        self.old = [self.even, *after[1:5], self.old[5] + (after[5] - self.old[5]) / 32]
        forgotten = self.deficits * 251 / 256
        behind = forgotten + np.array([5, 5, 5, 5, 5, 0])  # without an alarm the class mix counts 32 times
        behind -= behind.min()
        weights = np.where(behind < 15, 2.0**-behind, 0.0) + 1 / 16384
        weights /= weights.sum()
        gains = np.log2(totals) - forgotten
        self.deficits = np.minimum(65535 / 2048, gains.max() - gains)
        weights[0], weights[5] = weights[0] + weights[5], 0  # it has no say of its own
        return np.asarray(weights @ np.array(after)), float(weights @ [0, 1, 2, 4, 6, 0]) / 6


def entropies(p: Reals) -> Reals:
    """Return the sum of p * log2(p) of each row."""
    return np.asarray((p * np.log2(np.where(p > 0, p, 1.0))).sum(axis=1))


def divergences(u: Reals, v: Reals) -> Reals:
    """Return Jensen-Shannon divergences in bits; the mass that a row has lost is one more class."""
    mass = (np.maximum(1, u.sum(axis=1)) + np.maximum(1, v.sum(axis=1))) / 2
    u, v = (np.column_stack([p, np.maximum(0, 1 - p.sum(axis=1))]) for p in (u, v))
    return np.asarray(np.clip(((entropies(u) + entropies(v)) / 2 - entropies((u + v) / 2)) / mass, 0, 1))


def half_distances(a: Reals, b: Reals) -> Reals:
    """Return (1 - cosine) / 2, row by row; 0 for two zero vectors, 1/2 for one."""
    sizes = np.linalg.norm(a, axis=1), np.linalg.norm(b, axis=1)
    product = sizes[0] * sizes[1]
    cosine = np.divide((a * b).sum(axis=1), product, out=np.zeros(len(a)), where=product > 0)
    return np.where((sizes[0] == 0) & (sizes[1] == 0), 0.0, (1 - np.clip(cosine, -1, 1)) / 2)


def log_odds(against: Reals) -> Reals:
    """Return log-odds of a probability against a class: a half at even odds, 1/16 a factor of two."""
    return np.asarray(np.clip(0.5 + np.log2((against + 1 / 512) / (1 - against + 1 / 512)) / 16, 0, 1))


def lengths(x: Reals) -> Reals:
    """Return the squared length of each row as magnitude, distance and drift have it."""
    return np.asarray(np.log2(np.square(x).sum(axis=1) + 1) / 24)


def blocks(x: Reals) -> Reals:
    """Return the sums of eight blocks of neighboring columns."""
    ends = [j * x.shape[1] // 8 for j in range(9)]
    return np.stack([x[:, start:end].sum(axis=1) for start, end in pairwise(ends)], axis=1)


def lagged(params: Params, p: Reals, x: Reals, predictions: npt.NDArray[np.int64]) -> dict[str, Reals]:
    """Return the signals that look back: means over the lags that are filled."""
    found = {}
    for name in set(params.signals) & set(LAGGED):
        total, weight = np.zeros(len(p)), np.zeros(len(p))
        for lag, share in zip(params.lags, params.lag_weights, strict=True):
            now, past = slice(lag, None), slice(None, max(0, len(p) - lag))
            if name == "divergence":
                value = divergences(p[now], p[past])
            elif name == "instability":
                share, value = 1.0, half_distances(x[now], x[past])
            else:
                share, value = 1.0, (predictions[now] != predictions[past]).astype(np.float64)
            total[now] += share * value
            weight[now] += share
        missing = np.full(len(p), params.clean_means[name])
        found[name] = np.divide(total, weight, out=missing, where=weight > 0)
    return found


def real_steps(
    params: Params, probs: npt.NDArray[np.int8], features: npt.NDArray[np.int8] | None = None
) -> RealSteps:
    """Return what the equations give on the real numbers that int8 values stand for."""
    p = (probs.astype(np.float64) + 128) / 256
    zeros = np.zeros((len(p), 1))
    return exact(params, p, zeros if features is None else features - float(params.feature_zero_point))


def exact(params: Params, p: Reals, x: Reals) -> RealSteps:
    """Return the same on posteriors and features that were never quantized, one uninterrupted stream."""
    rows, predictions = np.arange(len(p)), p.argmax(axis=1)
    belief, persistence = p, np.zeros(len(p))
    if params.instant is not None:
        mixture = Mixture(params.classes)
        mixed = [mixture.step(row) for row in p]
        belief, persistence = np.array([each for each, _ in mixed]), np.array([each for _, each in mixed])
    answers = belief.argmax(axis=1) if params.about == "answer" else predictions
    value = lagged(params, p, x, predictions)
    second, top = np.sort(p, axis=1)[:, -2:].T
    value["doubt"] = params.doubt_mix * (1 - top) + (1 - params.doubt_mix) * (1 - (top - second))
    value["odds"] = log_odds(1 - p[rows, answers])
    value["disbelief"], value["magnitude"] = log_odds(1 - belief[rows, answers]), lengths(x)
    gaps = x
    if params.centers is not None:
        gaps = x - (np.array(params.centers, dtype=np.float64) - params.feature_zero_point)[answers]
        value["distance"] = lengths(gaps)
    slow = np.zeros((3, len(p)))
    if params.evidence is not None:
        slow = by_looks(params, params.evidence, value, x, gaps, answers)
    signals = np.zeros((len(p), len(SIGNALS)))
    for name in params.signals:
        signals[:, SIGNALS.index(name)] = value[name]
    leans_on = (p if params.anchor == "confidence" else belief)[rows, answers]
    found = (signals, leans_on, answers, persistence, slow[0], slow[1], slow[2] > 0)
    return weighed(params, RealSteps(*found, leans_on, leans_on, leans_on))


def by_looks(
    params: Params,
    head: EvidenceHead,
    value: dict[str, Reals],
    x: Reals,
    gaps: Reals,
    answers: npt.NDArray[np.int64],
) -> Reals:
    """Return novelty, degradation and whether the input stands still; adds the slow signals."""
    wide = "distance" in params.signals
    moved = np.square(np.diff(blocks(x) if wide else 65536 * value["odds"][:, None], axis=0)).sum(axis=1)
    novelty = np.concatenate([[1.0], np.clip(moved / (head.reach // 256 * 256), 1 / 8, 1)])
    short = np.where(novelty == 1, 0, head.reach.bit_length() - np.frexp(np.floor([0, *moved]))[1])
    frozen = (means(short[:, None], np.full(len(novelty), 1 / 16))[:, 0] > head.frozen) & (head.frozen > 0)
    used = [name for name in params.signals if name not in SLOW]
    evidence = np.array(head.offsets)[answers] + sum(head.coef.get(name, 0.0) * value[name] for name in used)
    evidence = np.where(frozen, head.clip, np.clip(evidence, -head.clip, head.clip))
    novelty = np.where(frozen, 1.0, novelty)
    degradation = means(evidence[:, None], novelty / 8)[:, 0]
    value["degradation"] = np.clip(0.5 + degradation / 16, 0, 1)
    if wide:
        value["drift"] = lengths(np.minimum(np.abs(means(blocks(gaps), novelty / 8)) * 4, 16383))
    return np.stack([novelty, degradation, frozen])


def means(values: Reals, rates: Reals) -> Reals:
    """Return the slow means of columns from 0 on."""
    out, mean = np.empty(values.shape), np.zeros(values.shape[1])
    for t, rate in enumerate(rates.tolist()):
        out[t] = mean = mean + rate * (values[t] - mean)
    return out


def weighed(params: Params, found: RealSteps) -> RealSteps:
    """Return steps with what follows from their signals and heads: uncertainty, risk, expected accuracy."""

    def head(coef: Any, bias: float) -> Reals:
        return np.asarray(bias + found.signals @ [coef.get(name, 0.0) for name in SIGNALS])

    z = head(params.coef, params.bias)
    if params.instant is not None:
        alone = head(params.instant.coef, params.instant.bias)
        z = alone + found.persistence * (z - alone)
    uncertainty = 1 / (1 + np.exp(-np.clip(z, -700, 700)))
    uncertainty = np.where(found.frozen, np.maximum(uncertainty, 1 - 1 / params.classes), uncertainty)
    risk = params.blend * uncertainty + (1 - params.blend) * (1 - found.leans_on)
    expected, mean = np.full(len(risk), np.nan), params.expected_start
    for t, unsure in enumerate(uncertainty.tolist() if params.horizon else ()):
        expected[t] = mean = mean + (1 - unsure - mean) / params.horizon
    return found._replace(uncertainty=uncertainty, risk=risk, expected_accuracy=expected)


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
    """Return parameters from the whole allowed range, of signals that no belief and no slow mean moves."""
    features = int(rng.choice([0, 1, 4, 16, 32, 64, 256]))
    count = int(rng.integers(1, 6))
    lags = tuple(int(lag) for lag in rng.choice(np.arange(1, 65), count, replace=False))
    signals = profile_signals("paper", features)
    if rng.integers(2):
        usable = [name for name in SIGNALS if features or name not in FEATURE_BASED]
        signals = tuple(name for name in usable if name not in (*SLOW, "disbelief", "distance"))
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


def fitted_params(classes: int, features: int, rng: np.random.Generator) -> Params:
    """Return the kind of parameters that a fit gives: log-odds in, a probability out."""
    signals = ("odds", "degradation", "magnitude", "distance", "disbelief", "drift")
    head = {"odds": rng.uniform(0, 4), "degradation": rng.uniform(-1, 1), "magnitude": rng.uniform(-1, 1)}
    return Params(
        classes=classes,
        features=features,
        signals=signals,
        lags=(),
        coef={**head, "disbelief": rng.uniform(7, 11), "distance": rng.uniform(0, 2)},
        bias=-6.0,
        clean_means=dict.fromkeys(signals, 0.3),
        blend=float(rng.random()),
        anchor="belief",
        about="answer",
        centers=tuple(tuple(row) for row in rng.integers(-60, 60, (classes, features)).tolist()),
        instant=InstantHead({**head, "odds": rng.uniform(9, 11), "distance": rng.uniform(0, 2)}, -6.0),
        evidence=EvidenceHead(
            {"odds": 4.0, "distance": 2.0}, rng.normal(-2, 0.3, classes).tolist(), 4.0, reach=50_000
        ),
        horizon=256,
        expected_start=0.9,
    )


def on_integers(steps: int, seed: int = 0) -> Reals:
    """Return the gaps of the risk on the same bytes, posteriors of any sum included."""
    rng, gaps = np.random.default_rng(seed), []
    for _ in range(0, steps, LENGTH):
        classes = int(2 ** rng.uniform(1, np.log2(1000)))
        params = random_params(rng, classes)
        probs, raw = random_stream(LENGTH, classes, params.features, params.feature_zero_point, rng)
        ints = quantize_probs(probs)
        if rng.random() < 0.15:
            ints = rng.integers(-128, 128, ints.shape).astype(np.int8)
        real = real_steps(params, ints, raw)
        # A bias with which the logistic works in its steep part, where differences show.
        z = real.signals @ [params.coef.get(name, 0.0) for name in SIGNALS]
        params = params.replace(bias=float(np.clip(-np.median(z), -256, 256)))
        gaps.append(np.abs(Monitor(params).run(ints, raw)["risk"] - weighed(params, real).risk))
    return np.concatenate(gaps)


def on_learned(classes: int, steps: int, seed: int = 0) -> tuple[dict[str, Reals], float]:
    """Return gaps of what is learned of a stream on the same bytes, and the share of other answers.

    The risk is compared where both give the same answer.
    """
    rng, other = np.random.default_rng(seed), 0
    gaps: dict[str, list[Any]] = {
        name: [] for name in ("risk", "persistence", "novelty", "expected_accuracy", "degradation")
    }
    for _ in range(0, steps, LENGTH):
        params = fitted_params(classes, 8, rng)
        probs, raw = random_stream(LENGTH, classes, 8, 0, rng)
        ints = quantize_probs(probs)
        real, found = real_steps(params, ints, raw), Monitor(params).run(ints, raw)
        same = found["answer"] == real.answer
        for name, kept in gaps.items():
            gap = np.abs(found[name] - getattr(real, name))
            kept.append(gap[same] if name == "risk" else gap)
        other += int((~same).sum())
    return {name: np.concatenate(kept) for name, kept in gaps.items()}, other / steps


def on_reals(classes: int, steps: int, seed: int = 0) -> Reals:
    """Return the gaps of the risk on posteriors that were never quantized, with stock coefficients."""
    rng, gaps = np.random.default_rng(seed), []
    params = Params(classes=classes, signals=profile_signals("paper", 0))
    for _ in range(0, steps, LENGTH):
        probs, _ = random_stream(LENGTH, classes, 0, 0, rng)
        real = exact(params, probs, np.zeros((LENGTH, 1)))
        gaps.append(np.abs(Monitor(params).run(probs)["risk"] - real.risk))
    return np.concatenate(gaps)


def main() -> int:
    """Print the tables: largest and mean gap."""
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    gaps = on_integers(steps)
    print(f"same bytes, {len(gaps):,} steps: risk, largest {gaps.max():.5f}, mean {gaps.mean():.6f}")
    for classes in (2, 10, 35, 200, 1000):
        found, other = on_learned(classes, 50_000)
        shown = ", ".join(f"{name} {gap.max():.4f} {gap.mean():.5f}" for name, gap in found.items())
        print(f"learned, {classes} classes: {shown}, other answers {other:.5f}", flush=True)
    for classes in (2, 10, 35, 100, 200, 1000):
        gaps = on_reals(classes, 50_000)
        print(f"never quantized, {classes} classes: risk {gaps.max():.4f} {gaps.mean():.5f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
