"""The header of a saved state, read as SPEC.md section 12 defines it, without the core."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

from .params import Params
from .signals import BELIEF, NUMBER, SIGNALS

MAGIC = b"TCUQ"
VERSION = 2
HEADER_BYTES = 40


@dataclass(frozen=True)
class State:
    """What a saved state says about the past, in the core's integers.

    Parameters
    ----------
    signals : tuple of str
        Signals of the monitor that saved it.
    classes, features : int
    fingerprint : int
        CRC-32 of that monitor's parameters.
    steps, debt, credit, rise, fall, alarm : int
        Counters that outlive a reset.
    fill : int
        Past steps that are kept.
    depth : int
        Past steps that there is room for.
    size : int
        Bytes of the whole state.
    """

    signals: tuple[str, ...]
    classes: int
    features: int
    fingerprint: int
    steps: int
    debt: int
    credit: int
    rise: int
    fall: int
    alarm: int
    fill: int
    depth: int
    size: int


def read_state(content: bytes) -> State:
    """Return the header of a saved state, after its checksum and size were verified.

    Parameters
    ----------
    content : bytes

    Examples
    --------
    >>> from tcuq import Monitor, Params
    >>> read_state(Monitor(Params(classes=3)).save()).classes
    3
    >>> read_state(b"something else")
    Traceback (most recent call last):
    ...
    ValueError: state of 14 bytes is refused: it does not begin with TCUQ
    """

    def refuse(why: str) -> ValueError:
        return ValueError(f"state of {len(content)} bytes is refused: {why}")

    if content[:4] != MAGIC:
        raise refuse("it does not begin with TCUQ")
    if len(content) < HEADER_BYTES + 4:
        raise refuse(f"it is truncated; at least {HEADER_BYTES + 4} bytes are accepted")
    version, mask, classes, features, fingerprint, steps, debt, credit, rise, fall = struct.unpack_from(
        "<HHHHIIiiII", content, 4
    )
    alarm, fill, _, depth = content[36:40]
    if version != VERSION:
        raise refuse(f"it has state version {version}; {VERSION} is accepted")
    if zlib.crc32(content[:-4]) != int.from_bytes(content[-4:], "little"):
        raise refuse("its checksum is wrong, so it is damaged or truncated")
    signals = tuple(name for name in SIGNALS if mask >> NUMBER[name] & 1)
    size = _size(signals, classes, features, depth)
    if len(content) != size:
        raise refuse(f"its header asks for {size} bytes")
    return State(
        signals, classes, features, fingerprint, steps, debt, credit, rise, fall, alarm, fill, depth, size
    )


def _size(signals: tuple[str, ...], classes: int, features: int, depth: int) -> int:
    entry = 2 + classes * ("divergence" in signals) + features * ("instability" in signals)
    fast = "surprise_fast" in signals or "spread_fast" in signals
    slow = "surprise_slow" in signals or "spread_slow" in signals
    words = classes * (fast + slow) + features * ("displacement" in signals)
    words += ("strain_fast" in signals) + ("strain_slow" in signals)
    beliefs = classes * sum(name in signals for name in BELIEF)
    return HEADER_BYTES + depth * entry + 4 * words + 2 * beliefs + 4


def fingerprint(params: Params) -> int:
    """Return the CRC-32 that ties a state to its parameters.

    Parameters
    ----------
    params : Params

    Examples
    --------
    >>> from tcuq import Monitor
    >>> params = Params(classes=3)
    >>> read_state(Monitor(params).save()).fingerprint == fingerprint(params)
    True
    """
    p = params.integers()
    words = [p["version"], p["signals"], p["classes"], p["features"], p["zero_point"] % 65536, len(p["lags"])]
    words += [p["bias"], p["doubt_mix"], p["blend"], p["spread_scale"], p["level_num"], p["level_den"]]
    words += [
        p["reference"] + 65536 * p["anchor"],
        p["slope"],
        p["steep_slope"],
        p["knee"],
        p["budget_num"],
        p["budget_den"],
    ]
    words += [p["burst"], p["rise_reference"], p["fall_reference"], p["warmup"]]
    words += [p["rise_limit"], p["rise_cap"], p["fall_limit"], p["fall_cap"]]
    words += [lag + 65536 * weight for lag, weight in zip(p["lags"], p["lag_weights"], strict=True)]
    words += [coef % 65536 + 65536 * mean for coef, mean in zip(p["coef"], p["clean_mean"], strict=True)]
    if p["evidence"] is not None:
        head = p["evidence"]
        words += [head["clip"], head["allowance"]]
        words += [value % 65536 for value in (*head["coef"], *head["offset"])]
    return zlib.crc32(b"".join(struct.pack("<I", word % 2**32) for word in words))


def state_for(params: Params, content: bytes) -> State:
    """Return the header of a state that belongs to these parameters; refuse any other.

    Parameters
    ----------
    params : Params
    content : bytes
    """
    state = read_state(content)
    if state.fingerprint != fingerprint(params):
        raise ValueError(
            f"state of {len(content)} bytes is refused: it belongs to a monitor with other parameters"
        )
    return state
