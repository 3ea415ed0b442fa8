"""Risks of an answer that several members give together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .method import Recorded
from .scores import Doubles, entropy, softmax, unsure

KINDS = ("max", "entropy", "information", "disagreement")
GRID = tuple({"kind": kind, "temperature": warm} for warm in (1.0, 2.0) for kind in KINDS)
"""Kinds of risk, each of the members' posteriors as they are and of warmer ones."""


def together(
    logits: npt.NDArray[Any], features: npt.NDArray[Any], grid: Sequence[Mapping[str, Any]] = GRID
) -> Recorded:
    """Return the mean posterior of members and the risks of all settings."""
    probs = softmax(logits).mean(axis=1)
    risks = np.stack([risk(logits, probs.argmax(axis=1), **setting) for setting in grid], axis=1)
    return Recorded(probs.astype(np.float32), features, {"risks": risks})


def risk(
    logits: npt.NDArray[Any],
    answer: npt.NDArray[np.int64],
    kind: str,
    temperature: float = 1.0,
    final: bool = True,
) -> Doubles:
    """Return the risk of answers."""
    each = softmax(logits if final else logits[:, :-1], temperature)
    mean = each.mean(axis=1)
    if kind == "max":
        return unsure(mean, answer)
    if kind == "entropy":
        return entropy(mean)
    if kind == "information":
        # Never below 0 but by rounding.
        return np.asarray(np.maximum(entropy(mean) - entropy(each).mean(axis=1), 0.0))
    return np.asarray(each[np.arange(len(each)), :, answer].std(axis=1))
