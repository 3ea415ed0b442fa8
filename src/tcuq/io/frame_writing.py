"""Steps and states as frames, the bytes that `tcuq_frame.c` writes (SPEC.md section 18)."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

from ..monitor.signals import SIGNALS
from ..monitor.steps import NO_REASON, STEP_DTYPE
from .frame_codes import FIELDS, NUMBERS, DecisionBits, content_of, line_bytes, stuffed
from .frame_items import (
    CRC_BYTES,
    DECISION_BYTES,
    DECISIONS,
    FIXED,
    HEADER,
    MOST_CONTENT,
    MOST_STATE,
    POSTERIORS,
    SIZE,
    STATE,
)


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
    fingerprint, boot, first : int
        As of `PosteriorsFrame`.
    probs : int8 array of shape (n, L)
        As of `PosteriorsFrame`.
    features : int8 array of shape (n, d), optional
        As of `PosteriorsFrame`.
    size : int, default 384
        Bytes of the device's buffer, so of a frame; raised to those of one step.

    Returns
    -------
    bytes
        One or more frames.

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
    """Return the frames that a device sends of these steps, the bytes of `tcuq_frame_decision`.

    Parameters
    ----------
    fingerprint, boot, first : int
        As of `DecisionsFrame`.
    steps : array of `STEP_DTYPE`
        As of `DecisionsFrame`.
    classes, horizon : int
        Of the parameters; `Params.horizon`, in steps.
    size : int, default 384
        Bytes of the device's buffer, as for `encode_posteriors`.

    Returns
    -------
    bytes
        One or more frames.

    Examples
    --------
    >>> from tcuq import Monitor, Params
    >>> from tcuq.io.binary_frames import Decoder
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
    if horizon and horizon not in (1 << power for power in range(4, 13)):
        raise ValueError(f"horizon is {horizon}, expected 0 or a power of two from 16 to 4096")
    rows = _decision_rows(steps, classes)
    room, found, at = _room(size, DECISION_BYTES), [], 0
    while at < len(rows):
        head = _header(DECISIONS, fingerprint, boot, first + at, classes | shift << 12)
        bits = DecisionBits(classes, shift)
        while at < len(rows) and len(head) + len(bits.text) // 8 + DECISION_BYTES <= room:
            bits.add(rows[at])
            at += 1
        found.append(_framed(head + bits.content()))
    return b"".join(found)


def _decision_rows(steps: npt.NDArray[Any], classes: int) -> list[tuple[int, ...]]:
    """Return decisions as integers in the order of `FIELDS`; refuse what no monitor says."""
    columns, most = [], {"alarm": 4, "reason": 256, "prediction": classes, "answer": classes}
    for name in FIELDS:
        numbers = np.nan_to_num(steps[name]) * 65536 if name in NUMBERS else steps[name]
        column = np.rint(numbers.astype(np.float64))
        low, high = (-(2**31), 2**31) if name in ("threshold", "severity") else (0, most.get(name, 65536))
        bad = np.flatnonzero((column < low) | (column >= high))
        if len(bad):
            raise ValueError(
                f"{name} of row {bad[0]} is {steps[name][bad[0]]}, outside of what a frame can hold"
            )
        columns.append(column.astype(np.int64).tolist())
    reason = steps["reason"]
    known = (reason == NO_REASON) | (steps["flagged"] & (reason < len(SIGNALS)))
    for at in np.flatnonzero(~known)[:1]:
        raise ValueError(f"reason of row {at} is {reason[at]}, expected {NO_REASON} or, if flagged, a signal")
    return list(zip(*columns, strict=True))


def encode_state(fingerprint: int, boot: int, seq: int, state: bytes, size: int = SIZE) -> bytes:
    """Return the frames in which a device sends its saved state, the bytes of `tcuq_frame_state`.

    Parameters
    ----------
    fingerprint, boot, seq : int
        As of `StateFrame`.
    state : bytes
        As of `StateFrame`.
    size : int, default 384
        Bytes of the device's buffer, as for `encode_posteriors`.

    Returns
    -------
    bytes
        One or more frames.

    Examples
    --------
    >>> from tcuq.io.binary_frames import Decoder
    >>> Decoder().push(encode_state(7, 1, 41, b"state"))
    [StateFrame(fingerprint=7, boot=1, seq=41, state=b'state')]
    """
    if len(state) > MOST_STATE:
        raise ValueError(f"state has {len(state)} bytes, expected at most {MOST_STATE}")
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
