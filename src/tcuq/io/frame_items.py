"""What a frame holds (SPEC.md section 18): its items, and how its content becomes one of them."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._core import decision_rows
from ..monitor.steps import STEP_DTYPE
from .frame_codes import line_bytes

POSTERIORS, DECISIONS, STATE = 0xF9, 0xFA, 0xFB
"""First byte of the content, by kind."""

KINDS = range(0xF8, 0x100)
"""Bytes that no UTF-8 text has: the second byte of every frame, of this version and of later ones."""

HEADER = struct.Struct("<BIIIHHB")
"""Kind, fingerprint, boot, seq (32 and 16 bits), and 24 bits whose meaning depends on the kind."""

CRC_BYTES = 4
FIXED = HEADER.size + CRC_BYTES
MOST_CONTENT = 4096
MOST_STATE = 2**17
"""Bytes of content that no frame exceeds, and of a saved state that no monitor exceeds."""

MOST_LINE = line_bytes(MOST_CONTENT) - 1
"""Bytes of a frame after its first zero, at most."""


@dataclass(frozen=True, eq=False)
class PosteriorsFrame:
    """Steps by their inputs, which a monitor of the host judges.

    `boot` grows with every start of the device; `first` is the number of the first step since. Posteriors
    have scale 1/256 and zero point -128.
    """

    fingerprint: int
    boot: int
    first: int
    probs: npt.NDArray[np.int8]
    features: npt.NDArray[np.int8] | None


@dataclass(frozen=True, eq=False)
class DecisionsFrame:
    """Steps by what the device's own monitor said.

    As `Monitor.run` would have given them, to the bit.
    """

    fingerprint: int
    boot: int
    first: int
    steps: npt.NDArray[Any]


@dataclass(frozen=True)
class StateFrame:
    """A saved state, put together from the frames that it came in.

    `seq` is the number of the last step that is in it; -1 when the device has taken none since its start.
    """

    fingerprint: int
    boot: int
    seq: int
    state: bytes


@dataclass(frozen=True)
class Text:
    r"""A line of text between frames, without its end.

    >>> from tcuq.io.binary_frames import Decoder
    >>> Decoder().push(b"battery low\n")
    [Text(line=b'battery low')]
    """

    line: bytes


Item = PosteriorsFrame | DecisionsFrame | StateFrame | Text


@dataclass(frozen=True)
class Part:
    """A part of a saved state: whose it is, the size of the whole, where this part begins."""

    whose: tuple[int, int, int]
    size: int
    at: int
    content: bytes


class Parts:
    """Put a saved state together; parts come in order."""

    def __init__(self) -> None:
        self._whose: tuple[tuple[int, int, int], int] | None = None
        self._content = bytearray()

    @property
    def unfinished(self) -> bool:
        """Whether parts are missing."""
        return self._whose is not None

    def take(self, part: Part) -> tuple[StateFrame | None, int]:
        """Return the state when this part completes it, and how many states or parts are lost."""
        whose, lost = (part.whose, part.size), 0
        if part.at == 0:
            lost = self._whose is not None
            self._whose, self._content = whose, bytearray()
        elif self._whose != whose or len(self._content) != part.at:
            self._whose = None
            return None, 1
        self._content += part.content
        if len(self._content) < part.size:
            return None, lost
        self._whose = None
        fingerprint, boot, seq = part.whose
        return StateFrame(fingerprint, boot, seq - 1, bytes(self._content)), lost


def opened(content: bytes) -> PosteriorsFrame | DecisionsFrame | Part | None:
    """Return what the content of a frame says, None where it is damaged or of another version."""
    if not FIXED < len(content) <= MOST_CONTENT:
        return None
    if zlib.crc32(content[:-CRC_BYTES]) != int.from_bytes(content[-CRC_BYTES:], "little"):
        return None
    kind, fingerprint, boot, low, high, shape_low, shape_high = HEADER.unpack_from(content)
    seq, shape = low | high << 32, shape_low | shape_high << 16
    body = content[HEADER.size : -CRC_BYTES]
    if kind == STATE:
        size = int.from_bytes(body[:3], "little")
        if len(body) < 4 or size > MOST_STATE or shape + len(body) - 3 > size:
            return None
        return Part((fingerprint, boot, seq), size, shape, body[3:])
    classes, other = shape & 0xFFF, shape >> 12
    if not 2 <= classes <= 1000:
        return None
    if kind == POSTERIORS:
        row = classes + other
        if other > 256 or len(body) % row:
            return None
        rows = np.frombuffer(body, dtype=np.int8).reshape(-1, row)
        features = rows[:, classes:].copy() if other else None
        return PosteriorsFrame(fingerprint, boot, seq, rows[:, :classes].copy(), features)
    if kind != DECISIONS:
        return None
    # In C, since every bit depends on those before; it refuses a horizon that is none as well.
    steps = decision_rows(body, classes, other)
    if steps is None:
        return None
    # Copied as bytes: numpy leaves those between fields as it finds them.
    rows = np.frombuffer(steps, dtype=np.uint8).copy().view(STEP_DTYPE)
    return DecisionsFrame(fingerprint, boot, seq, rows)
