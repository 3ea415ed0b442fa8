"""JSON from anywhere: nested no deeper than allowed, and every fault one kind of error."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import accumulate
from typing import Any

from .errors import InputError
from .limits import LEAST_NESTING, Limits, limits_given

# A string without an end reaches to the end of the text: each place is looked at once, whatever the text.
_STRINGS = re.compile(r'"(?:[^"\\]+|\\.)*(?:"|\\?\Z)', re.DOTALL)
_OTHERS = bytes(set(range(256)) - set(b"[]{}"))
_STEPS = bytes.maketrans(b"[{]}", b"\x02\x02\x00\x00")


def depth_of(text: str) -> int:
    """Return how deep lists and objects are nested; brackets in strings do not count."""
    outside = _STRINGS.sub("", text) if '"' in text else text
    # Two steps up or none, less one each: bytes are quick to sift, and brackets of UTF-8 are those of ASCII.
    ups = outside.encode("utf-8", "replace").translate(_STEPS, _OTHERS)
    return max(accumulate((up - 1 for up in ups), initial=0))


def check_depth(text: str, limits: Limits | None = None) -> None:
    """Refuse what is nested too deeply, before anything is made of it."""
    # Most texts have fewer brackets than they may nest, which is quick to see.
    brackets = text.count("[") + text.count("{")
    if brackets <= LEAST_NESTING:
        return
    given = limits_given(limits)
    depth = depth_of(text) if brackets > given.nesting else 0
    if depth > given.nesting:
        expected = given.beyond("nesting", depth, "levels")
        raise InputError("limit", f"nests too deeply: lists and objects have {depth:,} levels, {expected}")


def from_json(
    content: str | bytes,
    limits: Limits | None = None,
    pairs: Callable[[list[tuple[str, Any]]], Any] | None = None,
) -> Any:
    """Return the value of a JSON text, or of UTF-8; `pairs` makes an object of its keys and values."""
    try:
        text = content if isinstance(content, str) else content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError("damaged", f"not JSON: not UTF-8 at byte {error.start}") from None
    check_depth(text, limits)
    try:
        return json.loads(text.removeprefix("\ufeff"), object_pairs_hook=pairs)
    except (ValueError, RecursionError) as error:
        raise not_json(error) from None


def not_json(error: Exception) -> InputError:
    """Return what Python says of a text that is not JSON as an error of ours; one of ours stays."""
    if isinstance(error, InputError):
        return error
    why = "nests too deeply" if isinstance(error, RecursionError) else "an integer has thousands of digits"
    if isinstance(error, json.JSONDecodeError):
        line = f"line {error.lineno}, " if "\n" in error.doc else ""
        why = f"unexpected text at {line}column {error.colno}"
    return InputError("damaged", f"not JSON: {why}")
