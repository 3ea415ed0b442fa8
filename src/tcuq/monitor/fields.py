"""The core's parameters as it declares them: names, ranges and place in the fingerprint, and their units."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from .._core import FIELDS

RANGE: Mapping[str, tuple[int, int]] = MappingProxyType({name: (low, high) for name, low, high, _ in FIELDS})
"""Lowest and highest integer of a field, or of one number in a list."""

FINGERPRINT = tuple((name, size) for name, _, _, size in FIELDS if size and not name.startswith("evidence"))
"""Scalar fields in the order of the fingerprint, each with its bytes (SPEC.md section 12)."""

COEF_UNIT = 512
OFFSET_UNIT = 256
WEIGHT_UNIT = RANGE["lag_weights"][1]

COEF_LIMIT = -RANGE["coef"][0] / COEF_UNIT
OFFSET_LIMIT = -RANGE["evidence offset"][0] / OFFSET_UNIT
MAX_LAG = RANGE["lags"][1]


def real_range(name: str, unit: int) -> tuple[float, float]:
    """Return the range of a field in real numbers.

    Parameters
    ----------
    name : str
    unit : int
        What stands for 1.

    Examples
    --------
    >>> real_range("bias", 65536)
    (-256.0, 256.0)
    """
    low, high = RANGE[name]
    return low / unit, high / unit
