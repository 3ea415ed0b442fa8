"""From what a model gives to what a log holds: posteriors, int8 features, numbered labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base.errors import InputError, located
from ..monitor.logits import paired, softmax
from ..monitor.quantize import odd_sums, refuse_logits, two_classes
from .model import Array, Format

KEPT = {np.dtype(np.int8): Format(1 / 256, -128), np.dtype(np.uint8): Format(1 / 256, 0)}
"""Formats of posteriors that a log holds as they are."""

ENOUGH = 8
"""Rows that sum to 1 from which on outputs are posteriors and no logits."""

MANY = 32
"""Outputs from which on as many of them as inputs look like an autoencoder."""


def posteriors(raw: Array, format: Format | None, logits: bool) -> Array:
    """Return outputs of a model as posteriors."""
    single = raw.shape[1] == 1
    if logits and format is not None and raw.dtype == np.int8 and not single:
        return softmax(raw, format.scale)
    kept = format is not None and KEPT.get(raw.dtype) == format
    if format is not None and (logits or not kept):
        raw = format.numbers(raw)
    if raw.dtype == np.float16 or (raw.dtype.kind in "iu" and raw.dtype not in KEPT):
        raw = raw.astype(np.float32)
    if logits:
        return np.asarray(softmax(paired(raw)), np.float32)
    if not single:
        return raw
    if raw.dtype.kind == "f" and not ((raw >= 0) & (raw <= 1)).all():
        problem = f"the output ranges from {raw.min():.4g} to {raw.max():.4g}, expected a sigmoid of 0 to 1"
        raise InputError("value", f"{problem}. Are these logits? Pass `logits=True`.")
    return two_classes(raw)


def are_posteriors(raw: Array, format: Format | None) -> bool:
    """Tell whether outputs of a model went through a softmax, or an int8 sigmoid, already."""
    kept = format is not None and KEPT.get(raw.dtype) == format
    if raw.shape[1] == 1:
        return kept
    numbers = raw if kept or format is None else format.numbers(raw)
    return (kept or numbers.dtype.kind == "f") and not odd_sums(numbers).any()


def like_inputs(outputs: int, inputs: int) -> str:
    """Ask whether a model is a classifier, where it gives as many numbers as it takes."""
    if outputs != inputs or outputs < MANY:
        return ""
    question = "Is it a classifier? Autoencoders have no posteriors to watch"
    return f"it has as many outputs as inputs, {outputs}. {question}"


def refuse_model(probs: Array, name: str) -> None:
    """Refuse outputs that cannot come from a softmax."""
    with located(name):
        refuse_logits(probs, "outputs")


def features_of(raw: Array, format: Format | None) -> tuple[Array, Format | None]:
    """Return features as a log holds them: int8 with a format, or float32."""
    if raw.dtype == np.uint8 and format is not None:
        return (raw.astype(np.int16) - 128).astype(np.int8), Format(format.scale, format.zero_point - 128)
    if raw.dtype == np.int8:
        return raw, format
    return (raw if format is None else format.numbers(raw)).astype(np.float32), None


def numbers_of(labels: Array, classes: Sequence[Any] | None) -> Array:
    """Return labels as numbers of classes, where the model says what it was trained with."""
    if classes is None or list(classes) == list(range(len(classes))):
        return labels
    known = {value: number for number, value in enumerate(classes)}
    values = labels.tolist()
    for each in values:
        if each not in known and not (isinstance(each, (int, float)) and each < 0):
            shown = ", ".join(map(str, list(known)[:8])) + ", ..." * (len(known) > 8)
            raise InputError("unknown", f"y holds {each!r}, expected one of the model's classes: {shown}")
    return np.array([known.get(each, -1) for each in values], np.int64)
