"""Everything that a monitor gives at every step, in the core's integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.fixed import ONE
from ..monitor.monitor import Monitor

Int8 = npt.NDArray[np.int8]
Ints = npt.NDArray[np.int64]

STEP_FIELDS = (
    *("threshold", "severity", "prediction", "answer", "risk", "uncertainty", "persistence", "look"),
    *("expected_accuracy", "flagged", "abstain", "alarm", "warming_up", "reason", "low_mass"),
)
"""Fields of `tcuq_step_t`, in the order of tcuq.h."""


def taken(monitor: Monitor, probs: Int8, features: Int8) -> tuple[Ints, Ints]:
    """Run a monitor on rows and return everything that it gives, one row per step."""
    steps, signals = monitor.run(probs, features if monitor.params.features else None, signals=True)
    columns: list[Any] = [steps[name] * (ONE if steps.dtype[name].kind == "f" else 1) for name in STEP_FIELDS]
    # What the parameters do not ask for is NaN in Python, 0 in the core.
    fields = np.stack([np.nan_to_num(column).astype(np.int64) for column in columns], axis=1)
    return fields, np.asarray(signals * ONE).astype(np.int64)
