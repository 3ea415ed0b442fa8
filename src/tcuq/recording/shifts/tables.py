"""What befalls rows of sensor values: each takes (columns,), a severity in (0, 1] and numbers.

A column has mean 0 and standard deviation 1 over the data. A broken sensor stays broken for a whole stretch:
its columns are drawn by the severity, of which a stretch has one.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..model import Floats
from ..rand import Generators
from .signals import noise


def _broken(count: int, share: float, severity: float, fault: str) -> tuple[Any, np.random.Generator]:
    """Return columns, a share of all but at least one, and numbers; the same for the same severity."""
    rng = Generators(round(2**20 * severity), f"tables/{fault}").at(0)
    return np.argsort(rng.random(count), kind="stable")[: max(1, round(share * count))], rng


def offset(x: Floats, severity: float, rng: np.random.Generator) -> Floats:
    """Let a third of the sensors read too high or too low: their calibration has drifted."""
    at, fixed = _broken(len(x), 1 / 3, severity, "offset")
    out = x.copy()
    out[at] += (0.5 + 2.5 * severity) * np.where(fixed.random(len(at)) < 0.5, -1, 1)
    return out


def gain(x: Floats, severity: float, rng: np.random.Generator) -> Floats:
    """Let half of the sensors show deviations from their mean 1.5 to 4 times as large."""
    out = x.copy()
    out[_broken(len(x), 1 / 2, severity, "gain")[0]] *= 1.5 + 2.5 * severity
    return out


def stuck(x: Floats, severity: float, rng: np.random.Generator) -> Floats:
    """Let some sensors, one to half of all, show one value."""
    at, fixed = _broken(len(x), severity / 2, severity, "stuck")
    out = x.copy()
    out[at] = fixed.uniform(-2, 2, len(at))
    return out


def missing(x: Floats, severity: float, rng: np.random.Generator) -> Floats:
    """Lose 10 to 60 % of the values, others each time; the mean of the column stands in for them."""
    lost = math.ceil(len(x) * (0.1 + 0.5 * severity))
    out = x.copy()
    out[np.argsort(rng.random(len(x)), kind="stable")[:lost]] = 0
    return out


def swapped(x: Floats, severity: float, rng: np.random.Generator) -> Floats:
    """Let columns, two to all, show each other's values, in units of their own: plugs or fields mixed up."""
    at, _ = _broken(len(x), max(severity, 2 / len(x)), severity, "swapped")
    out = x.copy()
    out[at] = x[np.roll(at, 1)]
    return out


def coarse(x: Floats, severity: float, rng: np.random.Generator) -> Floats:
    """Round to steps of 0.6 to 3 deviations: a sensor or a message of few bits."""
    step = 0.6 + 2.4 * severity
    return np.asarray(step * np.rint(x / step))


def shaken(x: Floats, rng: np.random.Generator) -> Floats:
    """Return the row as it comes again: a little noise."""
    return np.asarray(x + 0.05 * rng.standard_normal(x.shape))


KINDS = (noise, offset, gain, stuck, missing, swapped, coarse)
