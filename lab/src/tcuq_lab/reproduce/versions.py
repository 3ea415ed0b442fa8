"""Versions of what decides figures: whether kept files and results still speak for the code.

Raise a number in the same commit as a change that can move a figure; moving or rewording code raises nothing.

- ``RECORDING``: data, corruptions, networks, or what a method records. Older recordings are not used again.
- ``PROTOCOL``: the monitor, the fit, methods, streams, or how they are compared. Older comparisons are not
  used again, and result files carry the number that they were made with.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from ..data import Dataset

RECORDING = 1
PROTOCOL = 4


def digest_of(about: Any, letters: int = 12, sort_keys: bool = False) -> str:
    """Return a short digest of what decides the content of a file, for its name."""
    return hashlib.sha256(json.dumps(about, sort_keys=sort_keys).encode()).hexdigest()[:letters]


def shown(data: Dataset) -> str:
    """Return a digest of labels and of every tenth example."""
    return hashlib.sha256(data.y.tobytes() + data.x[::10].tobytes()).hexdigest()[:8]
