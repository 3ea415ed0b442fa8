"""Scale and zero point of int8 features: those of a log beside those of a monitor."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .log import Log
    from .params import Params


def format_notes(log: Log, params: Params) -> list[str]:
    """Return a note where int8 features of a log are not in the format that a monitor was fitted to.

    >>> import numpy as np
    >>> from tcuq import Log, Params
    >>> log = Log([[0.5, 0.5]], np.array([[3]], np.int8), feature_scale=0.5, feature_zero_point=0)
    >>> format_notes(log, Params(classes=2, features=1, feature_scale=0.5))
    []
    >>> print(*format_notes(log, Params(classes=2, features=1, feature_scale=0.25, feature_zero_point=-3)))
    features have scale 0.5 and zero point 0, the monitor was fitted to scale 0.25 and zero point -3: its \
signals of features mean something else here; fit it again to a log of this model, or record this log with \
the model of the fit
    """
    scale, zero_point = log.feature_scale, log.feature_zero_point
    if not params.features or scale is None:
        return []
    same = abs(scale - params.feature_scale) <= 1e-6 * scale and zero_point == params.feature_zero_point
    if same:
        return []
    own = f"scale {params.feature_scale:.6g} and zero point {params.feature_zero_point}"
    return [
        f"features have scale {scale:.6g} and zero point {zero_point}, the monitor was fitted to {own}: its "
        "signals of features mean something else here; fit it again to a log of this model, or record this "
        "log with the model of the fit"
    ]
