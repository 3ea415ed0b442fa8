"""The header of a saved state, read as SPEC.md section 12 defines it, without the core."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

from ..base.errors import InputError
from .made import COUNTER_CODES
from .made import STATE_VERSION as VERSION
from .params import Params
from .signals import NUMBER, SIGNALS, SLOW

MAGIC = b"TCUQ"
HEADER = struct.Struct(f"<4sHHIHHI{COUNTER_CODES}B")
"""Magic, version, zero, signals, classes, features, fingerprint; the counters; depth."""
CRC_BYTES, FINGERPRINT = 4, slice(16, 20)

_FEEDBACK_BYTES = range(16, 2064, 4)
"""What labels need: a word, four numbers and one a step of `memory`, 2 bytes each, up to a whole word."""


@dataclass(frozen=True)
class State:
    """What a saved state says about the past, in the core's integers."""

    # Q16.16 but accuracy, Q0.24. `baseline` is a sum until `baseline_seen`, in 1/256 inputs, is complete.

    signals: tuple[str, ...]
    classes: int
    features: int
    fingerprint: int
    steps: int
    debt: int
    credit: int
    rise: int
    fall: int
    degradation: int
    stillness: int
    baseline: int
    baseline_seen: int
    accuracy: int
    alarm: int
    raised_for: int
    fill: int
    depth: int
    size: int


def read_state(content: bytes) -> State:
    """Return the header of a saved state, after its checksum and size were verified."""

    def refuse(why: str) -> InputError:
        return InputError("damaged", f"state of {len(content)} bytes is refused: {why}")

    if content[:4] != MAGIC:
        raise refuse("it does not begin with TCUQ")
    if len(content) < HEADER.size + CRC_BYTES:
        raise refuse(f"it is truncated, expected at least {HEADER.size + CRC_BYTES} bytes")
    _, version, _, mask, classes, features, fingerprint, *counters = HEADER.unpack_from(content)
    *counters, alarm, fill, _, depth = counters
    if version != VERSION:
        raise refuse(f"it has state version {version}, expected {VERSION}: start the monitor afresh")
    if zlib.crc32(content[:-CRC_BYTES]) != int.from_bytes(content[-CRC_BYTES:], "little"):
        raise refuse("its checksum is wrong, so it is damaged or truncated")
    signals = tuple(name for name in SIGNALS if mask >> NUMBER[name] & 1)
    sizes = _sizes(signals, classes, features, depth)
    if len(content) not in sizes and not any(len(content) - size in _FEEDBACK_BYTES for size in sizes):
        raise refuse(f"its header asks for {', '.join(map(str, sizes[:-1]))} or {sizes[-1]} bytes")
    whose = (signals, classes, features, fingerprint)
    return State(*(*whose, *counters, alarm & 3, alarm >> 2, fill, depth, len(content)))


def _sizes(signals: tuple[str, ...], classes: int, features: int, depth: int) -> tuple[int, ...]:
    """Return the bytes of a state with and without instant head and evidence: the parameters alone tell."""
    entry = 2 + classes * ("divergence" in signals) + features * ("instability" in signals)
    plain = HEADER.size + depth * entry + 4 * 8 * ("drift" in signals) + CRC_BYTES
    heads = {True} if set(signals) & set(SLOW) else {False, True}
    last = 4 * (8 if "distance" in signals else 1)
    learned = 2 * (5 * classes + 6)  # four beliefs and the class mix, six deficits
    return tuple(sorted({plain + last * evidence + each for evidence in heads for each in (0, learned)}))


def fingerprint(params: Params) -> int:
    """Return the CRC-32 that ties a state to its parameters."""
    return params.core().fingerprint()


def renewed(params: Params, content: bytes) -> bytes:
    """Return a state of version 0.3 under today's fingerprint of its parameters; any other one as it is."""
    old, new = (bytes.fromhex(name)[::-1] for name in (params.old_fingerprint, params.fingerprint))
    whole = zlib.crc32(content[:-CRC_BYTES]).to_bytes(CRC_BYTES, "little") == content[-CRC_BYTES:]
    if content[FINGERPRINT] != old or not whole:
        return content
    body = content[: FINGERPRINT.start] + new + content[FINGERPRINT.stop : -CRC_BYTES]
    return body + zlib.crc32(body).to_bytes(CRC_BYTES, "little")


def state_for(params: Params, content: bytes) -> State:
    """Return the header of a state that belongs to these parameters; refuse any other."""
    state = read_state(content)
    if f"{state.fingerprint:08x}" not in (params.fingerprint, params.old_fingerprint):
        problem = f"state of {len(content)} bytes is refused"
        raise InputError("conflict", f"{problem}: it belongs to a monitor with other parameters")
    return state
