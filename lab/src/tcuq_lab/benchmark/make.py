"""Making the stream files from recorded outputs of networks; the only part that needs datasets.

Version 2 shows the mixed family and recordings in their own order, and has a development stream and a clean
log of the same kind, as users have them. Features are means of neighbors, 16 a step: with all of them, files
would be three times as large. The eight sums of neighbors that the core compares stay what they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.log.quantize import quantize_probs

from ..harness.laws import (
    CLEAN_OF,
    CLEAN_TEST,
    FAMILY,
    MIXED_CLEAN,
    NETWORKS,
    SMALL,
    TRIAL,
    UnitPlan,
    fit_shown,
    sizes_of,
)
from ..harness.types import CLEAN
from ..home import versions
from ..reproduce.recordings import Recordings
from ..reproduce.units import Unit
from ..reproduce.versions import RECORDING
from .files import CLEAN_DEV, DEV, Shown, Task

SEED = 0
TASKS = tuple(task for task in NETWORKS if task not in SMALL)
TEST_STRETCHES, STEPS = 4, 1600
"""Of each test stream, clean ones included; a shift that lasts begins after 500 steps or more."""
DEV_STRETCHES, CLEAN_DEV_STRETCHES, DEV_STEPS = 4, 2, 2000
WIDTH, LEVELS = 16, 127
"""Features of a step, and their largest value as int8 holds it after a ReLU."""
EDITION = 2
LICENSE = (
    "Outputs of networks, class numbers and names of corruption types, under the license of the repository "
    "(MIT). No pictures and no sound of the datasets."
)
Progress = Callable[[int, int, str], None]


def wanted(plan: UnitPlan) -> dict[str, tuple[str, int, int]]:
    """Return the streams of a task: role in the plan, stretches, steps of each."""
    mixed = [law for law in plan.laws if law in FAMILY and law != MIXED_CLEAN]
    laws = mixed or plan.laws
    dev = plan.fitted_on(laws[0], fit_shown(laws[0]))
    clean = f"test {MIXED_CLEAN}" if mixed else CLEAN_TEST
    return {
        DEV: (dev, DEV_STRETCHES, DEV_STEPS),
        CLEAN_DEV: (CLEAN_OF[dev], CLEAN_DEV_STRETCHES, DEV_STEPS),
        **{law: (f"test {law}", TEST_STRETCHES, STEPS) for law in laws},
        CLEAN: (clean, TEST_STRETCHES, STEPS),
    }


def made(task: str, recordings: Recordings, progress: Progress | None = None) -> Task:
    """Return the streams of a task, from recorded outputs of the plain network of seed 0.

    The first steps of stretches of the experiments are taken, so that no other recording is needed. A trial
    has as many stretches, which are shorter.
    """
    sizes = sizes_of(recordings.setting.name)
    if sizes == TRIAL:
        sizes = replace(sizes, mixed_dev=DEV_STRETCHES, mixed_test=TEST_STRETCHES, more_test=TEST_STRETCHES)
    plan = UnitPlan(task, SEED, sizes, recordings.setting.severities)
    return of_unit(Unit(plan, recordings), wanted(plan), recordings.setting.name, progress)


def of_unit(
    unit: Unit,
    wanted: Mapping[str, tuple[str, int, int]],
    setting: str,
    progress: Progress | None = None,
) -> Task:
    """Return the streams of a network; see `made` and `wanted`."""
    names, streams = ["clean"], {}
    outputs: list[tuple[npt.NDArray[Any], npt.NDArray[Any]]] = []
    for done, (name, (role, stretches, steps)) in enumerate(wanted.items()):
        if progress is not None:
            progress(done, len(wanted), f"{unit.task} {name}")
        truth, seen = unit.truth(role), unit.outputs(role)
        if seen.features is None:
            raise ValueError(f"{unit.plan.network} has no features of {role}, expected recorded ones")
        starts = np.searchsorted(truth.stretches, truth.stretches)
        kept = (truth.stretches < stretches) & (np.arange(len(truth)) - starts < steps)
        names += [each for each in truth.names if each not in names]
        places = np.array([names.index(each) for each in truth.names])
        labels, numbers = truth.labels[kept], truth.stretches[kept]
        outputs.append((seen.probs[kept], neighbor_means(seen.features[kept])))
        # Rows of outputs come below, when all streams are there.
        streams[name] = Shown(np.arange(len(labels)), labels, places[truth.sources[kept]], numbers)
    scale = feature_scale([features for _, features in outputs[:2]])
    bytes_ = [
        np.concatenate([posterior_bytes(probs), feature_bytes(features, scale)], axis=1)
        for probs, features in outputs
    ]
    table, rows = distinct(np.concatenate(bytes_))
    ends = np.cumsum([len(each) for each in bytes_])[:-1]
    classes = outputs[0][0].shape[1]
    return Task(
        unit.task,
        table[:, :classes],
        table[:, classes:],
        scale,
        tuple(names),
        {name: round(rate, 6) for name, rate in unit.error_rates(f"test {unit.plan.laws[0]}").items()},
        {
            name: Shown(each, shown.labels, shown.sources, shown.stretches)
            for each, (name, shown) in zip(np.split(rows, ends), streams.items(), strict=True)
        },
        {"network": unit.plan.network, "setting": setting, "recording": RECORDING},
    )


def distinct(rows: npt.NDArray[np.uint8]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """Return different rows in the order of their first appearance, and which of them each row is.

    Clean examples come again and again: this takes a third off the files.
    """
    whole = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.shape[1]))).ravel()
    _, first, inverse = np.unique(whole, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return rows[first[order]], rank[np.asarray(inverse).ravel()]


def posterior_bytes(probs: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Return posteriors as an int8 softmax leaves them, plus 128."""
    return (quantize_probs(probs).astype(np.int16) + 128).astype(np.uint8)


def neighbor_means(features: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return the means of `WIDTH` groups of neighboring features; as they are where there are no more."""
    width = features.shape[1]
    starts = np.arange(min(WIDTH, width)) * width // min(WIDTH, width)
    sums = np.add.reduceat(features.astype(np.float64), starts, axis=1)
    return np.asarray(sums / np.diff([*starts, width]))


def feature_scale(dev: list[npt.NDArray[Any]]) -> float:
    """Return what one of `LEVELS` units is worth: so many are the largest feature of development data."""
    largest = max(float(each.max()) for each in dev)
    least = min(float(each.min()) for each in dev)
    if least < 0 or largest <= 0:
        raise ValueError(
            f"features reach from {least:g} to {largest:g}, expected from 0 to above it (a ReLU)"
        )
    return largest / LEVELS


def feature_bytes(features: npt.NDArray[Any], scale: float) -> npt.NDArray[np.uint8]:
    """Return features in units of a scale; test features beyond its range stay at its end."""
    return np.clip(np.rint(features / scale), 0, LEVELS).astype(np.uint8)


def about(setting: str, tasks: Sequence[Task]) -> dict[str, Any]:
    """Return what the list of files says of how they were made."""
    return {
        "edition": EDITION,
        "license": LICENSE,
        "command": f"tcuq-lab bench --make --setting {setting}",
        "networks": {task.name: task.about["network"] for task in tasks},
        "versions": versions(),
    }
