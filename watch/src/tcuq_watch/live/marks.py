"""A log with labels, made of what was received and what was marked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tcuq.base.errors import InputError
from tcuq.log.log import NO_LABEL, Log

from ..engine.events import joined
from ..engine.marks import RIGHT
from ..fleet.fleet import Fleet


def labeled_log(folder: str | Path, first: int = 0, last: int | None = None) -> tuple[Log, int]:
    """Return the steps of a session with the labels that people or the device gave, and the number of marks.

    The label of a step is that of its mark, else the one that the device sent, else there is none. A step
    that was wrong and whose true class nobody told has the label -1: every answer on it is an error.
    """
    with Fleet.open_read(folder) as fleet:
        [model] = fleet.models.values()
        parts = [part for part in fleet.decisions() if part.probs is not None]
        marks, params, names = fleet.store.marks(), model.params, fleet.about.get("names")
        total = int(model.tallies.devices["steps"].sum())
    kept = joined(parts) if parts else None
    begin = total - (0 if kept is None else len(kept))  # older ones were dropped with their files
    last = total - 1 if last is None else min(last, total - 1)
    wanted = slice(max(first - begin, 0), max(last + 1 - begin, 0))
    if kept is None or wanted.start >= wanted.stop:
        raise InputError("missing", f"{folder}: holds no received posteriors in steps {first} to {last}")
    assert kept.probs is not None and kept.labels is not None and kept.resets is not None
    labels = np.where(kept.labels >= 0, kept.labels, NO_LABEL).astype(np.int64)
    marked = [number for number in marks if max(first, begin) <= number <= last]
    for number in marked:
        right = marks[number] == RIGHT
        labels[number - begin] = kept.steps["answer"][number - begin] if right else marks[number]
    more: dict[str, Any] = {"segments": np.cumsum(kept.resets)[wanted], "names": params.names or names}
    if kept.features is not None:
        more |= {"feature_scale": params.feature_scale, "feature_zero_point": params.feature_zero_point}
        more["features"] = kept.features[wanted]
    if kept.gauges is not None and params.sight is not None and np.isfinite(kept.gauges[wanted]).all():
        more |= {"gauges": kept.gauges[wanted], "gauge_names": params.sight.gauges}
    given = labels[wanted]
    return Log(kept.probs[wanted], labels=None if (given == NO_LABEL).all() else given, **more), len(marked)
