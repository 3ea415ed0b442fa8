"""What a report is made from, checked, and the signals where they were not given."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..monitor.log import Log, watch
from ..monitor.monitor import STEP_DTYPE, Monitor
from ..monitor.params import Params
from ..monitor.signals import SIGNALS


def checked(
    decisions: npt.NDArray[Any], params: Params | None, log: Log | None, signals: npt.ArrayLike | None
) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64] | None]:
    """Return decisions and signals as arrays; refuse what does not fit together."""
    steps = np.asarray(decisions)
    missing = [name for name in STEP_DTYPE.names or () if name not in (steps.dtype.names or ())]
    if missing:
        raise TypeError(f"decisions lack the field {missing[0]!r}, expected an array as Monitor.run gives it")
    if steps.ndim != 1:
        raise ValueError(f"decisions have {steps.ndim} dimensions, expected one row a step")
    if not len(steps):
        raise ValueError("decisions are empty, expected at least one step")
    for name in ("risk", "threshold"):
        if not np.isfinite(steps[name]).all():
            raise ValueError(f"decisions hold a {name} that is not finite")
    if params is not None and not isinstance(params, Params):
        raise TypeError(f"params is {type(params).__name__}, expected a Params or None")
    if log is not None and not isinstance(log, Log):
        raise TypeError(f"log is {type(log).__name__}, expected a Log or None")
    if log is not None and len(log) != len(steps):
        raise ValueError(f"log has {len(log)} steps, decisions have {len(steps)}")
    if signals is None:
        return steps, None
    values = np.asarray(signals, dtype=np.float64)
    if values.shape != (len(steps), len(SIGNALS)):
        raise ValueError(f"signals have shape {values.shape}, expected {(len(steps), len(SIGNALS))}")
    if not np.isfinite(values).all():
        raise ValueError("signals hold a value that is not finite")
    return steps, values


def recomputed(
    decisions: npt.NDArray[Any], params: Params | None, log: Log | None, first: int = 0
) -> tuple[npt.NDArray[np.float64] | None, str]:
    """Return the signals by running the monitor again, or why they are not shown."""
    if params is None or log is None:
        return None, ""
    if first > 0:
        return None, "The signals are not shown: the monitor had run before, and its past is not in this log."
    if log.classes != params.classes or (params.features and log.width != params.features):
        return None, "The signals are not shown: the log does not have the inputs of these parameters."
    again, values = watch(Monitor(params), log, signals=True)
    if not np.array_equal(again["risk"], decisions["risk"]):
        return None, "The signals are not shown: these parameters over this log do not give this risk."
    return values, ""
