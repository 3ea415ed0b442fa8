"""Data as a plan shows them: read, shaken and degraded batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ...base.rand import Generators
from ..data import Batch, Data
from ..shifts import Chosen
from .plan import Plan


def arrange(data: Data, plan: Plan, chosen: Chosen, seed: int) -> Data:
    """Return data in the order of a plan, degraded as it says.

    What befalls an example depends on the seed, the kind and the step alone, not on the size of a batch.
    Labels are those of what the plan shows, also where frozen input hides it.
    """
    take, labels = data.take, data.labels
    assert take is not None
    shake = Generators(seed, "held")
    own = [Generators(seed, f"shift/{each.name}") for each in chosen.kinds]
    frozen = np.isin(plan.kinds, [number for number, each in enumerate(chosen.kinds, 1) if each.frozen])
    seen = np.maximum.accumulate(np.where(frozen, 0, np.arange(len(plan))))  # step whose input comes

    def batches(size: int) -> Iterator[Batch]:
        for start in range(0, len(plan), size):
            steps = seen[start : start + size]
            rows = np.array(take(plan.examples[steps]))
            for row, step in enumerate(steps.tolist()):
                if plan.held[step]:
                    rows[row] = chosen.shake(rows[row], shake.at(step))
                kind = int(plan.kinds[step])
                if kind:
                    severity = float(plan.severities[step])
                    rows[row] = chosen.kinds[kind - 1].apply(rows[row], severity, own[kind - 1].at(step))
            yield Batch(rows, None if labels is None else labels[plan.examples[start : start + size]])

    # Without shifts nothing is known of what is clean: a user's data may hold anything.
    marked, names = (plan.kinds, tuple(each.name for each in chosen.kinds)) if chosen.kinds else (None, None)
    made = replace(data, batches=batches, total=len(plan), segments=plan.segments)
    return replace(made, shifted=marked, shift_names=names)
