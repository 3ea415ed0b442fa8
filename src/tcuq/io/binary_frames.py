"""Frames: the bytes by which a device tells a host of its steps (SPEC.md section 18), read and written."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

from ..monitor.steps import STEP_DTYPE
from .frame_codes import FIELDS, NUMBERS, DecisionBits, content_of, line_bytes, stuffed, unstuffed
from .frame_items import (
    CRC_BYTES,
    DECISION_BYTES,
    DECISIONS,
    FIXED,
    HEADER,
    KINDS,
    MOST_CONTENT,
    MOST_LINE,
    POSTERIORS,
    SIZE,
    STATE,
    DecisionsFrame,
    Item,
    Part,
    Parts,
    PosteriorsFrame,
    StateFrame,
    Text,
    opened,
)

__all__ = [
    "SIZE",
    "DecisionsFrame",
    "Decoder",
    "Item",
    "PosteriorsFrame",
    "StateFrame",
    "Text",
    "encode_decisions",
    "encode_posteriors",
    "encode_state",
    "is_text",
]

_PLAIN = bytes([9, 13, 27, *range(32, 127)])
"""ASCII that a line of text may hold: tab, return, escape (colors), and what is printed."""


class Decoder:
    r"""Find frames and lines of text among any bytes.

    Items do not depend on how the bytes are cut into chunks. A line of text comes out with its newline and a
    frame with its last byte: nothing waits for what follows. Empty lines are left out.

    Parameters
    ----------
    max_bytes : int
        A longer line of text is dropped. Frames have a bound of their own, 4,115 bytes.

    Attributes
    ----------
    broken : int
        Frames and lines that could not be read, as far as they were recognized.
    skipped : int
        Bytes that were part of no item, line ends and zeros between frames apart.

    Examples
    --------
    >>> decoder = Decoder()
    >>> frame = encode_posteriors(7, boot=1, first=0, probs=np.array([[100, -101]], dtype=np.int8))
    >>> decoder.push(b"hello\n" + frame[:9])
    [Text(line=b'hello')]
    >>> [found] = decoder.push(frame[9:])
    >>> found.fingerprint, found.boot, found.probs.tolist()
    (7, 1, [[100, -101]])
    >>> decoder.push(b"half a\xb0\n"), decoder.broken, decoder.skipped
    ([], 1, 7)
    """

    def __init__(self, max_bytes: int = 65536) -> None:
        if max_bytes < 1:
            raise ValueError(f"max_bytes is {max_bytes}, expected at least 1")
        self.max_bytes = max_bytes
        self.broken = 0
        self.skipped = 0
        self._held = bytearray()
        self._after_zero = False
        self._dropping = False
        self._state = Parts()

    def push(self, chunk: bytes) -> list[Item]:
        """Take bytes as they arrived; return what is complete.

        Parameters
        ----------
        chunk : bytes
            Any bytes; no content raises an exception.
        """
        self._held += chunk
        items: list[Item] = []
        while self._held and (self._frame(items) if self._after_zero else self._text(items)):
            pass
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
        elif line.rstrip(b"\r"):
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

    def _take(self, block: bytes, items: list[Item]) -> None:
        content = unstuffed(block)
        found = None if content is None else opened(content)
        if isinstance(found, Part):
            state, lost = self._state.take(found)
            self.broken += lost
            items += [state] if state is not None else []
        elif found is not None:
            items.append(found)
        else:
            # A device that starts again within a frame, and prints: what ends the block is text.
            first, *lines = block.split(b"\n")
            rest = lines.pop() if lines else b""
            kept: list[Item] = []
            while is_text(rest) and lines and is_text(lines[-1]):
                line = lines.pop().rstrip(b"\r")
                kept += [Text(line)] if line else []
            self.broken += 1
            self.skipped += len(first) + len(rest) + sum(map(len, lines))
            items += reversed(kept)


def is_text(line: bytes) -> bool:
    r"""Return whether bytes are a line of UTF-8 without control characters; an empty one is.

    Examples
    --------
    >>> is_text("3.5 °C".encode()), is_text(b"\x01"), is_text(b"\xb0")
    (True, False, False)
    """
    rest = line.translate(None, _PLAIN)
    if not rest:
        return True
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return min(rest) >= 128


def encode_posteriors(
    fingerprint: int,
    boot: int,
    first: int,
    probs: npt.ArrayLike,
    features: npt.ArrayLike | None = None,
    size: int = SIZE,
) -> bytes:
    """Return the frames that a device sends of these steps, the bytes of `tcuq_frame_posteriors`.

    Parameters
    ----------
    fingerprint, boot, first, probs, features
        As of `PosteriorsFrame`.
    size : int
        Bytes of the device's buffer, so of a frame; raised to those of one step.

    Examples
    --------
    >>> len(encode_posteriors(7, 1, 0, np.zeros((35, 10), dtype=np.int8))) / 35 <= 11
    True
    """
    rows = _int8_rows("probs", probs)
    if not 2 <= rows.shape[1] <= 1000:
        raise ValueError(f"probs have {rows.shape[1]} columns, expected 2 to 1000")
    classes, shape = rows.shape[1], rows.shape[1]
    if features is not None:
        more = _int8_rows("features", features)
        if len(more) != len(rows) or more.shape[1] > 256:
            raise ValueError(f"features have shape {more.shape}, expected ({len(rows)}, at most 256)")
        rows, shape = np.hstack([rows, more]), classes | more.shape[1] << 12
    a_frame = (_room(size, rows.shape[1]) - HEADER.size) // rows.shape[1]
    found = b""
    for at in range(0, len(rows), a_frame):
        head = _header(POSTERIORS, fingerprint, boot, first + at, shape)
        found += _framed(head + rows[at : at + a_frame].tobytes())
    return found


def encode_decisions(
    fingerprint: int,
    boot: int,
    first: int,
    steps: npt.NDArray[Any],
    classes: int,
    horizon: int,
    size: int = SIZE,
) -> bytes:
    """Return the frames that a device sends of these steps, the bytes of `tcuq_frame_decision`.

    Parameters
    ----------
    fingerprint, boot, first, steps
        As of `DecisionsFrame`.
    classes, horizon : int
        Of the parameters; `Params.horizon`, in steps.
    size : int
        As for `encode_posteriors`.

    Examples
    --------
    >>> from tcuq import Monitor, Params
    >>> params = Params(classes=2, reference=0.3)
    >>> steps = Monitor(params).run([[0.5, 0.5], [1.0, 0.0]])
    >>> [found] = Decoder().push(encode_decisions(7, 1, 0, steps, params.classes, params.horizon))
    >>> found.steps["risk"].tolist() == steps["risk"].tolist()
    True
    """
    if steps.dtype != STEP_DTYPE or steps.ndim != 1:
        raise TypeError(f"steps are {steps.dtype}, expected one row of tcuq.STEP_DTYPE a step")
    if not 2 <= classes <= 1000:
        raise ValueError(f"classes is {classes}, expected 2 to 1000")
    shift = horizon.bit_length() - 1 if horizon else 0
    columns = [
        np.rint(np.nan_to_num(steps[name]) * 65536).astype(np.int64)
        if name in NUMBERS
        else steps[name].astype(np.int64)
        for name in FIELDS
    ]
    room, found, at = _room(size, DECISION_BYTES), b"", 0
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    while at < len(rows):
        head = _header(DECISIONS, fingerprint, boot, first + at, classes | shift << 12)
        bits = DecisionBits(classes, shift)
        while at < len(rows) and len(head) + len(bits.text) // 8 + DECISION_BYTES <= room:
            bits.add(rows[at])
            at += 1
        found += _framed(head + bits.content())
    return found


def encode_state(fingerprint: int, boot: int, seq: int, state: bytes, size: int = SIZE) -> bytes:
    """Return the frames in which a device sends its saved state, the bytes of `tcuq_frame_state`.

    Parameters
    ----------
    fingerprint, boot, seq, state
        As of `StateFrame`.
    size : int
        As for `encode_posteriors`.

    Examples
    --------
    >>> Decoder().push(encode_state(7, 1, 41, b"state"))
    [StateFrame(fingerprint=7, boot=1, seq=41, state=b'state')]
    """
    part, found = _room(size, 4) - HEADER.size - 3, b""
    for at in range(0, len(state), part):
        head = _header(STATE, fingerprint, boot, seq + 1, at)
        found += _framed(head + len(state).to_bytes(3, "little") + state[at : at + part])
    return found


def _room(size: int, row: int) -> int:
    """Return the bytes of content that fit, without the checksum; at least one row does."""
    most = min(max(size, line_bytes(FIXED + row)), line_bytes(MOST_CONTENT))
    return content_of(most) - CRC_BYTES


def _header(kind: int, fingerprint: int, boot: int, seq: int, shape: int) -> bytes:
    for name, value, bits in (("fingerprint", fingerprint, 32), ("boot", boot, 32), ("seq", seq, 48)):
        if not 0 <= value < 1 << bits:
            raise ValueError(f"{name} is {value}, expected 0 to 2^{bits} - 1")
    return HEADER.pack(kind, fingerprint, boot, seq % 2**32, seq >> 32, shape % 65536, shape >> 16)


def _framed(content: bytes) -> bytes:
    return b"\0" + stuffed(content + zlib.crc32(content).to_bytes(CRC_BYTES, "little")) + b"\0"


def _int8_rows(name: str, values: npt.ArrayLike) -> npt.NDArray[np.int8]:
    rows = np.asarray(values)
    if rows.dtype != np.int8 or rows.ndim != 2:
        raise TypeError(f"{name} are {rows.dtype} of shape {rows.shape}, expected int8 of two dimensions")
    return rows
