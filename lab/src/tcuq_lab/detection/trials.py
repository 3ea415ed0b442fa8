"""Alarms on a stream with known changes: which changes were found, and how late."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tcuq.metrics.inputs import Floats, Ints

from .events import WINDOW, finite, reaches, stretches
from .runlength import RUN_LENGTH, RunLength, alarm_steps, find_limit, masks_of
from .statistics import STATISTICS, Factory, Reference, Statistic
from .truth import Truth


@dataclass(frozen=True, eq=False)
class Armed:
    """A statistic with its limit and what that limit achieved where it was found."""

    statistic: Statistic
    found: RunLength

    @property
    def limit(self) -> float:
        """Value above which there is an alarm."""
        return self.found.limit


class Trials(NamedTuple):
    """Changes from clean to shifted, each with its delay."""

    starts: Ints
    lengths: Ints
    delays: Floats
    kinds: Ints
    false: int
    clean: int

    @property
    def restricted(self) -> Floats:
        """Delays, a miss costing the whole stretch."""
        return np.minimum(self.delays, self.lengths)


def arm(
    runs: Sequence[npt.ArrayLike],
    run_length: float = RUN_LENGTH,
    statistics: Mapping[str, Factory] = STATISTICS,
    judged: Sequence[npt.ArrayLike] | None = None,
) -> dict[str, Armed]:
    """Give every statistic the limit for a run length, from a method's clean development scores."""
    scores = [finite("score", run) for run in runs]
    masks = masks_of(scores, judged)
    reference = Reference.of([run[mask] for run, mask in zip(scores, masks, strict=True)])
    found = {}
    for name, factory in statistics.items():
        statistic = factory(reference)
        found[name] = Armed(statistic, find_limit(statistic, scores, run_length, masks))
    return found


def alarms(armed: Armed, risk: npt.ArrayLike, truth: Truth) -> Ints:
    """Return the steps of a stream with an alarm; the statistic starts over after it and in each segment."""
    values = np.asarray(risk)
    found = [
        piece.start + alarm_steps(armed.statistic, values[piece], armed.limit) for piece in truth.pieces()
    ]
    return np.concatenate(found) if found else np.empty(0, dtype=np.int64)


def trials(armed: Armed, risk: npt.ArrayLike, truth: Truth, memory: int = WINDOW) -> Trials:
    """Let an armed statistic watch a stream and compare its alarms with the known changes.

    The statistic knows nothing of the changes: it goes on from step to step and starts over after each of
    its alarms, false ones included.
    """
    raised = alarms(armed, risk, truth)
    found = [part for part in stretches(truth.kinds, truth.segments) if truth.judged[part].any()]
    starts = np.array([part.start for part in found], dtype=np.int64)
    stops = np.array([part.stop for part in found], dtype=np.int64)
    first = np.append(raised, len(truth))[np.searchsorted(raised, starts)]
    clean = truth.judged & ~reaches(truth.kinds > 0, memory, truth.segments)
    return Trials(
        starts,
        stops - starts,
        np.where(first < stops, first - starts, np.inf),
        truth.kinds[starts],
        int(clean[raised].sum()),
        int(clean.sum()),
    )
