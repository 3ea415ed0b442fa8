"""Figures of an alarm on a stream, each with its replicates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.metrics.inputs import Bools, Ints

from ....corruptions.suite import FAULTS
from ..intervals import Drawn, drawn
from ..stretch_figures import EventShare, Mean, Median
from .counting import Scene, events, false_starts

FALSE, RATIO, COLLAPSE = "false per 10,000", "run length ratio", "collapse found"
"""The second is the run length between false alarms over the one asked for, from the rate of all networks."""


def clean_figures(on: Bools, scene: Scene, name: str) -> dict[str, Drawn]:
    """Return what an alarm does in clean time: share of steps under it, and false alarms.

    Parameters
    ----------
    on : array (K, T)
    scene : Scene
    name : str
        Of the stream: rows with the same have the same stretches drawn.
    """
    starts = 10_000.0 * false_starts(on, scene.settled)
    return {
        "clean on": _share(on, ~scene.shifted, name),
        FALSE: _share(starts, scene.settled, name)._replace(exposure=float(scene.settled.sum()) / 10_000),
    }


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
    times = {"shifted on": scene.shifted, "benign on": scene.benign(worse)}
    shares = {column: _share(on, of, name) for column, of in times.items() if of.any()}
    shares |= _collapses(on, scene, name)
    if not kept.any():
        return shares
    stretch = found.stretch[kept]
    known = kept & ~np.isnan(found.clears)
    return {
        "found": _events(np.isfinite(found.delays[kept]), stretch, count, name),
        "already on": _events(found.already[kept], stretch, count, name),
        "delay": drawn(Median(found.delays[kept], stretch, count), count, name),
        "clears": drawn(Median(found.clears[known], found.stretch[known], count), count, name),
        "costly on": _share(on, scene.costly(worse), name),
        **shares,
    }


def _collapses(on: Bools, scene: Scene, name: str) -> dict[str, Drawn]:
    """Return the share of faults of the sensor with the alarm on at some step, if any are shown."""
    faults = [each for each in scene.shifts if each[3].partition("/")[0] in FAULTS]
    if not faults:
        return {}
    seen = np.array([on[stretch, start:stop].any() for stretch, start, stop, _ in faults])
    return {COLLAPSE: _events(seen, np.array([each[0] for each in faults]), len(on), name)}


def _share(values: npt.NDArray[Any], of: Bools, name: str) -> Drawn:
    count, steps = of.shape
    stretch = np.repeat(np.arange(count), steps)
    return drawn(Mean(values.ravel(), stretch, of.ravel()), count, name)


def _events(happened: Bools, stretch: Ints, count: int, name: str) -> Drawn:
    return drawn(EventShare(happened, stretch, count), count, name)._replace(events=float(len(happened)))
