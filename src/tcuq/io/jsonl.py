"""Logs as JSON lines: one object a step, read one at a time so that a live pipe can be answered."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..base.checks import guess, note_unknown
from ..base.errors import InputError, one_line
from ..base.json_text import check_depth, not_json
from ..base.limits import Limits
from ..log.class_names import ShiftNumbers, checked_names, class_number
from ..log.log import Log
from ..log.quantize import two_classes
from .sources import check_length
from .values import ALIASES, BESIDE, Kind, Shape, check_label, make_log

KEYS = ("probs", "features", "label", "segment", "shifted")
_ALL = ", ".join(KEYS)
NAMES = "names"
"""The one key of a line before the first step that names the classes: ``{"names": ["cat", "dog"]}``."""


class Row(NamedTuple):
    """One step of a stream."""

    probs: npt.NDArray[Any]
    features: npt.NDArray[Any] | None
    label: int | None
    segment: int | None
    shifted: int | None


class RowParser:
    """Read the steps of one stream; the first valid line settles keys, lengths and number type of the rest.

    With a `shape`, a line of another shape is the bad one, also when it is the first. `softmax` makes
    posteriors of logits. A line ``{"names": [...]}`` before all steps names the classes.
    """

    def __init__(
        self,
        shape: Shape | None = None,
        softmax: Any = None,
        where: str = "standard input",
        limits: Any = None,
    ) -> None:
        self._shape, self._softmax, self._where, self._limits = shape, softmax, where, limits
        self._keys: frozenset[str] = frozenset()
        self._first = ""
        self._told = False
        self._widths: dict[str, int] = {}
        self._kinds = {"probs": Kind("probs", logits=softmax is not None), "features": Kind("features")}
        self.names: tuple[str, ...] | None = None
        self.shifts = ShiftNumbers()

    def parse(self, text: str, line: int) -> Row | None:
        """Return the step of one line, None for names of classes; a bad line settles nothing."""
        return self.take(parse_object(text, ALIASES, self._limits), line)

    def take(self, content: dict[str, Any], line: int) -> Row | None:
        """Return the step of an object, as `parse` does of its text; keys that are not read are removed.

        Its keys are those of `KEYS`, not their aliases.
        """
        if content.keys() == {NAMES}:
            self._take_names(content[NAMES])
            return None
        self._check_keys(content)
        probs = self._numbers("probs", content["probs"])
        features = self._numbers("features", content["features"]) if "features" in content else None
        if self._shape is not None:
            self._shape.check_row(len(probs), None if features is None else len(features))
        raw = {"probs": self._kinds["probs"].judge(probs, content["probs"])}
        if features is not None:
            raw["features"] = self._kinds["features"].judge(features, content["features"])
        row = self._row(content, probs, features, raw)
        if not self._first:
            self._keys, self._first = frozenset(content), ", ".join(key for key in KEYS if key in content)
            for key, value in raw.items():
                self._widths[key] = len(content[key])
                self._kinds[key].settle(value, line)
        return row

    def _take_names(self, names: Any) -> None:
        if self._first or self.names is not None:
            raise InputError("value", "names come after the first line, expected before the first step")
        if not isinstance(names, list):
            raise InputError("value", f"names is {_short(names)}, expected a list of texts", "names")
        checked = checked_names(names, len(names) if self._shape is None else self._shape.classes)
        if self._shape is not None:
            self._shape.check_names(checked)
        self.names = checked

    def _check_keys(self, content: dict[str, Any]) -> None:
        unknown = [key for key in content if key not in KEYS]
        if "probs" not in content:
            raise InputError("missing", f"key 'probs' is missing, expected {_ALL}{guess(unknown, 'probs')}")
        if unknown and not self._told:
            note_unknown("key", [key for key in content if key not in BESIDE], KEYS, self._where)
            self._told = True
        for key in unknown:
            del content[key]
        if self._first and content.keys() != self._keys:
            odd = next(key for key in KEYS if (key in content) != (key in self._keys))
            what = "new" if odd in content else "missing"
            raise InputError("value", f"key {odd!r} is {what}; the first line has {self._first}")

    def _numbers(self, key: str, values: Any) -> list[float]:
        if not isinstance(values, list) or not values:
            raise InputError("value", f"{key} is {_short(values)}, expected a list of numbers", key)
        if not set(map(type, values)) <= {int, float}:
            odd = next(value for value in values if type(value) not in (int, float))
            raise InputError("value", f"{key} holds {_short(odd)}, expected numbers")
        most = self._widths.get(key, 1000 if key == "probs" else 256)
        if self._first and len(values) != most:
            raise InputError("value", f"{key} has {len(values)} values, expected {most} as on the first line")
        if len(values) > most:
            raise InputError("limit", f"{key} has {len(values)} values, expected at most {most}")
        try:
            return list(map(float, values))
        except OverflowError:
            raise InputError("limit", f"{key} holds an integer of more than 300 digits") from None

    def _row(
        self, content: dict[str, Any], probs: list[float], features: list[float] | None, raw: dict[str, bool]
    ) -> Row:
        if self.names is not None and max(2, len(probs)) != len(self.names):
            raise InputError("value", f"probs has {len(probs)} values, and there are {len(self.names)} names")
        if self.names is not None and isinstance(content.get("label"), str):
            content["label"] = class_number(content["label"], self.names)
        for key in ("label", "segment"):
            value = content.get(key)
            if key in content and (type(value) is not int or abs(value) > 2**53):
                hint = " (-1: none of the classes)" if key == "label" and value is None else ""
                raise InputError("value", f"{key} is {_short(value)}, expected an integer{hint}", key)
        shifted = content.get("shifted")
        known = isinstance(shifted, str) or (isinstance(shifted, int) and 0 <= shifted <= 255)
        if "shifted" in content and not known:
            expected = "expected true, false, 0 to 255 or a name"
            raise InputError("value", f"shifted is {_short(shifted)}, {expected}", "shifted")
        check_label(content.get("label", -1), max(2, len(probs)))
        array = np.array(probs, dtype=np.int8 if raw["probs"] else np.float64)
        kind = np.int8 if raw.get("features") else np.float64
        if self._softmax is not None:
            array = self._softmax(array)
        return Row(
            two_classes(array)[0] if len(array) == 1 else array,
            None if features is None else np.array(features, dtype=kind),
            content.get("label"),
            content.get("segment"),
            None if shifted is None else self.shifts.of(shifted),
        )


def _pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(items)
    if len(content) != len(items):
        twice = Counter(name for name, _ in items).most_common(1)[0][0]
        raise InputError("conflict", f"key {one_line(repr(twice), 60)} is there twice, expected once")
    return content


# One decoder for all lines: json.loads would build one for each.
_DECODE = json.JSONDecoder(object_pairs_hook=_pairs).decode


def parse_object(
    text: str, aliases: Mapping[str, str] | None = None, limits: Limits | None = None
) -> dict[str, Any]:
    """Return the object of one line; refuse anything else, and keys that stand twice."""
    check_length(text)
    check_depth(text, limits)
    try:
        content = _DECODE(text.strip())
    except (ValueError, RecursionError) as error:
        raise not_json(error) from None
    if not isinstance(content, dict):
        raise InputError("value", f"the line holds {_short(content)}, expected an object in braces")
    if aliases and not aliases.keys().isdisjoint(content):
        return _pairs([(aliases.get(key, key), value) for key, value in content.items()])
    return content


def _short(value: Any) -> str:
    try:
        text = json.dumps(value)
    except RecursionError:
        return "a deeply nested value"
    return text if len(text) <= 40 else f"{text[:37]}..."


class Steps:
    """The steps of one file, for `log_parts`."""

    def __init__(self, parser: RowParser) -> None:
        self._parser, self._taken, self.rows = parser, list[Row](), 0

    def add(self, line: str, number: int) -> None:
        """Take one line."""
        row = self._parser.parse(line, number)
        self._taken += [] if row is None else [row]
        self.rows = len(self._taken)

    def add_all(self, lines: list[str]) -> bool:
        """Leave it to `add`."""
        return False

    def log(self) -> Log:
        """Return what was taken, and forget it."""
        columns: dict[str, Any] = dict(zip(KEYS, zip(*self._taken, strict=True), strict=True))
        self._taken, self.rows = [], 0
        for key, values in columns.items():
            columns[key] = None if values[0] is None else np.array(values)
        return make_log(**columns, names=self._parser.names, shift_names=self._parser.shifts.names or None)
