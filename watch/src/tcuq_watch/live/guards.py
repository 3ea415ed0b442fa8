"""Checks on what comes in and goes out of the live server."""

from __future__ import annotations

import ipaddress
import json
import math
import secrets
from typing import Any
from urllib.parse import urlsplit


def as_json(value: Any) -> str:
    """Return JSON that every browser reads: numbers that are not finite become null.

    Examples
    --------
    >>> as_json({"level": float("nan"), "names": ["a"]})
    '{"level": null, "names": ["a"]}'
    """
    try:
        return json.dumps(value, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(value))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def same(given: bytes, expected: str) -> bool:
    """Compare in a time that tells nothing about where two secrets differ."""
    return secrets.compare_digest(given, expected.encode())


def is_whole(value: object) -> bool:
    """Tell whether a value from JSON is a whole number from 0 on that a browser can hold.

    Examples
    --------
    >>> [is_whole(value) for value in (0, -1, True, 1.0, 2**53)]
    [True, False, False, False, False]
    """
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53


def own_name(host: str) -> bool:
    """Tell whether a Host header names this machine by an address of its own.

    Any port is fine: a tunnel has its own.

    Examples
    --------
    >>> [own_name(host) for host in ("127.0.0.1:8357", "localhost", "[::1]:80", "localhost.evil.org")]
    [True, True, True, False]
    """
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
