"""Streams of a made-up classifier as the benchmark has them, small enough for any test."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tcuq_lab.benchmark.files import CLEAN_DEV, DEV, Benchmark, Shown, Task, load, save
from tcuq_lab.harness.types import CLEAN

SOURCES = ("clean", "fog/1", "fog/5")
NOISE = (0.8, 1.0, 3.0)
CLASSES, WIDTH = 3, 4
GAUGES = ("brightness", "contrast")
STEPS, STRETCHES = 120, 5


def made_task(name: str, seed: int, steps: int = STEPS, stretches: int = STRETCHES) -> Task:
    """Return a task whose classes stay for about eight steps; every output is another."""
    rng = np.random.default_rng(seed)
    tables: list[np.ndarray] = []
    streams = {}
    begin = 0
    for stream in (DEV, CLEAN_DEV, "class 1", "class 16", CLEAN):
        still = stream in (CLEAN_DEV, CLEAN)
        count = steps * stretches
        dwell = 1 if stream == "class 1" else 8
        new = rng.random(count) < 1 / dwell
        new[0] = True
        labels = rng.integers(0, CLASSES, count)[np.maximum.accumulate(np.where(new, np.arange(count), 0))]
        third = np.repeat([0, 2, 0, 1], -(-steps // 4))[:steps]
        sources = np.zeros(count, int) if still else np.tile(third, stretches)
        logits = 3.0 * np.eye(CLASSES)[labels]
        logits += rng.normal(0, 1, (count, CLASSES)) * np.array(NOISE)[sources][:, None]
        probs = np.exp(logits - logits.max(axis=1, keepdims=True))
        probs /= probs.sum(axis=1, keepdims=True)
        features = np.abs(rng.normal(0, 20, (count, WIDTH))) + 30 * sources[:, None]
        tables.append(
            np.concatenate([np.minimum(255, np.rint(256 * probs)), np.minimum(255, features)], axis=1)
        )
        numbers = np.repeat(np.arange(stretches), steps)
        streams[stream] = Shown(np.arange(begin, begin + count), labels, sources, numbers)
        begin += count
    table = np.concatenate(tables).astype(np.uint8)
    errors = {"clean": 0.05, "fog/1": 0.08, "fog/5": 0.5}
    gauges = rng.normal(0, 16, (len(table), 2)).astype(np.int16)
    units = ((0.5, -1.0), (0.125, 0.25))
    probs, features = table[:, :CLASSES], table[:, CLASSES:]
    about = {"network": "none"}
    return Task(name, probs, features, gauges, 0.5, units, GAUGES, SOURCES, errors, streams, about)


def made_folder(folder: Path, names: Sequence[str] = ("east", "west"), seed: int = 0) -> Path:
    """Write the streams of tasks, and return the folder."""
    save(folder, [made_task(name, seed + number) for number, name in enumerate(names)], {"command": "none"})
    return folder


def made_benchmark(folder: Path) -> Benchmark:
    """Return the streams of two tasks."""
    return load(made_folder(folder))
