"""Logs as JSON lines: one object a step, read one at a time so that a live pipe can be answered."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..log import Log
from ..quantize import two_classes
from .sources import at_line
from .values import HIGH, LOW, SUM_TOLERANCE, Bad, bad_features, bad_posteriors, make_log, refuse

KEYS = ("probs", "features", "label", "segment", "shifted")


class Row(NamedTuple):
    """One step of a stream."""

    probs: npt.NDArray[Any]
    features: npt.NDArray[Any] | None
    label: int | None
    segment: int | None
    shifted: int | None


class RowParser:
    """Read the steps of one stream; the first line settles keys, lengths and number type of the rest.

    Examples
    --------
    >>> parse = RowParser().parse
    >>> parse('{"probs": [0.75, 0.25], "label": 1}').label
    1
    >>> parse('{"probs": [0.75, 0.25]}')
    Traceback (most recent call last):
    ...
    ValueError: key 'label' is missing; the first line has probs, label
    """

    def __init__(self) -> None:
        self._keys: frozenset[str] = frozenset()
        self._first = ""
        self._widths: dict[str, int] = {}
        self._raw: dict[str, bool] = {}

    def parse(self, text: str) -> Row:
        """Return the step of one line; a bad line is an error and settles nothing."""
        content = parse_object(text)
        for key in content:
            if key not in KEYS:
                raise ValueError(f"key {key!r} is unknown; {', '.join(KEYS)} are accepted")
        if "probs" not in content:
            raise ValueError(f"key 'probs' is missing; {', '.join(KEYS)} are accepted")
        if self._first and content.keys() != self._keys:
            odd = next(key for key in KEYS if (key in content) != (key in self._keys))
            what = "new" if odd in content else "missing"
            raise ValueError(f"key {odd!r} is {what}; the first line has {self._first}")
        probs, raw = self._numbers("probs", content["probs"])
        features, raw_features = None, False
        if "features" in content:
            features, raw_features = self._numbers("features", content["features"])
        if not _plausible(content["probs"], raw, posteriors=True):
            _complain(bad_posteriors(probs[None], raw))
        if features is not None and not _plausible(content["features"], raw_features, posteriors=False):
            _complain(bad_features(features[None], raw_features))
        row = self._row(content, probs, features, raw, raw_features)
        if not self._first:
            self._keys, self._first = frozenset(content), ", ".join(key for key in KEYS if key in content)
            self._widths["probs"], self._raw["probs"] = len(probs), raw
            if features is not None:
                self._widths["features"], self._raw["features"] = len(features), raw_features
        return row

    def _numbers(self, key: str, values: Any) -> tuple[npt.NDArray[Any], bool]:
        if not isinstance(values, list) or not values:
            raise ValueError(f"{key} is {_short(values)}; a list of numbers is accepted")
        kinds = set(map(type, values))
        if not kinds <= {int, float}:
            odd = next(value for value in values if type(value) not in (int, float))
            raise ValueError(f"{key} holds {_short(odd)}; numbers are accepted")
        most = self._widths.get(key, 1000 if key == "probs" else 256)
        if len(values) != most and (self._first or len(values) > most):
            accepted = (
                f"{most} are accepted, as on the first line"
                if self._first
                else f"at most {most} are accepted"
            )
            raise ValueError(f"{key} has {len(values)} values; {accepted}")
        raw = self._raw.get(key, kinds == {int})
        if raw and kinds != {int}:
            odd = next(value for value in values if type(value) is float)
            accepted = "the first line has integers, so int8, -128 to 127, is accepted"
            raise ValueError(f"{key} holds {odd!r}; {accepted} (write float posteriors as 1.0, not 1)")
        try:
            return np.array(values, dtype=np.float64), raw
        except OverflowError:
            raise ValueError(
                f"{key} holds an integer of more than 300 digits; numbers are accepted"
            ) from None

    @staticmethod
    def _row(
        content: dict[str, Any],
        probs: npt.NDArray[Any],
        features: npt.NDArray[Any] | None,
        raw: bool,
        raw_features: bool,
    ) -> Row:
        for key in ("label", "segment"):
            value = content.get(key)
            if key in content and (type(value) is not int or abs(value) > 2**53):
                raise ValueError(f"{key} is {_short(value)}; an integer is accepted")
        shifted = content.get("shifted")
        if "shifted" in content and not (isinstance(shifted, int) and 0 <= shifted <= 255):
            raise ValueError(f"shifted is {_short(shifted)}; true, false or 0 to 255 is accepted")
        classes = max(2, len(probs))
        if content.get("label", -1) >= classes:
            raise ValueError(f"label is {content['label']}; at most {classes - 1} is accepted")
        probs = probs.astype(np.int8) if raw else probs
        return Row(
            two_classes(probs)[0] if len(probs) == 1 else probs,
            features.astype(np.int8) if features is not None and raw_features else features,
            content.get("label"),
            content.get("segment"),
            None if shifted is None else int(shifted),
        )


def _plausible(values: list[float], raw: bool, posteriors: bool) -> bool:
    """Tell whether a line is certainly good; cheap, as nearly all lines are."""
    if raw:
        return min(values) >= LOW and max(values) <= HIGH
    total = sum(values)  # NaN and infinity spread into it and fail every comparison
    if posteriors:
        return min(values) >= 0 and max(values) <= 1 and abs(total - 1) < SUM_TOLERANCE * 0.99
    return abs(total) < 1e38 and min(values) > -1e38 and max(values) < 1e38


def _complain(bad: dict[int, str]) -> None:
    if bad:
        raise ValueError(bad[0])


def _pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(items)
    if len(content) != len(items):
        names = [name for name, _ in items]
        raise ValueError(f"key {next(n for n in names if names.count(n) > 1)!r} stands twice")
    return content


# One decoder for all lines: json.loads would build one for each.
_DECODE = json.JSONDecoder(object_pairs_hook=_pairs).decode


def parse_object(text: str) -> dict[str, Any]:
    """Return the object of one line; refuse anything else, and keys that stand twice.

    Examples
    --------
    >>> parse_object('{"a": 1}')
    {'a': 1}
    >>> parse_object('[1]')
    Traceback (most recent call last):
    ...
    ValueError: the line holds [1]; an object in braces is accepted
    """
    try:
        content = _DECODE(text.strip())
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error.msg} at column {error.colno}") from None
    except RecursionError:
        raise ValueError("not a step: the line nests too deeply") from None
    if not isinstance(content, dict):
        raise ValueError(f"the line holds {_short(content)}; an object in braces is accepted")
    return content


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def read_jsonl(lines: Iterable[str], where: str, on_bad: Bad | None = None) -> Log:
    """Read a log from JSON lines; blank lines are skipped.

    Parameters
    ----------
    lines : iterable of str
    where : str
        Name of the file in messages.
    on_bad : callable, optional
        Called with the message of each bad line, which is skipped; without it, a bad line is an error.

    Examples
    --------
    >>> log = read_jsonl(['{"probs": [-128, 127]}', '{"probs": [0, 0]}'], "log.jsonl")
    >>> log.probs.dtype, len(log)
    (dtype('int8'), 2)
    """
    parser = RowParser()
    rows: list[Row] = []
    for line, text in enumerate(lines, 1):
        if text.strip():
            try:
                rows.append(parser.parse(text))
            except ValueError as error:
                refuse(at_line(where, line, str(error)), on_bad)
    if not rows:
        raise ValueError(f"{where}: holds no steps; at least one line is needed")
    columns: list[Any] = [
        None if column[0] is None else np.array(column) for column in zip(*rows, strict=True)
    ]
    return make_log(*columns)
