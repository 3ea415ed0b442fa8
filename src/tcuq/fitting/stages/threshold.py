"""Fourth stage: where the threshold starts, and how far a debt of flags moves it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...base.fixed import ONE
from ...monitor.params import Params
from ..signal_table import Floats
from .heads import Heads


@dataclass(frozen=True, eq=False)
class Threshold:
    """The threshold, and the clean risk that it was read off.

    Parameters
    ----------
    heads : Heads
    params : Params
        With reference and slope.
    runs : list of arrays
        Risk on each clean stretch.
    mean : float
        Mean risk over all of them.
    """

    heads: Heads
    params: Params
    runs: list[Floats]
    mean: float

    @property
    def clean_steps(self) -> int:
        """Clean steps in all."""
        return sum(map(len, self.runs))


def set_threshold(heads: Heads) -> Threshold:
    """Set reference and slope from the risk on clean steps."""
    reading, params = heads.signals.reading, heads.params
    reading.progress("threshold", 0, 1)
    risk = heads.clean.risk
    runs = [risk[run] for run in reading.clean.runs]
    pooled = np.sort(np.concatenate(runs))
    count = len(pooled)
    # The rank that a fresh clean step exceeds with probability at most `level`.
    rank = min(count, math.ceil((1 - params.level) * (count + 1)))
    reference = float(pooled[rank - 1])
    if (pooled >= reference).mean() > params.level:
        # Flagging is >=, so a tie at the reference would flag all of it.
        reference = min(1.0, reference + 1 / ONE)
    high, low = np.quantile(pooled, [1 - params.level / 2, max(0.0, 1 - 2 * params.level)])
    # Ten flags of debt move the threshold by half of what separates half the level from twice it.
    slope = float(np.clip((high - low) / 20, 1e-4, 0.02))
    reading.progress("threshold", 1, 1)
    return Threshold(heads, params.replace(reference=reference, slope=slope), runs, float(pooled.mean()))
