"""Which cases of a test are quick enough for every run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def first_quick(values: Iterable[Any], quick: int = 1) -> list[Any]:
    """Return the cases of a test; the first few run every time, the others in the slow tier."""
    return [
        value if at < quick else pytest.param(value, marks=pytest.mark.slow)
        for at, value in enumerate(values)
    ]
