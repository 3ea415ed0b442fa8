"""Inputs that say nothing any more, of any family: each takes a form, an input and a severity in (0, 1]."""

from __future__ import annotations

import numpy as np

from ..model import Array
from .form import Form

HALF = 0.625
"""Severity that half of the stretches of a stream exceed."""

QUIETEST = 1e-4
"""Peak, as a part of full scale, below which sound counts as silent."""


def blank(form: Form, x: Array, severity: float) -> Array:
    """Show one value throughout: black or gray; silence; the mean of each channel, or 0."""
    level = form.blanks[severity > HALF]
    return form.kept(np.zeros(form.arrange(x).shape) + level)


def saturated(form: Form, x: Array, severity: float) -> Array:
    """Drive the input into the end of its range: overexposed, clipped hard, at the rail of the sensor."""
    values = form.arrange(x).astype(np.float64)
    if not form.swings:
        return form.kept(values + (0.25 + 0.75 * severity) * (form.high - form.low))
    away = values - form.offset
    peak = max(float(np.abs(away).max()), QUIETEST * form.factor)
    return form.kept(form.offset + away * (10 ** (1 + severity) * form.factor / peak))


KINDS = (blank, saturated)
