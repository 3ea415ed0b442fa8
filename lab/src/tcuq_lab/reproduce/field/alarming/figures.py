"""Figures of an alarm on a stream, each with its replicates."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.metrics.inputs import Bools

from ..intervals import REPLICATES, Drawn, Mean, Median, drawn
from .counting import Scene, events, false_starts
from .limits import RUN_LENGTH

FALSE, RATIO = "false per 10,000", "run length ratio"
NETWORKS = 5
"""Whose means are taken: the half event that a Jeffreys interval of a Poisson rate adds is shared by them."""


def clean_figures(on: Bools, scene: Scene, name: str, row: str) -> dict[str, Drawn]:
    """Return what an alarm does in clean time: share of steps under it, false alarms, their run length.

    Parameters
    ----------
    on : array (K, T)
    scene : Scene
    name : str
        Of the stream: rows with the same have the same stretches drawn.
    row : str
        Seeds the draws of counts.
    """
    count, steps = int(false_starts(on, scene.settled).sum()), int(scene.settled.sum())
    return {"clean on": _share(on, ~scene.shifted, name), **_counted(count, steps, f"{name} {row}")}


def shift_figures(on: Bools, scene: Scene, worse: Sequence[str], name: str) -> dict[str, Drawn]:
    """Return what an alarm does at shifts, mostly at those that cost accuracy.

    Parameters
    ----------
    on : array (K, T)
    scene : Scene
    worse : sequence of str
        Sources that cost accuracy.
    name : str
    """
    found, count = events(on, scene), len(on)
    kept = np.isin(np.array(found.sources, dtype=np.str_), worse)
    if not kept.any():
        return {"shifted on": _share(on, scene.shifted, name)}
    starts = [start for (_, start, _, _), keep in zip(scene.shifts, kept, strict=True) if keep]
    stretch = found.stretch[kept]
    at = np.zeros(on.shape, dtype=bool)
    at[stretch, starts] = True
    hit, already = np.zeros(on.shape), np.zeros(on.shape)
    hit[stretch, starts] = np.isfinite(found.delays[kept])
    already[stretch, starts] = found.already[kept]
    known = kept & ~np.isnan(found.clears)
    return {
        "found": _share(hit, at, name),
        "already on": _share(already, at, name),
        "delay": drawn(Median(found.delays[kept], stretch, count), count, name),
        "clears": drawn(Median(found.clears[known], found.stretch[known], count), count, name),
        "costly on": _share(on, scene.costly(worse), name),
        "shifted on": _share(on, scene.shifted, name),
    }


def _share(values: npt.NDArray[Any], of: Bools, name: str) -> Drawn:
    count, steps = of.shape
    stretch = np.repeat(np.arange(count), steps)
    return drawn(Mean(values.ravel(), stretch, of.ravel()), count, name)


def _counted(count: int, steps: int, seed: str) -> dict[str, Drawn]:
    """Return a rate of false alarms, and the run length it is, over the one asked for.

    Replicates are draws of a gamma distribution, whose percentiles are close to the exact interval of a
    Poisson rate. Without any false alarm the ratio is that of half an alarm.
    """
    rng = np.random.default_rng([18, zlib.crc32(seed.encode())])
    counts = rng.gamma(count + 0.5 / NETWORKS, size=REPLICATES)
    asked = steps / RUN_LENGTH
    return {
        FALSE: Drawn(10_000 * count / steps, (10_000 * counts / steps).astype(np.float32)),
        RATIO: Drawn(asked / max(count, 0.5), (asked / np.maximum(counts, 0.5)).astype(np.float32)),
    }
