"""A log with labels, made of what was received and what was marked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tcuq.base.errors import InputError
from tcuq.monitor.log import Log

from ..engine.events import joined
from ..fleet.fleet import Fleet


def labeled_log(folder: str | Path, first: int = 0, last: int | None = None) -> tuple[Log, int]:
    """Return the steps of a session with a label each, and how many of them were marked.

    The label of a step is that of its mark, else the one that the device sent, else the answer: a step that
    you looked at and did not mark was right. Choose `first` and `last` so that this holds. A step that was
    wrong and whose true class nobody told has the label -1: every answer on it is an error.

    Parameters
    ----------
    folder : path
        Of the session.
    first, last : int
        Numbers of steps; to the end by default.

    Returns
    -------
    tuple of Log and int
        The log has `feature_scale` and `feature_zero_point` where there are features.
    """
    with Fleet.open_read(folder) as fleet:
        [model] = fleet.models.values()
        parts = [each for each in fleet.decisions() if each.probs is not None]
        marks, params = fleet.store.marks(), model.params
        names = params.names or fleet.about.get("names")
        total = int(model.tallies.devices["steps"].sum())
    end = f"steps {first} to {last if last is not None else 'the end'}"
    if not parts:
        raise InputError("missing", f"{folder}: holds no received posteriors in {end}")
    kept = joined(parts)
    numbers = np.arange(total - len(kept), total)  # older ones were dropped with their files
    wanted = (numbers >= first) & (numbers <= (total if last is None else last))
    if not wanted.any():
        raise InputError("missing", f"{folder}: holds no received posteriors in {end}")
    assert kept.probs is not None and kept.labels is not None and kept.resets is not None
    labels = np.where(kept.labels >= 0, kept.labels, kept.steps["answer"]).astype(np.int64)
    marked = [number for number in marks if numbers[0] <= number < total and wanted[number - numbers[0]]]
    for number in marked:
        labels[number - numbers[0]] = marks[number]
    more: dict[str, Any] = {"segments": np.cumsum(kept.resets)[wanted], "names": names}
    if kept.features is not None:
        more |= {"feature_scale": params.feature_scale, "feature_zero_point": params.feature_zero_point}
        more["features"] = kept.features[wanted]
    return Log(kept.probs[wanted], labels=labels[wanted], **more), len(marked)
