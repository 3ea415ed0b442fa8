"""Two-sample statistics between a window of the last steps and clean development data.

Before a run has filled its window, clean values stand in for the steps that are missing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tcuq.metrics.inputs import Floats

from .scores import Centers

EVERY = 5
"""Steps between two looks of the tests on vectors: they add two steps to a delay, on average."""
FREQUENCIES = 128
"""Random Fourier features, half of them sines, that stand for the Gaussian kernel."""
COMPONENTS = 8
"""Principal components that a classifier reads."""
SAMPLE = 128
"""Clean vectors that a classifier tells a window from."""
NEWTON = 4
RIDGE = 1.0

Vectors = npt.NDArray[np.float64]


def kolmogorov_smirnov(rank: Floats, window: int, two_sided: bool = False) -> Floats:
    """Return how far the distribution of the last scores lies above the clean one."""
    runs, steps = rank.shape
    even = (np.arange(window - 1) + 0.5) / max(1, window - 1)
    order = np.random.default_rng(0).permutation(window - 1)
    padded = np.concatenate([np.broadcast_to(even[order], (runs, window - 1)), rank], axis=1)
    places = np.arange(window) / window
    found = np.empty((runs, steps))
    for run in range(runs):
        values = np.sort(np.lib.stride_tricks.sliding_window_view(padded[run], window), axis=1)
        found[run] = (values - places).max(axis=1)
        if two_sided:
            found[run] = np.maximum(found[run], (places + 1 / window - values).max(axis=1))
    return found


class Kernel(NamedTuple):
    """A Gaussian kernel by random features, and the mean of clean vectors under it."""

    center: Vectors
    scale: Vectors
    frequencies: npt.NDArray[np.float32]
    mean: Vectors

    def embedded(self, vectors: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        """Return features whose inner product is close to the kernel, (..., 2 m)."""
        angle = ((vectors - self.center) / self.scale).astype(np.float32) @ self.frequencies
        both = np.concatenate([np.cos(angle), np.sin(angle)], axis=-1)
        return np.asarray(both * np.float32(self.frequencies.shape[1] ** -0.5))


def kernel_of(clean: npt.NDArray[Any]) -> Kernel:
    """Return the kernel whose width is the median distance of clean vectors."""
    rng = np.random.default_rng(1)
    given = np.asarray(clean, dtype=np.float64)
    center, scale = given.mean(axis=0), given.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    some = (given[rng.permutation(len(given))[:300]] - center) / scale
    square = np.square(some).sum(axis=1)
    gaps = np.sqrt(np.maximum(square[:, None] + square - 2 * some @ some.T, 0))
    width = float(np.median(gaps[np.triu_indices(len(some), 1)])) or 1.0
    frequencies = (rng.standard_normal((given.shape[1], FREQUENCIES // 2)) / width).astype(np.float32)
    empty = Kernel(center, scale, frequencies, np.zeros(FREQUENCIES))
    return empty._replace(mean=empty.embedded(given).mean(axis=0, dtype=np.float64))


def discrepancy(vectors: npt.NDArray[Any], kernel: Kernel, window: int) -> Floats:
    """Return the maximum mean discrepancy between the last vectors and clean ones, held between looks."""
    runs, steps, _ = vectors.shape
    found = np.zeros((runs, steps // EVERY))
    stops = np.arange(1, steps // EVERY + 1) * EVERY
    starts = np.maximum(stops - window, 0)
    for run in range(runs):
        total = np.zeros((steps + 1, FREQUENCIES))
        np.cumsum(kernel.embedded(vectors[run]) - kernel.mean, axis=0, out=total[1:])
        apart = (total[stops] - total[starts]) / window
        found[run] = np.sqrt(np.square(apart).sum(axis=1))
    return _held(found, steps, 0.0)


class Principal(NamedTuple):
    """Clean vectors in their principal components."""

    center: Vectors
    axes: Vectors
    sample: Vectors

    def of(self, vectors: npt.NDArray[Any]) -> Vectors:
        """Return vectors in components of clean standard deviation 1."""
        return np.asarray((vectors - self.center) @ self.axes)


def principal_of(clean: npt.NDArray[Any]) -> Principal:
    """Return the components of clean vectors, and some of these vectors."""
    given = np.asarray(clean, dtype=np.float64)
    center = given.mean(axis=0)
    values, axes = np.linalg.eigh(np.cov((given - center).T))
    kept = np.argsort(values)[::-1][:COMPONENTS]
    kept = kept[values[kept] > 1e-12 * values.max()]
    found = Principal(center, axes[:, kept] / np.sqrt(values[kept]), np.empty((0, 0)))
    rows = np.random.default_rng(2).permutation(len(given))[:SAMPLE]
    return found._replace(sample=found.of(given[rows]))


def told_apart(vectors: npt.NDArray[Any], clean: Principal, window: int) -> Floats:
    """Return how well a regression on half of them tells the last vectors from clean ones: its AUROC."""
    runs, steps, _ = vectors.shape
    stops = np.arange(1, steps // EVERY + 1) * EVERY
    found = np.empty((runs, len(stops)))
    sample = _with_one(clean.sample)
    filled = clean.sample[np.arange(window) % len(clean.sample)]
    for run in range(runs):
        rows = _with_one(np.concatenate([filled, clean.of(vectors[run])]))
        windows = rows[stops[:, None] + np.arange(window)]
        halves = [(windows[:, side::2], sample[side::2]) for side in (0, 1)]
        found[run] = (_auroc(halves[0], halves[1]) + _auroc(halves[1], halves[0])) / 2
    return _held(found, steps, 0.5)


def _with_one(rows: Vectors) -> Vectors:
    return np.concatenate([rows, np.ones((len(rows), 1))], axis=1)


def _auroc(taught: tuple[Vectors, Vectors], judged: tuple[Vectors, Vectors]) -> Floats:
    """Return the AUROC on one half of regressions taught on another, one for each window."""
    windows, sample = taught
    count, size, width = windows.shape
    x = np.concatenate([windows, np.broadcast_to(sample, (count, *sample.shape))], axis=1)
    y = np.concatenate([np.ones(size), np.zeros(len(sample))])
    each = np.concatenate([np.full(size, 0.5 / size), np.full(len(sample), 0.5 / len(sample))]) * len(y)
    ridge = RIDGE * np.eye(width)
    ridge[-1, -1] = 1e-3
    coef = np.zeros((count, width))
    for _ in range(NEWTON):
        odds = np.clip((x @ coef[:, :, None])[:, :, 0], -15, 15)
        p = 1 / (1 + np.exp(-odds))
        gradient = ((each * (p - y))[:, None, :] @ x)[:, 0] + coef @ ridge
        turned = (x * (each * p * (1 - p))[:, :, None]).transpose(0, 2, 1)
        coef = coef - np.linalg.solve(turned @ x + ridge, gradient[:, :, None])[:, :, 0]
    above = (judged[0] @ coef[:, :, None])[:, :, 0]
    below = coef @ judged[1].T
    return np.asarray((above[:, :, None] > below[:, None, :]).mean(axis=(1, 2)))


def _held(found: Floats, steps: int, first: float) -> Floats:
    """Return a value a step from those of looks, each at the last of `EVERY` steps; `first` before them."""
    runs = len(found)
    held = np.repeat(np.concatenate([np.full((runs, 1), first), found], axis=1), EVERY, axis=1)
    return np.asarray(held[:, 1 : steps + 1])


def hotelling(vectors: npt.NDArray[Any], clean: Centers, window: int) -> Floats:
    """Return Hotelling's T2 of the mean of the last vectors, (K, T); clean means stand in before a run."""
    runs, steps, width = vectors.shape
    total = np.zeros((runs, steps + 1, width))
    np.cumsum((vectors - clean.means[0]) @ clean.whitens, axis=1, out=total[:, 1:])
    ends = np.arange(1, steps + 1)
    apart = total[:, ends] - total[:, np.maximum(ends - window, 0)]
    return np.asarray(np.square(apart).sum(axis=2) / window)
