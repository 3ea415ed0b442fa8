"""Frozen dataclasses from objects of JSON and back; errors name the field."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

from tcuq.base.checks import known
from tcuq.base.errors import InputError

_NAME = re.compile(r"[A-Za-z0-9_.-]+\Z")
_DIGEST = re.compile(r"[0-9a-f]{64}\Z")


def plain(value: Any) -> dict[str, Any]:
    """Return the fields of a dataclass as JSON has them; those that are None are left out."""
    found = {item.name: getattr(value, item.name) for item in fields(value)}
    return {
        name: list(each) if isinstance(each, tuple) else each
        for name, each in found.items()
        if each is not None
    }


def made(what: str, kind: type[Any], content: Any) -> Any:
    """Build a dataclass from an object of JSON."""
    if not isinstance(content, Mapping):
        raise ValueError(f"{what} is {content!r}, expected an object")
    items = fields(kind)
    names = [item.name for item in items]
    for name in content:
        if name not in names:
            accepted = f"one of {', '.join(names)}" if names else "none"
            raise ValueError(f"{what} has the unknown field {name!r}, expected {accepted}")
    for item in items:
        if item.default is MISSING and item.name not in content:
            raise ValueError(f"{what} lacks the field {item.name!r}")
    return kind(**content)


def chosen(what: str, key: str, content: Any, choices: Mapping[str, type[Any]]) -> Any:
    """Build the one of some dataclasses that a field of the object names."""
    if not isinstance(content, Mapping) or not isinstance(content.get(key), str):
        raise ValueError(f"{what} is {content!r}, expected an object with a name as {key!r}")
    name = known(f"{what} {key}", content[key], choices)
    return made(f"{what} {name}", choices[name], {k: v for k, v in content.items() if k != key})


def listed(what: str, value: Any) -> tuple[Any, ...]:
    """Return a list or a tuple as a tuple."""
    if not isinstance(value, (list, tuple)):
        raise ValueError(f"{what} is {value!r}, expected a list")
    return tuple(value)


def check_name(what: str, value: Any) -> None:
    """Refuse what cannot be a part of a source's name."""
    if not isinstance(value, str) or not _NAME.match(value):
        raise ValueError(f"{what} is {value!r}, expected letters, digits, '_', '-' and '.'")


def check_digest(what: str, value: Any) -> None:
    """Refuse what is neither None nor a SHA-256 in hexadecimal."""
    if value is not None and not (isinstance(value, str) and _DIGEST.match(value)):
        raise ValueError(f"{what} is {value!r}, expected 64 hexadecimal digits")


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON; a field that comes twice is refused."""
    content: dict[str, Any] = {}
    for name, value in pairs:
        if name in content:
            raise InputError("damaged", f"field {name!r} comes twice")
        content[name] = value
    return content
