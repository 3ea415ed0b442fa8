"""A log with labels, made of what was received and what was marked."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from tcuq.base.errors import InputError, one_line
from tcuq.base.json_text import from_json
from tcuq.base.limits import limits_given
from tcuq.monitor.class_names import checked_names
from tcuq.monitor.log import Log
from tcuq.monitor.params import Params

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
    answers = {each["step"]: each.get("answer") for each in _objects(place / DECISIONS)}
    names, before, segment = params.names, None, 0
    for content in _objects(place / RECEIVED, named=True):
        if "names" in content:
            told = content["names"]
            names = names or checked_names(told, len(told) if isinstance(told, list) else 0)
            continue
        step = content["step"]
        if (why := _odd(content, params)) is not None:
            raise InputError(
                "damaged", f"{place / RECEIVED}: step {step} is damaged ({why}); remove this line"
            )
        if step < first or (last is not None and step > last):
            continue
        # Steps that the log lacks, because the disk was full, begin a segment.
        if before is not None and (content["segment"], step) != (before[0], before[1] + 1):
            segment += 1
        before = content["segment"], step
        if "true_label" in content:
            raise InputError(
                "conflict", f"{place / RECEIVED}: is of an older tcuq; rename `true_label` to `given_label`"
            )
        given = content.get("given_label", answers.get(step))
        if step not in marks and given is None:
            continue
        probs.append(content["probs"])
        features.append(content.get("features"))
        segments.append(segment)
        labels.append(marks.get(step, given))
    if not probs:
        raise InputError(
            "missing", f"{place}: holds no received posteriors in steps {first} to {last or 'the end'}"
        )
    more: dict[str, Any] = {}
    if params.features and None not in features:
        more = {"feature_scale": params.feature_scale, "feature_zero_point": params.feature_zero_point}
        more["features"] = np.array(features, dtype=np.int8)
    more |= {"labels": labels, "segments": segments, "names": names}
    return Log(np.array(probs, dtype=np.int8), **more)


def _odd(content: dict[str, Any], params: Params) -> str | None:
    """Return what is wrong with a step that was received; None where it is as it was written."""
    for key, width in (("probs", params.classes), ("features", params.features)):
        row = content.get(key)
        if row is None and key == "features":
            continue
        whole = isinstance(row, list) and all(type(each) is int and -128 <= each <= 127 for each in row)
        if not isinstance(row, list) or not whole or (len(row) != width and (key == "probs" or width)):
            return f"{key} are not {width} integers from -128 to 127"
    if type(content.get("segment")) is not int:
        return "segment is no integer"
    label = content.get("given_label")
    return None if label is None or type(label) is int else "given_label is no integer"


def read_marks(path: Path) -> dict[int, int]:
    """Return the label of each marked step: -1 for one that was wrong and whose true class is not known."""
    found = {each["step"]: each.get("label", WRONG) for each in _objects(path)}
    for step, label in found.items():
        if type(label) is not int:
            shown = one_line(str(label), 40)
            raise InputError("damaged", f"{path}: the label of step {step} is {shown}, expected an integer")
    return found


def _is_step(value: Any) -> bool:
    return type(value) is int and 0 <= value <= 2**53


def _objects(path: Path, named: bool = False) -> Iterator[dict[str, Any]]:
    """Yield steps of a file of lines, and names where it may have them, without half a line at its end."""
    try:
        file = open(path, "rb")  # noqa: SIM115
    except FileNotFoundError:
        return
    with file:
        limits = limits_given()
        for number in count(1):
            line = file.readline(limits.line + 1)
            if not line:
                return
            if len(line) > limits.line and not line.endswith(b"\n"):
                raise InputError("limit", f"{path}: line {number} is longer, {limits.beyond('line', None)}")
            if not line.endswith(b"\n"):
                continue
            try:
                content = from_json(line)
                names = named and isinstance(content, dict) and "names" in content
                if not names and not (isinstance(content, dict) and _is_step(content.get("step"))):
                    raise InputError("damaged", "expected an object with a step")
            except ValueError as error:
                why = one_line(str(error), 300)
                raise InputError(
                    "damaged", f"{path}: line {number} is damaged ({why}); remove this line"
                ) from None
            yield content
