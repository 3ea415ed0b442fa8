"""Frames: the bytes by which a device tells a host of its steps (SPEC.md section 18), read and written."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._core import decision_rows
from ..base.errors import wrong_value
from ..monitor.steps import STEP_DTYPE

POSTERIORS, DECISIONS, STATE, GAUGES = 0xF9, 0xFA, 0xFB, 0xFC
"""First byte of the content, by kind."""

KINDS = range(0xF8, 0x100)
"""Bytes that no UTF-8 text has: the second byte of every frame, of this version and of later ones."""

HEADER = struct.Struct("<BIIIHHB")
"""Kind, fingerprint, boot, seq (32 and 16 bits), and 24 bits whose meaning depends on the kind."""

CRC_BYTES = 4
FIXED = HEADER.size + CRC_BYTES
MOST_CONTENT = 4096
MOST_GAUGES = 16
MOST_STATE = 2**17
"""Bytes of content that no frame exceeds, gauges of a step, and bytes of a state, that no monitor exceeds."""


def line_bytes(content: int) -> int:
    """Return the most bytes on the line of a frame with so many bytes of content."""
    return content + (content + 253) // 254 + 2


MOST_LINE = line_bytes(MOST_CONTENT) - 1
"""Bytes of a frame after its first zero, at most."""


@dataclass(frozen=True, eq=False)
class PosteriorsFrame:
    """Steps by their inputs, which a monitor of the host judges.

    `boot` grows with every start of the device; `first` is the number of the first step since. Posteriors
    have scale 1/256 and zero point -128; gauges are as the core takes them, in units of the params.
    """

    fingerprint: int
    boot: int
    first: int
    probs: npt.NDArray[np.int8]
    features: npt.NDArray[np.int8] | None
    gauges: npt.NDArray[np.int16] | None = None


@dataclass(frozen=True, eq=False)
class DecisionsFrame:
    """Steps by what the device's own monitor said. As `Monitor.run` would have given them, to the bit."""

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
    """A line of text between frames, without its end."""

    line: bytes


Item = PosteriorsFrame | DecisionsFrame | StateFrame | Text


@dataclass(frozen=True)
class Part:
    """A part of a saved state: whose it is, the size of the whole, where this part begins."""

    whose: tuple[int, int, int]
    size: int
    at: int
    content: bytes


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
    if kind in (POSTERIORS, GAUGES):
        seen = body[0] if kind == GAUGES else 0
        body, row = body[kind == GAUGES :], classes + other + 2 * seen
        if other > 256 or not body or len(body) % row or (kind == GAUGES and not 1 <= seen <= MOST_GAUGES):
            return None
        rows = np.frombuffer(body, dtype=np.int8).reshape(-1, row)
        features = rows[:, classes : classes + other].copy() if other else None
        gauges = rows[:, classes + other :].copy().view("<i2") if seen else None
        return PosteriorsFrame(fingerprint, boot, seq, rows[:, :classes].copy(), features, gauges)
    if kind != DECISIONS:
        return None
    # In C, since every bit depends on those before; it refuses a horizon that is none as well.
    steps = decision_rows(body, classes, other)
    if steps is None:
        return None
    # Copied as bytes: numpy leaves those between fields as it finds them.
    rows = np.frombuffer(steps, dtype=np.uint8).copy().view(STEP_DTYPE)
    return DecisionsFrame(fingerprint, boot, seq, rows)


def unstuffed(block: bytes) -> bytes | None:
    """Return what COBS made of it, None for what is no COBS; `block` has no zero byte."""
    found, at, end, full = [], 0, len(block), False
    while at < end:
        code = block[at]
        # Nothing follows a full block where content ends with it.
        if at + code > end or (full and code == 1 and at + 1 == end):
            return None
        found.append(block[at + 1 : at + code])
        at += code
        full = code == 255
        if code < 255 and at < end:
            found.append(b"\0")
    return b"".join(found)


_PLAIN = bytes([9, 13, 27, *range(32, 127)])
"""ASCII that a line of text may hold: tab, return, escape (colors), and what is printed."""


class Decoder:
    """Find frames and lines of text among any bytes.

    Items do not depend on how the bytes are cut into chunks. A line of text comes out with its newline and
    a frame with its last byte: nothing waits for what follows. Blank lines are left out. A line longer than
    `max_bytes` is dropped; a frame has at most 4,115 bytes. `broken` counts frames and lines that could not
    be read, `skipped` bytes that were part of no item.
    """

    def __init__(self, max_bytes: int = 65536) -> None:
        if max_bytes < 1:
            raise wrong_value("max_bytes", max_bytes, "at least 1")
        self.max_bytes = max_bytes
        self.broken = 0
        self.skipped = 0
        self._held = bytearray()
        self._after_zero = False
        self._dropping = False
        self._state = bytearray()
        self._last: Part | None = None  # of a state that is not whole yet

    @property
    def held(self) -> int:
        """Bytes that are part of no complete item yet: who begins again that much earlier loses nothing."""
        return len(self._held) + self._after_zero

    def push(self, chunk: bytes) -> list[Item]:
        """Take bytes as they arrived; return what is complete. No content raises an exception."""
        self._held += chunk
        items: list[Item] = []
        while self._held and (self._frame(items) if self._after_zero else self._text(items)):
            pass
        return items

    def finish(self, cut: bool = False) -> list[Item]:
        """Take the end of the input; what comes afterwards starts over.

        After a `cut` a last line without a newline may be half a one and is dropped; else it is taken.
        """
        items: list[Item] = []
        # What may be the beginning of a frame is none; two bytes decide that.
        frame = self._after_zero and len(self._held) > 1
        if cut or frame:
            self._drop(bytes(self._held))
        elif self._held:
            self._line(bytes(self._held), items)
        self.broken += self._last is not None
        self._held.clear()
        self._after_zero = self._dropping = False
        self._last = None
        return items

    def _text(self, items: list[Item]) -> bool:
        """Take text up to a zero, or what there is of it; say whether there may be more to take."""
        held = self._held
        zero = held.find(0)
        *lines, rest = bytes(held if zero < 0 else held[:zero]).split(b"\n")
        for line in lines:
            self._line(line, items)
        if zero >= 0:
            self._drop(rest)
            self._dropping = False
            self._after_zero = True
            del held[: zero + 1]
            return True
        if self._dropping or len(rest) > self.max_bytes:
            self._drop(rest)
            self._dropping = True
            rest = b""
        del held[: len(held) - len(rest)]
        return False

    def _line(self, line: bytes, items: list[Item]) -> None:
        if self._dropping or len(line) > self.max_bytes:
            self._drop(line)
            self._dropping = False
        elif not is_text(line):
            self._drop(line)
        elif line.strip():
            items.append(Text(line.rstrip(b"\r")))

    def _drop(self, some: bytes) -> None:
        """Count bytes of no item; those of a line that is too long count once."""
        self.skipped += len(some)
        self.broken += bool(some) and not self._dropping

    def _frame(self, items: list[Item]) -> bool:
        """Take a frame, or see that there is none; say whether there may be more to take."""
        held = self._held
        if held[0] == 0:
            del held[:1]
            return True
        if len(held) < 2:
            return False
        if held[1] in KINDS:
            zero = held.find(0, 0, MOST_LINE)
            if zero < 0 and len(held) < MOST_LINE:
                return False
            if zero >= 0:
                self._take(bytes(held[:zero]), items)
                del held[: zero + 1]
                return True
        self._after_zero = False
        return True

    def _add(self, part: Part, items: list[Item]) -> None:
        """Put a saved state together; parts come in order, and one that does not loses its state."""
        last = self._last
        follows = last is not None and (last.whose, last.size) == (part.whose, part.size)
        if part.at == 0:
            self.broken += last is not None
            self._state = bytearray()
        elif not follows or len(self._state) != part.at:
            self.broken, self._last = self.broken + 1, None
            return
        self._state += part.content
        self._last = part
        if len(self._state) >= part.size:
            self._last = None
            fingerprint, boot, seq = part.whose
            items.append(StateFrame(fingerprint, boot, seq - 1, bytes(self._state)))

    def _take(self, block: bytes, items: list[Item]) -> None:
        content = unstuffed(block)
        item = None if content is None else opened(content)
        if isinstance(item, Part):
            self._add(item, items)
        elif item is not None:
            items.append(item)
        else:
            # A device that starts again within a frame, and prints: what ends the block is text.
            first, *lines = block.split(b"\n")
            rest = lines.pop() if lines else b""
            kept: list[Item] = []
            while is_text(rest) and lines and is_text(lines[-1]):
                line = lines.pop().rstrip(b"\r")
                kept += [Text(line)] if line.strip() else []
            self.broken += 1
            self.skipped += len(first) + len(rest) + sum(map(len, lines))
            items += reversed(kept)


def is_text(line: bytes) -> bool:
    r"""Return whether bytes are a line of UTF-8 without control characters; an empty one is."""
    rest = line.translate(None, _PLAIN)
    if not rest:
        return True
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return min(rest) >= 128
