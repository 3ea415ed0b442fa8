"""A log with labels, made of what was received and what was marked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..monitor.log import Log
from ..monitor.params import Params
from .folder import DECISIONS, MARKS, RECEIVED

WRONG = -1
"""Label of a step that was wrong and whose true class nobody told: every answer on it is an error."""


def labeled_log(folder: str | Path, params: Params, first: int = 0, last: int | None = None) -> Log:
    """Return the steps of a session with a label each.

    The label of a step is that of its last mark, else the one that the device sent, else the answer: a step
    that you looked at and did not mark was right. Choose `first` and `last` so that this holds.

    Parameters
    ----------
    folder : path
    params : Params
    first, last : int
        Numbers of steps; to the end by default.

    Returns
    -------
    Log
        With `feature_scale` and `feature_zero_point` where there are features.
    """
    place = Path(folder)
    marks = read_marks(place / MARKS)
    probs, features, segments, labels = [], [], [], []
    answers = {each["step"]: each["answer"] for each in _objects(place / DECISIONS)}
    names, before, segment = params.names, None, 0
    for content in _objects(place / RECEIVED):
        if "names" in content:
            names = names or tuple(content["names"])
            continue
        step = content["step"]
        if step < first or (last is not None and step > last):
            continue
        # Steps that the log lacks, because the disk was full, begin a segment.
        if before is not None and (content["segment"], step) != (before[0], before[1] + 1):
            segment += 1
        before = content["segment"], step
        given = content.get("true_label", answers.get(step))
        if step not in marks and given is None:
            continue
        probs.append(content["probs"])
        features.append(content.get("features"))
        segments.append(segment)
        labels.append(marks.get(step, given))
    if not probs:
        raise ValueError(f"{place}: holds no received posteriors in steps {first} to {last or 'the end'}")
    more: dict[str, Any] = {}
    if params.features and None not in features:
        more = {"feature_scale": params.feature_scale, "feature_zero_point": params.feature_zero_point}
        more["features"] = np.array(features, dtype=np.int8)
    more |= {"labels": labels, "segments": segments, "names": names}
    return Log(np.array(probs, dtype=np.int8), **more)


def read_marks(path: Path) -> dict[int, int]:
    """Return the label of each marked step: -1 for one that was wrong and whose true class is not known."""
    return {each["step"]: each.get("label", WRONG) for each in _objects(path)}


def _objects(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file of lines; half a line at its end is left out."""
    try:
        file = open(path, "rb")  # noqa: SIM115
    except FileNotFoundError:
        return
    with file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                continue
            try:
                content = json.loads(line)
                if not isinstance(content, dict) or not (
                    type(content.get("step")) is int or "names" in content
                ):
                    raise ValueError("expected an object with a step")
            except ValueError as error:
                raise ValueError(f"{path}: line {number} is damaged ({error}); remove this line") from None
            yield content
