"""Uncertainty and risk of signals under some parameters: sections 7 and 8 of SPEC.md over whole columns.

The same integers as in the core, so that a fit need not run the monitor again for new coefficients.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.fixed import ONE
from ..monitor.fixed_point import COEF_UNIT
from ..monitor.params import Params
from ..monitor.signals import NUMBER
from .signal_table import Floats, Ints, SignalTable, Units, chunks

_SHIFT = COEF_UNIT.bit_length() - 1
_TABLE = np.minimum(ONE - 1, np.floor(ONE / (1 + np.exp(-np.arange(97) / 8)) + 0.5)).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Scores:
    """What a monitor says of each step of a log, in 1/65536."""

    uncertainty_units: Units
    risk_units: Units

    @property
    def uncertainty(self) -> Floats:
        """Uncertainty in [0, 1)."""
        return self.uncertainty_units / ONE

    @property
    def risk(self) -> Floats:
        """Risk in [0, 1)."""
        return self.risk_units / ONE


def _logistic(z: Ints) -> Ints:
    size = np.abs(z)
    at = np.minimum(size >> 13, 95)
    low = _TABLE[at]
    value = low + ((_TABLE[at + 1] - low) * (size & 8191) >> 13)
    value[size >= 12 * ONE] = ONE - 1
    return np.asarray(np.where(z < 0, ONE - value, value))


def scores(params: Params, table: SignalTable) -> Scores:
    """Return uncertainty and risk of each step.

    The table is read under the same anchor, with the clean means of the parameters.
    """
    held = params.integers()
    numbers = [NUMBER[name] for name in params.signals]
    coef, instant = [held["coef"][n] for n in numbers], held["instant"]
    columns = table.columns(params.signals)
    result = Scores(*(np.empty(len(table), dtype=np.uint16) for _ in range(2)))
    for part in chunks(len(table)):
        z = np.full(part.stop - part.start, held["bias"], dtype=np.int64)
        half = table.past[part].astype(np.int64)
        if instant is not None:
            z = instant["bias"] + ((((z - instant["bias"]) >> 10) * half) >> 5)
        for number, factor, column in zip(numbers, coef, columns, strict=True):
            weight: Any = factor
            if instant is not None:
                start = instant["coef"][number]
                weight = start + (((factor - start) * half) >> 15)
            z += (weight * table.units[part, column].astype(np.int64)) >> _SHIFT
        uncertainty = _logistic(z)
        mixed = uncertainty * held["blend"] + table.anchor[part].astype(np.int64) * (ONE - held["blend"])
        result.uncertainty_units[part] = uncertainty
        result.risk_units[part] = (mixed + ONE // 2) >> 16
    return result
