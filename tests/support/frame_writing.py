"""Steps and states as frames of a device (SPEC.md section 18): contents of `gen_frames`, cut as in the C."""

from __future__ import annotations

import zlib
from bisect import bisect_left
from typing import Any

import numpy as np
import numpy.typing as npt
from gen_frames import (
    DECISIONS,
    FLAGS,
    GAUGES,
    NUMBERS,
    POSTERIORS,
    STATE,
    Row,
    decision_bits,
    header,
    little,
    whole_bytes,
)

from tcuq.io.binary_frames import CRC_BYTES, FIXED, HEADER, MOST_CONTENT, line_bytes
from tcuq.monitor.steps import STEP_DTYPE

SIZE = 384
"""Bytes of a device's buffer, so of a frame."""

DECISION_BYTES = 42
"""Most bytes of one decision, a begun byte before it included."""


def encode_posteriors(
    fingerprint: int,
    boot: int,
    first: int,
    probs: npt.NDArray[np.int8],
    features: npt.NDArray[np.int8] | None = None,
    size: int = SIZE,
    gauges: npt.NDArray[np.int16] | None = None,
) -> bytes:
    """Return the frames that a device sends of these steps, as `tcuq_frame_posteriors` or `_gauges`."""
    more = probs[:, :0] if features is None else features
    seen = probs[:, :0] if gauges is None else np.ascontiguousarray(gauges, "<i2").view(np.int8)
    rows, shape = np.hstack([probs, more, seen]).view(np.uint8), probs.shape[1] | more.shape[1] << 12
    kind, count = (POSTERIORS, b"") if gauges is None else (GAUGES, bytes([gauges.shape[1]]))
    a_frame = (_room(size, rows.shape[1] + len(count)) - HEADER.size - len(count)) // rows.shape[1]
    return b"".join(
        _framed(
            bytes(header(kind, fingerprint, boot, first + at, shape))
            + count
            + rows[at : at + a_frame].tobytes()
        )
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
    sight: bool = False,
) -> bytes:
    """Return the frames that a device sends of these steps, the bytes of `tcuq_frame_decision`."""
    assert steps.dtype == STEP_DTYPE and steps.ndim == 1
    shift = horizon.bit_length() - 1 if horizon else 0
    rows, found, at = _decision_rows(steps), b"", 0
    decision = DECISION_BYTES + 2 * sight
    room = _room(size, decision) - HEADER.size - decision
    while at < len(rows):

        def full(count: int, at: int = at) -> bool:
            return len(decision_bits(rows[at : at + count], classes, shift, sight)) // 8 > room

        most = min(len(rows) - at, room + 2)  # a decision has more than a byte
        part = rows[at : at + 1 + bisect_left(range(1, most), True, key=full)]
        head = header(DECISIONS, fingerprint, boot, first + at, classes | shift << 12 | sight << 16)
        found += _framed(bytes(head + whole_bytes(decision_bits(part, classes, shift, sight))))
        at += len(part)
    return found


def _decision_rows(steps: npt.NDArray[Any]) -> list[Row]:
    """Return decisions in integers."""
    columns = []
    names = (*NUMBERS, *FLAGS, "changed", "moved")
    for name in names:
        numbers = np.nan_to_num(steps[name]) * 65536 if name in NUMBERS else steps[name]
        columns.append(np.rint(numbers.astype(np.float64)).astype(np.int64).tolist())
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def encode_state(fingerprint: int, boot: int, seq: int, state: bytes, size: int = SIZE) -> bytes:
    """Return the frames in which a device sends its saved state, the bytes of `tcuq_frame_state`."""
    part = _room(size, 4) - HEADER.size - 3
    head = [bytes(header(STATE, fingerprint, boot, seq + 1, at)) for at in range(0, len(state), part)]
    size_bytes = bytes(little(len(state), 3))
    return b"".join(
        _framed(each + size_bytes + state[part * at : part * (at + 1)]) for at, each in enumerate(head)
    )


def _room(size: int, row: int) -> int:
    """Return the bytes of content that fit, without the checksum; at least one row does."""
    most = min(max(size, line_bytes(FIXED + row)), line_bytes(MOST_CONTENT))
    return most - 2 - (most - 2 + 254) // 255 - CRC_BYTES


def _framed(content: bytes) -> bytes:
    """Return content with its checksum, by COBS, between zeros; that of `gen_frames` takes too long."""
    *before, last = (content + zlib.crc32(content).to_bytes(CRC_BYTES, "little")).split(b"\0")
    found = bytearray(b"\0")
    for part in before:
        for at in range(0, len(part) // 254 * 254, 254):
            found += b"\xff" + part[at : at + 254]
        rest = part[len(part) // 254 * 254 :]
        found += bytes([len(rest) + 1]) + rest
    while len(last) > 254:
        found += b"\xff" + last[:254]
        last = last[254:]
    return bytes(found + bytes([len(last) + 1]) + last + b"\0")
