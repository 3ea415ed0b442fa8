"""Frames of posteriors and decisions between plain lines. A stand-in: lines alone, no frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, eq=False)
class PosteriorsFrame:
    """Posteriors of several steps."""

    fingerprint: int
    boot: int
    first: int
    probs: npt.NDArray[np.int8]
    features: npt.NDArray[np.int8] | None = None


@dataclass(frozen=True, eq=False)
class DecisionsFrame:
    """Decisions of several steps."""

    fingerprint: int
    boot: int
    first: int
    steps: npt.NDArray[Any]


@dataclass(frozen=True)
class StateFrame:
    """The saved state of a device."""

    fingerprint: int
    boot: int
    seq: int
    state: bytes


@dataclass(frozen=True)
class Text:
    """A plain line."""

    line: bytes


Item = PosteriorsFrame | DecisionsFrame | StateFrame | Text


class Decoder:
    """Split bytes into lines."""

    def __init__(self, max_bytes: int = 4096) -> None:
        self.max_bytes, self.broken, self.skipped = max_bytes, 0, 0
        self._rest = b""

    def push(self, chunk: bytes) -> list[Item]:
        """Take bytes, return what is whole."""
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        if len(self._rest) > self.max_bytes:
            self.broken += 1
            self.skipped += len(self._rest)
            self._rest = b""
        return [Text(line) for line in lines]
