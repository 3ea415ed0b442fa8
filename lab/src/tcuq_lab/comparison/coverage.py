"""How often the interval of a paired difference holds the truth, on made streams whose truth is known.

``python -m tcuq_lab.comparison.coverage 400`` prints the shares. A made stream has clean and shifted
stretches by turns, each shifted one as hard as its severity, and two methods that notice this to different
degrees.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np

from ..metrics.drops import Truth
from .answers import JudgedStream, Scores
from .paired import interval

STREAMS, STEPS, STRETCH = 3, 10_000, 150
NAMES = ("clean", "mild", "middle", "hard")
METHODS = {"BASE": 0.05, "OTHER": 0.15}
METRICS = {
    "drop_auprc": "own/smoothed/all",
    "drop_auroc": "own/smoothed/all",
    "clean_failure_auroc": "own/plain/all",
}
"""Metrics that are simulated, each in a variant."""


def made(name: str, steps: int, rng: np.random.Generator, shifted: bool = True) -> JudgedStream:
    """Draw a stream."""
    stretch = np.cumsum(rng.random(steps) < 1 / STRETCH)
    kinds = np.where(np.arange(stretch[-1] + 1) % 2, rng.integers(1, len(NAMES), stretch[-1] + 1), 0)
    kind = kinds[stretch] if shifted else np.zeros(steps, np.int64)
    labels = rng.integers(0, 5, steps)
    right = rng.random(steps) < 0.92 - 0.12 * kind
    guess = np.where(right, labels, (labels + 1) % 5)
    tone = rng.normal(0, 0.05, stretch[-1] + 1)[stretch]  # what a stretch does to every score
    noise = rng.beta(2, 6, steps)
    answers = tuple(
        Scores(method, noise + tone + strength * (kind + ~right) + rng.normal(0, 0.05, steps), guess)
        for method, strength in METHODS.items()
    )
    return JudgedStream(name, Truth(labels, kind, names=NAMES), answers)


def _streams(seed: int, count: int, steps: int) -> list[JudgedStream]:
    rng = np.random.default_rng([seed])
    return [made(f"{number}", steps, rng) for number in range(count)]


def coverage(times: int, replicates: int = 300, truths: int = 60) -> Iterator[tuple[str, float]]:
    """Give each metric with the share of simulated cases whose interval holds the difference."""
    clean = [made("clean", STEPS, np.random.default_rng([0, number]), shifted=False) for number in range(3)]
    pair = tuple(METHODS)
    for metric, variant in METRICS.items():
        rng = np.random.default_rng(0)
        whole = interval(_streams(1, truths, STEPS), clean, pair, metric, variant, rng, replicates=1)
        held = 0
        for number in range(times):
            tests = _streams(1000 + number, STREAMS, STEPS)
            rng = np.random.default_rng(number)
            found = interval(tests, clean, pair, metric, variant, rng, replicates=replicates)
            held += found["low"] <= whole["value"] <= found["high"]
        yield metric, held / times


def main(times: int = 400) -> None:
    """Print the shares."""
    for metric, share in coverage(times, truths=600):
        print(f"{STREAMS} streams of {STEPS} steps, difference in {metric:20} {share:.3f} of {times} cases")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
