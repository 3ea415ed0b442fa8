"""How often intervals hold the truth, on made streams whose truth is known.

``python -m tcuq_lab.experiments.coverage 500`` prints the shares. A made stretch has the structure of those
that are measured: clean and shifted parts by turns, each as hard as its kind is, runs of one class that is
hard or easy as a whole, and two scores that know of this to different degrees. Networks differ; the truth is
the mean over the very networks that are measured, on stretches without end. Tables of the paper have
streams of many stretches in a row, whose blocks are drawn again: those are made by themselves.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from tcuq.metrics import Interval
from tcuq.metrics.inputs import Bools, Floats, Ints

from ..harness.figures import Auroc, Figure, LeftAt, Mean
from ..harness.intervals import difference, drawn, mean
from ..metrics.drops import clean_band
from .drops import Ranking, drops, interval

NETWORKS, STRETCHES, STEPS = 5, 12, 1000
PART, RUN = 125, 16
"""Mean steps of a clean or shifted part, and of a run of one class."""
TRUTH = 1000
"""Stretches of each network from which the truth is taken."""


class Made(NamedTuple):
    """Made stretches of one network: where it is wrong, and two scores."""

    wrong: Bools
    first: Floats
    second: Floats
    segments: Ints


def made(rng: np.random.Generator, network: int, stretches: int, steps: int = STEPS) -> Made:
    """Draw stretches."""
    total = stretches * steps
    segments = np.repeat(np.arange(stretches), steps)
    begins = np.arange(total) % steps == 0  # nothing goes on from one stretch to the next
    part, run = (np.cumsum(begins | (rng.random(total) < 1 / length)) for length in (PART, RUN))
    hard = np.where(rng.random(part.max() + 1) < 0.5, 0.0, rng.exponential(1.5, part.max() + 1))[part]
    of_class = rng.normal(0, 1, run.max() + 1)[run]
    odds = -2.5 + 0.2 * network + hard + of_class
    wrong = rng.random(total) < 1 / (1 + np.exp(-odds))
    shared = rng.normal(0, 1, total)
    first = odds + wrong + shared + rng.normal(0, 0.5, total)
    second = 0.3 * odds + wrong + shared + rng.normal(0, 0.5, total)
    return Made(wrong, first, second, segments)


FIGURES: Mapping[str, Callable[[Made, bool], Figure]] = {
    "mean": lambda made, first: Mean(made.wrong if first else made.first > 0, made.segments),
    "AUROC": lambda made, first: Auroc(made.first if first else made.second, made.wrong, made.segments),
    "errors at 90 %": lambda made, first: LeftAt(
        made.first if first else made.second, made.wrong, made.segments, 0.9
    ),
}
"""Figures of the first score, or of the second."""


def _truths(name: str, networks: int) -> tuple[list[float], list[float]]:
    found: tuple[list[float], list[float]] = ([], [])
    for network in range(networks):
        whole = made(np.random.default_rng([1, network]), network, TRUTH, STEPS)
        whole = whole._replace(segments=np.zeros(len(whole.wrong), np.int64))
        for kept, first in zip(found, (True, False), strict=True):
            kept.append(float(FIGURES[name](whole, first).of(np.ones((1, 1)))[0]))
    return found


def coverage(times: int, networks: int = NETWORKS, replicates: int = 1000) -> dict[str, float]:
    """Return how often the interval of each figure, and of each paired difference, holds the truth."""
    truths = {name: _truths(name, networks) for name in FIGURES}
    held = {text: 0 for name in FIGURES for text in (name, f"difference of {name}")}
    for number in range(times):
        parts = [made(np.random.default_rng([2, number, each]), each, STRETCHES) for each in range(networks)]
        for name, figure in FIGURES.items():
            first, second = (
                [
                    drawn(figure(part, which), STRETCHES, f"{number} {each}", replicates)
                    for each, part in enumerate(parts)
                ]
                for which in (True, False)
            )
            ours, other = (float(np.mean(each)) for each in truths[name])
            held[name] += _holds(mean(first), ours)
            held[f"difference of {name}"] += _holds(difference(first, second), ours - other)
    return {name: count / times for name, count in held.items()}


def _holds(found: Interval, truth: float) -> bool:
    return found.low <= truth <= found.high


STREAMS, LONG, STRETCH = 3, 10_000, 150
"""Streams of a table of the paper, their steps, and mean steps of a clean or shifted stretch."""
DRAWN, TRUTHS = 300, 600
"""Replicates of a table's intervals, and streams from which the truth is taken."""


class Watched(NamedTuple):
    """A made stream of a table: kinds of shift, where the network is right, and two scores."""

    kinds: Ints
    right: Bools
    scores: tuple[Floats, Floats]


def stream(rng: np.random.Generator, steps: int = LONG, shifted: bool = True) -> Watched:
    """Draw a stream whose shifts are as hard as their severity."""
    stretch = np.cumsum(rng.random(steps) < 1 / STRETCH)
    kinds = np.where(np.arange(stretch[-1] + 1) % 2, rng.integers(1, 4, stretch[-1] + 1), 0)
    kind = kinds[stretch] if shifted else np.zeros(steps, np.int64)
    right = rng.random(steps) < 0.92 - 0.12 * kind
    tone = rng.normal(0, 0.05, stretch[-1] + 1)[stretch]  # what a stretch does to every score
    noise = rng.beta(2, 6, steps) + tone
    weaker, stronger = (noise + by * (kind + ~right) + rng.normal(0, 0.05, steps) for by in (0.05, 0.15))
    return Watched(kind, right, (weaker, stronger))


def of_tables(times: int) -> dict[str, float]:
    """Return how often the interval of a difference holds the truth, for each metric of a table."""
    band = clean_band(
        [stream(np.random.default_rng([0, number]), shifted=False).right for number in range(3)]
    )

    def ranked(made: Watched, score: Floats, drop: bool) -> Ranking:
        return drops(score, made.right, band) if drop else Ranking(score, ~made.right, made.kinds == 0)

    def found(seed: int, count: int, measure: str, drop: bool, draws: int) -> Interval:
        rng = np.random.default_rng([seed])
        shown = [stream(rng) for _ in range(count)]
        rows = [[ranked(each, each.scores[at], drop) for each in shown] for at in range(2)]
        return interval(rows, measure, [each.kinds for each in shown], np.random.default_rng(seed), draws)

    asked = (("drop AUPRC", "auprc", True), ("drop AUROC", "auroc", True), ("clean errors", "auroc", False))
    shares = {}
    for name, measure, drop in asked:
        truth = found(1, TRUTHS, measure, drop, 1).estimate
        held = [_holds(found(1000 + each, STREAMS, measure, drop, DRAWN), truth) for each in range(times)]
        shares[name] = sum(held) / times
    return shares


def main(times: int = 2000) -> None:
    """Print the shares, for all networks and for one."""
    for networks in (NETWORKS, 1):
        for name, share in coverage(times, networks).items():
            print(f"{networks} networks of {STRETCHES} stretches, {name:28} {share:.3f}")
    for name, share in of_tables(times).items():
        print(f"{STREAMS} streams of {LONG} steps, difference in {name:20} {share:.3f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
