"""Fifth stage: where the threshold starts, and how far a debt of flags moves it."""

from __future__ import annotations

import math

import numpy as np

from ...base.fixed import ONE
from .state import FitState


def set_threshold(state: FitState) -> None:
    """Set reference and slope from the risk on clean steps."""
    state.progress("threshold", 0, 1)
    level = state.params.level
    state.clean_risk = [state.clean_scores.risk[run] for run in state.clean.runs]
    pooled = np.sort(np.concatenate(state.clean_risk))
    count = len(pooled)
    # The rank that a fresh clean step exceeds with probability at most `level`.
    rank = min(count, math.ceil((1 - level) * (count + 1)))
    reference = float(pooled[rank - 1])
    if (pooled >= reference).mean() > level:
        # Flagging is >=, so a tie at the reference would flag all of it.
        reference = min(1.0, reference + 1 / ONE)
    high, low = np.quantile(pooled, [1 - level / 2, max(0.0, 1 - 2 * level)])
    # Ten flags of debt move the threshold by half of what separates half the level from twice it.
    slope = float(np.clip((high - low) / 20, 1e-4, 0.02))
    state.params = state.params.replace(reference=reference, slope=slope)
    state.progress("threshold", 1, 1)
