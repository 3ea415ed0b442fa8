"""Steps and states as frames, the bytes that `tcuq_frame.c` writes (SPEC.md section 18), written again."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.io.binary_frames import (
    CRC_BYTES,
    DECISIONS,
    FIXED,
    HEADER,
    MOST_CONTENT,
    POSTERIORS,
    STATE,
    line_bytes,
)
from tcuq.monitor.steps import NO_REASON, STEP_DTYPE

SIZE = 384
"""Bytes of a device's buffer, so of a frame."""

DECISION_BYTES = 42
"""Most bytes of one decision, a begun byte before it included."""

NUMBERS = ["uncertainty", "risk", "threshold", "severity", "persistence", "look", "expected_accuracy"]
"""Numbers of a decision in the order of a frame."""

FIELDS = (*NUMBERS, "flagged", "abstain", "warming_up", "low_mass", "alarm", "reason", "prediction", "answer")
"""What a decision holds, in the order of the tuples below."""

WIDTHS = (16, 16, 32, 32, 16, 16, 16)
"""Bits of each number in the first decision of a frame."""

FIRST_ORDER = (12, 12, 1, 11, 8, 1, 1)
NONE = 31
"""What stands for `NO_REASON` in a frame."""
WORD = 2**32


def encode_posteriors(
    fingerprint: int,
    boot: int,
    first: int,
    probs: npt.ArrayLike,
    features: npt.ArrayLike | None = None,
    size: int = SIZE,
) -> bytes:
    """Return the frames that a device sends of these steps, the bytes of `tcuq_frame_posteriors`."""
    rows = _int8_rows(probs)
    shape = rows.shape[1]
    if features is not None:
        more = _int8_rows(features)
        rows, shape = np.hstack([rows, more]), shape | more.shape[1] << 12
    a_frame = (_room(size, rows.shape[1]) - HEADER.size) // rows.shape[1]
    return b"".join(
        _framed(_header(POSTERIORS, fingerprint, boot, first + at, shape) + rows[at : at + a_frame].tobytes())
        for at in range(0, len(rows), a_frame)
    )


def encode_decisions(
    fingerprint: int,
    boot: int,
    first: int,
    steps: npt.NDArray[Any],
    classes: int,
    horizon: int,
    size: int = SIZE,
) -> bytes:
    """Return the frames that a device sends of these steps, the bytes of `tcuq_frame_decision`."""
    assert steps.dtype == STEP_DTYPE and steps.ndim == 1
    shift = horizon.bit_length() - 1 if horizon else 0
    rows = _decision_rows(steps)
    room, found, at = _room(size, DECISION_BYTES), [], 0
    while at < len(rows):
        head = _header(DECISIONS, fingerprint, boot, first + at, classes | shift << 12)
        bits = DecisionBits(classes, shift)
        while at < len(rows) and len(head) + len(bits.text) // 8 + DECISION_BYTES <= room:
            bits.add(rows[at])
            at += 1
        found.append(_framed(head + bits.content()))
    return b"".join(found)


def _decision_rows(steps: npt.NDArray[Any]) -> list[tuple[int, ...]]:
    """Return decisions as integers in the order of `FIELDS`."""
    columns = []
    for name in FIELDS:
        numbers = np.nan_to_num(steps[name]) * 65536 if name in NUMBERS else steps[name]
        columns.append(np.rint(numbers.astype(np.float64)).astype(np.int64).tolist())
    return list(zip(*columns, strict=True))


def encode_state(fingerprint: int, boot: int, seq: int, state: bytes, size: int = SIZE) -> bytes:
    """Return the frames in which a device sends its saved state, the bytes of `tcuq_frame_state`."""
    part, found = _room(size, 4) - HEADER.size - 3, []
    for at in range(0, len(state), part):
        head = _header(STATE, fingerprint, boot, seq + 1, at)
        found.append(_framed(head + len(state).to_bytes(3, "little") + state[at : at + part]))
    return b"".join(found)


def _room(size: int, row: int) -> int:
    """Return the bytes of content that fit, without the checksum; at least one row does."""
    most = min(max(size, line_bytes(FIXED + row)), line_bytes(MOST_CONTENT))
    return content_of(most) - CRC_BYTES


def _header(kind: int, fingerprint: int, boot: int, seq: int, shape: int) -> bytes:
    return HEADER.pack(kind, fingerprint, boot, seq % 2**32, seq >> 32, shape % 65536, shape >> 16)


def _framed(content: bytes) -> bytes:
    return b"\0" + stuffed(content + zlib.crc32(content).to_bytes(CRC_BYTES, "little")) + b"\0"


def _int8_rows(values: npt.ArrayLike) -> npt.NDArray[np.int8]:
    rows = np.asarray(values)
    assert rows.dtype == np.int8 and rows.ndim == 2
    return rows


def stuffed(content: bytes) -> bytes:
    r"""Return content without zero bytes, by COBS, in the shortest form."""
    *before, last = content.split(b"\0")
    found = bytearray()
    for part in before:
        while len(part) >= 254:
            found += b"\xff" + part[:254]
            part = part[254:]
        found.append(len(part) + 1)
        found += part
    while len(last) > 254:
        found += b"\xff" + last[:254]
        last = last[254:]
    found.append(len(last) + 1)
    return bytes(found + last)


def content_of(size: int) -> int:
    """Return the most bytes of content, checksum included, of a frame of `size` bytes on the line."""
    return size - 2 - (size - 2 + 254) // 255


class DecisionBits:
    """Decisions as bits, differences to the one before."""

    def __init__(self, classes: int, shift: int) -> None:
        self._width = (classes - 1).bit_length()
        self._shift = shift
        self._order = list(FIRST_ORDER)
        self._moves = [0, 0]
        self._before: Sequence[int] | None = None
        self.text = ""

    def add(self, step: Sequence[int]) -> None:
        """Take one decision, integers in the order of `FIELDS`."""
        flagged, abstain, warming_up, low_mass, alarm, reason, prediction, answer = step[7:]
        text = f"{flagged:b}{abstain:b}{warming_up:b}{low_mass:b}{alarm:02b}"
        if flagged:
            text += f"{NONE if reason == NO_REASON else reason:05b}"
        for number, expected in ((prediction, self._before[13] if self._before else 0), (answer, prediction)):
            text += f"1{number:0{self._width}b}" if number != expected else "0"
        if self._before is None:
            text += "".join(f"{value % WORD:0{width}b}" for value, width in zip(step, WIDTHS, strict=False))
        else:
            expected_numbers = predicted(step[0], self._before, self._moves, self._shift)
            text += self._number(0, step[0])
            for which in range(1, len(NUMBERS)):
                difference = (step[which] - expected_numbers[which]) % WORD
                text += self._number(which, (difference << 1) % WORD ^ (WORD - 1 if difference >> 31 else 0))
            self._moves[self._before[7]] = step[2] - self._before[2]
        self._before = step
        self.text += text

    def _number(self, which: int, value: int) -> str:
        order = self._order[which]
        width = (value >> order).bit_length()
        kept = width - 1 + order if width else order
        low = f"{value & ((1 << kept) - 1):0{kept}b}" if kept else ""
        self._order[which] = next_order(order, width, value)
        return "0" * width + "1" + low

    def content(self) -> bytes:
        """Return the bits so far, filled up to whole bytes by zeros."""
        size = -(-len(self.text) // 8)
        return int(self.text.ljust(8 * size, "0"), 2).to_bytes(size, "big") if size else b""


def next_order(order: int, width: int, value: int) -> int:
    """Return the order of a number's next code."""
    if width >= 2:
        return order + 1
    return order - 1 if order and not value >> (order - 1) else order


def predicted(
    uncertainty: int, before: Sequence[int], moves: Sequence[int], shift: int
) -> tuple[int, int, int, int, int, int, int]:
    """Return what the numbers of a decision are expected to be, from those before."""
    accuracy = before[6]
    if shift:
        accuracy += (65536 - uncertainty - accuracy) >> shift
    return 0, uncertainty, before[2] + moves[before[7]], before[3], before[4], before[5], accuracy
