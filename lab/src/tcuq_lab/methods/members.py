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
    """Return the mean posterior of members and the risks of all settings.

    Parameters
    ----------
    logits : array (n, members, classes)
    features : array (n, width)
    grid : sequence of mappings
        See `risk`.

    Returns
    -------
    Recorded
        With "risks" (n, settings).
    """
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
    """Return the risk of answers.

    Parameters
    ----------
    logits : array (n, members, classes)
    answer : array of n integers
    kind : str
        "max": 1 minus the mean posterior of the answer; "entropy" of the mean posterior; "information": that
        entropy less the members' own; "disagreement": the standard deviation over members of the posterior of
        the answer.
    temperature : float
        Of every member's posterior, for the risk alone.
    final : bool
        Whether the last member takes part in the risk.

    Examples
    --------
    >>> split = np.log(np.array([[[0.9, 0.1], [0.1, 0.9]], [[0.5, 0.5], [0.5, 0.5]]]))
    >>> [risk(split, np.array([0, 0]), kind).round(3).tolist() for kind in KINDS]
    [[0.5, 0.5], [1.0, 1.0], [0.531, 0.0], [0.4, 0.0]]
    """
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
