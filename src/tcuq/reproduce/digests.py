"""Digests of what decides a result, for the names of files that are kept."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from ..data import Dataset

HOME = Path(__file__).parent.parent
RECORDING = ("audio", "corruptions", "data", "methods", "zoo")
"""Rooms whose code decides what is recorded."""
AFTERWARDS = "methods/temporal"
"""Methods that add a memory to what the plain network said: they record nothing of their own."""
APART = ("cli", "demo", "export", "report")
"""Rooms that decide no result."""


@cache  # what runs is the code as it was when the process began
def code(*rooms: str) -> str:
    """Return a digest of the code of some rooms, or of all that decide results, the built core included.

    Of some rooms, what only comes after a recording is left out.

    Examples
    --------
    >>> code("data") == code("data"), code("data") == code("zoo")
    (True, False)
    """
    digest = hashlib.sha256()
    for path in sorted(
        [*HOME.rglob("*.py"), *HOME.rglob("*.json"), *HOME.rglob("*.[ch]"), *HOME.glob("_core*.so")]
    ):
        inside = path.relative_to(HOME)
        room, later = inside.parts[0], inside.parent.as_posix() == AFTERWARDS
        if (room in rooms and not later) or (not rooms and room not in APART):
            digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def shown(data: Dataset) -> str:
    """Return a digest of labels and of every tenth example."""
    return hashlib.sha256(data.y.tobytes() + data.x[::10].tobytes()).hexdigest()[:8]
