"""A recording of one's own as a task: outputs and gauges in a file that `tcuq fit` reads, with labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tcuq import Log
from tcuq.base.errors import InputError
from tcuq.io import read_log
from tcuq.metrics.inputs import Ints

from ..harness.types import CLEAN, slices
from .draw import CLEAN_DEV, DEV, Shown
from .files import Benchmark, Task, arrays_of, content_digest, posterior_bytes

OWN = "recording"
PARTS, LEAST = 4, 200
"""A log without segments is cut into so many stretches a half; clean ones that are shorter are left out."""


def recording(path: str | Path) -> Benchmark:
    """Return a file as the only task: methods are fitted to its first half and judged on the second."""
    log = read_log(path)
    if log.labels is None or log.shifted is None:
        lacking = "labels" if log.labels is None else "shifted"
        raise InputError("missing", f"{path}: has no {lacking}, expected labels and shifted (0 is clean)")
    stretches = _stretches(log)
    names = (CLEAN, *(f"kind {number}" for number in range(1, int(log.shifted.max()) + 1)))
    first = stretches <= int(stretches[-1]) // 2
    wrong = log.probs.argmax(axis=1) != log.labels
    clean = ~first & (log.shifted == 0)
    errors = {
        name: float(wrong[~first & (log.shifted == at)].mean())
        for at, name in enumerate(names)
        if (~first & (log.shifted == at)).any()
    }
    roles = {DEV: first, CLEAN_DEV: first & (log.shifted == 0), OWN: ~first, CLEAN: clean}
    streams = {}
    for name, where in roles.items():
        streams[name] = _shown(where, log, stretches, still=name in (CLEAN_DEV, CLEAN))
        if not len(streams[name]):
            raise InputError("value", f"{path}: half of it has no {LEAST} clean steps in a row")
    features = None if log.features is None else np.asarray(log.features, np.float32)
    gauges = None if log.gauges is None else np.asarray(log.gauges, np.float32)
    width = 0 if gauges is None else gauges.shape[1]
    task = Task(
        Path(path).stem,
        posterior_bytes(log.probs),
        features,
        gauges,
        1.0,
        ((0.0,) * width, (1.0,) * width),
        log.gauge_names,
        names,
        errors,
        streams,
        {"network": "yours"},
    )
    return Benchmark([task], content_digest(arrays_of(task)))


def _stretches(log: Log) -> Ints:
    """Return the number of the stretch of each step."""
    if log.segments is not None:
        runs = slices(np.asarray(log.segments), len(log))
        return np.repeat(np.arange(len(runs)), [each.stop - each.start for each in runs])
    return np.asarray(np.arange(len(log)) * 2 * PARTS // len(log))


def _shown(where: Any, log: Log, stretches: Ints, still: bool) -> Shown:
    """Return the steps at some places as a stream; runs of clean steps are stretches of their own."""
    rows = np.flatnonzero(where)
    begins = np.diff(stretches[rows], prepend=-1) != 0
    if still:
        begins |= np.diff(rows, prepend=-2) != 1
    number = np.cumsum(begins) - 1
    if still:
        kept = np.isin(number, np.flatnonzero(np.bincount(number) >= LEAST)) if len(rows) else begins
        rows, number = rows[kept], np.unique(number[kept], return_inverse=True)[1]
    assert log.labels is not None and log.shifted is not None
    labels, sources = (np.asarray(each, np.int64)[rows] for each in (log.labels, log.shifted))
    return Shown(rows, labels, sources, np.asarray(number - (number[0] if len(number) else 0)))
