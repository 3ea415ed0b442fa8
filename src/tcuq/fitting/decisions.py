"""Threshold and alarm, set from clean steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.fixed import ONE
from ..monitor.alarm import Alarm
from ..monitor.log import watch
from ..monitor.monitor import Monitor
from ..monitor.params import Params
from .alarms import FEWEST, SUPPORT, alarms_in, choose_alarm, choose_evidence_limit
from .sources import Clean

Floats = npt.NDArray[np.float64]
# In quotes, because reaching for numpy.random would import it.
_ChooseAlarm = Callable[[Sequence[Floats], int, "np.random.Generator"], Alarm]


def fit_decisions(
    params: Params,
    clean: Clean,
    run_length: int,
    rng: np.random.Generator,
    warnings: list[str],
    explain: bool,
) -> tuple[Params, dict[str, Any]]:
    """Set reference, slopes and alarm from the risk on clean steps, or the alarm from the evidence there.

    Parameters
    ----------
    params : Params
        With coefficients.
    clean : Clean
    run_length : int
        Wanted mean number of clean steps between false alarms.
    rng : numpy.random.Generator
        For the bootstrap.
    warnings : list of str
        Notes are added to it.
    explain : bool
        Whether to count false alarms on held-out clean steps.
    """
    steps, signals = watch(Monitor(params), clean.log, signals=True)
    runs = [steps["risk"][run] for run in clean.runs]
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
    if count < FEWEST:
        warnings.append(f"no alarm is set: {count} clean steps are too few, {FEWEST} are needed")
    elif count < SUPPORT * (2 if params.evidence is None else 1) * run_length:
        warnings.append(
            f"{count:,} clean steps are too few to check a rate of one false alarm in {run_length:,}: the "
            "alarm limit is extrapolated, and false alarms may come several times as often"
        )
    choose: _ChooseAlarm = choose_alarm
    summed = runs
    if params.evidence is not None:
        added = params.evidence.values(signals, steps["label"])
        choose, summed = _evidence_alarm, [added[run] for run in clean.runs]
    alarm = choose(summed, run_length, rng)
    if params.evidence is not None:
        alarm = replace(alarm, mean=float(pooled.mean()))
    findings: dict[str, Any] = {
        "clean_steps": count,
        "clean_marked": clean.marked,
        "run_length": run_length,
    }
    if explain:
        findings["run_length_elsewhere"] = _run_length_elsewhere(summed, choose, run_length, rng)
    return params.replace(reference=reference, slope=slope, alarm=alarm), findings


def _evidence_alarm(added: Sequence[Floats], run_length: int, rng: np.random.Generator) -> Alarm:
    """Choose an alarm that sums evidence, as `choose_alarm` does one that sums risk."""
    return Alarm(rise=choose_evidence_limit(added, run_length, rng))


def _run_length_elsewhere(
    runs: Sequence[Floats],
    choose: _ChooseAlarm,
    run_length: int,
    rng: np.random.Generator,
) -> dict[str, int] | None:
    """Set the alarm on one half of the clean steps, count false alarms on the other, both ways."""
    if len(runs) > 1:
        halves = [list(runs[0::2]), list(runs[1::2])]
    elif len(runs[0]) > 1:
        middle = len(runs[0]) // 2
        halves = [[runs[0][:middle]], [runs[0][middle:]]]
    else:
        return None
    alarms = steps = 0
    for here, there in ((0, 1), (1, 0)):
        alarm = choose(halves[here], run_length, rng)
        if alarm.rise is None and alarm.fall is None:
            continue  # a half of too few steps for an alarm shows nothing
        for side, sign in ((alarm.rise, 1), (alarm.fall, -1)):
            if side is not None:
                raised, _ = alarms_in(halves[there], alarm.mean + sign * side.allowance, sign, side.limit)
                alarms += raised
        steps += sum(len(run) for run in halves[there])
    return {"false_alarms": alarms, "steps": steps} if steps else None
