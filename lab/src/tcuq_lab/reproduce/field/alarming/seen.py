"""What rivals of the monitor's alarm see of a stream, and the score that they watch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.metrics.inputs import Floats

from ....methods.confidence import ConfidenceNorm
from ....methods.method import Observed
from ...rows import Row
from ..units import PLAIN, Unit


@dataclass(frozen=True, eq=False)
class Seen:
    """What a rival sees of a stream: K stretches of T steps.

    Parameters
    ----------
    score : array (K, T)
        1 minus the largest posterior, or what a method says that learned from labels.
    probs : array (K, T, classes)
    features : array (K, T, width), optional
    logits : array (K, T, classes), optional
    """

    score: Floats
    probs: npt.NDArray[Any]
    features: npt.NDArray[Any] | None = None
    logits: npt.NDArray[Any] | None = None

    def vectors(self, which: str) -> npt.NDArray[Any]:
        """Return posteriors or features; posteriors where there are no features."""
        return self.probs if which == "posteriors" or self.features is None else self.features


Scorer = Callable[[Observed], Floats]


def unsure_of(seen: Observed) -> Floats:
    """Return 1 minus the largest posterior."""
    return np.asarray(1.0 - seen.probs.max(axis=1).astype(np.float64))


def scorer_of(unit: Unit, role: str, row: Row = PLAIN) -> Scorer:
    """Return the score of a row; a method that learns is fitted to the labels of a development stream.

    Parameters
    ----------
    unit : Unit
    role : str
        Of the development stream.
    row : Row
    """
    if row.method is not ConfidenceNorm:
        return unsure_of
    method = ConfidenceNorm()
    method.fit(unit.labeled(role, row))
    return lambda seen: np.asarray(method.answer(seen).score, dtype=np.float64)


def seen_of(unit: Unit, role: str, row: Row = PLAIN, scorer: Scorer = unsure_of) -> Seen:
    """Return what rivals see of a stream of a unit.

    Parameters
    ----------
    unit : Unit
    role : str
    row : Row
    scorer : callable
        Of `scorer_of`.
    """
    found, count = unit.observed(role, row), unit.shown(role).stretches

    def shaped(values: npt.NDArray[Any] | None) -> Any:
        return None if values is None else values.reshape(count, -1, *values.shape[1:])

    return Seen(
        shaped(scorer(found)),
        shaped(found.probs),
        shaped(found.features),
        shaped(found.extra.get("logits")),
    )
