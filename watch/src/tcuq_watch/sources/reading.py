"""From bytes to steps: JSON lines, CSV and binary frames, told apart line by line."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from tcuq.base.errors import InputError, one_line, wrong_value
from tcuq.base.limits import Limits, limits_given
from tcuq.base.unknown import unknown_text
from tcuq.io.binary_frames import DecisionsFrame, Decoder, PosteriorsFrame, StateFrame, Text
from tcuq.io.jsonl import KEYS, NAMES, RowParser, parse_object
from tcuq.io.values import ALIASES, Shape, Softmax
from tcuq.monitor.columns import Layout
from tcuq.monitor.params import Params

from ..engine.events import read_features
from .blocks import FIELDS, Block, DeviceState, RowsToBlock, decision_values, odd_steps

_OWN = ("boot", "seq", "time", "step", "params", "answer_name", "at")
"""Keys beside those of a log or a decision; `time` and `at` are those of whoever sent the line."""

MOST_TOLD = 200
"""Keys that are looked at: a stream of noise must not fill the memory."""

_INTEGER = re.compile(r"\s*[+-]?\d{1,300}\s*")
_CSV_NAMES = re.compile(r"\s*#\s*names\s*:", re.IGNORECASE)

Got = Block | DeviceState


class Reading:
    """Read what one device sends; a line that cannot be read is counted and never stops it.

    `why` and `other` say what was wrong with the last line of each kind; whoever shows `notes` empties it.
    """

    def __init__(self, params: Params, softmax: Softmax | None = None, limits: Limits | None = None) -> None:
        self._params, self._softmax, self._limits = params, softmax, limits_given(limits)
        self._fingerprint = int(params.fingerprint, 16)
        self.broken = self.others = 0
        self.why = self.other = ""
        self.notes: list[str] = []
        self.names: tuple[str, ...] | None = None
        self._told: set[str] = set()
        # Kept over connections: a device that was away for a moment does not write its header again.
        self._header: _Header | None = None
        self.begin()

    @property
    def held(self) -> int:
        """Bytes of the last ones that are half a line or frame."""
        return self._decoder.held

    def begin(self) -> None:
        """Begin with a new connection: another kind of lines may come."""
        self._decoder = Decoder(self._limits.live_line)
        self._counted = 0
        self._parser = RowParser(Shape.of(self._params), self._softmax, limits=self._limits)
        self._parser.names = self.names or self._params.names
        self._line = 0
        self._rows = RowsToBlock(self._params)

    def end(self, whole: bool, time: float) -> list[Got]:
        """End a connection: a last line without an end is taken if it is `whole`, else counted as broken."""
        found = self.push(b"\n", time) if whole else []
        # A zero ends whatever was begun.
        return found + self._take_bytes(b"\0", time, "half a line or frame at the end of a connection")

    def prime(self, head: bytes) -> None:
        """Take what the beginning of a file says of the rest: columns, names, kind of numbers; no steps."""
        counts = self.broken, self.others, self.why, self.other
        for item in Decoder(self._limits.live_line).push(head):
            if isinstance(item, Text) and (self._take_line(item.line, 0.0) or self._rows.done()):
                break
        self.broken, self.others, self.why, self.other = counts
        self._rows.done()

    def push(self, data: bytes, time: float) -> list[Got]:
        """Take bytes that arrived at `time`; return the steps that are whole now."""
        expected = self._limits.beyond("live_line", None)
        return self._take_bytes(
            data, time, f"a damaged frame, or a line that is no text or too long ({expected})"
        )

    def _take_bytes(self, data: bytes, time: float, why: str) -> list[Got]:
        found: list[Got] = []
        for item in self._decoder.push(data):
            if isinstance(item, Text):
                found += self._take_line(item.line, time)
                continue
            found += self._closed()
            if item.fingerprint != self._fingerprint:
                self._other(f"{item.fingerprint:08x}")
            elif isinstance(item, StateFrame):
                found.append(DeviceState(item.boot, item.seq, item.state))
            else:
                found += self._from_frame(item, time)
        self._count_frames(why)
        return found + self._closed()

    def _closed(self) -> list[Got]:
        done = self._rows.done()
        return [] if done is None else [done]

    def _count_frames(self, why: str) -> None:
        fresh = self._decoder.broken - self._counted
        if fresh:
            self._counted = self._decoder.broken
            self.broken += fresh
            self.why = why

    def _refuse(self, why: str) -> None:
        self.broken += 1
        self.why = one_line(why)

    def _other(self, fingerprint: Any) -> None:
        self.others += 1
        self.other = (
            f"made with parameters {one_line(str(fingerprint), 40)}, expected {self._params.fingerprint}"
        )

    def _from_frame(self, item: PosteriorsFrame | DecisionsFrame, time: float) -> list[Got]:
        params = self._params
        width = 0
        if isinstance(item, DecisionsFrame):
            count = len(item.steps)
            if (why := odd_steps(item.steps, params.classes)) is not None:
                self._refuse(f"a frame of decisions: {why}")
                return []
        else:
            count = len(item.probs)
            width = 0 if item.features is None else item.features.shape[1]
            fits = not params.features or width == params.features or not (width or read_features(params))
            if item.probs.shape[1] != params.classes or not fits:
                expected = f"{params.classes} and {params.features}"
                self._refuse(
                    f"a frame has {item.probs.shape[1]} classes and {width} features, expected {expected}"
                )
                return []
        if not count:
            return []
        seqs: list[int | None] = list(range(item.first, item.first + count))
        boots: list[int | None] = [item.boot] * count
        if isinstance(item, DecisionsFrame):
            return [Block([time] * count, boots, seqs, steps=np.asarray(item.steps))]
        features = item.features if params.features and width else None
        none: list[int | None] = [None] * count
        return [Block([time] * count, boots, seqs, item.probs, features, none, none)]

    def _take_line(self, line: bytes, time: float) -> list[Got]:
        self._line += 1
        text = line.decode("utf-8", errors="backslashreplace").strip().removeprefix("\ufeff")
        if not text:
            return []
        try:
            content = (
                parse_object(text, ALIASES, self._limits) if text.startswith("{") else self._from_cells(text)
            )
            done = None if content is None else self._take(content, time)
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            self._refuse(f"{error}: {text[:60]!r}")
            return []
        return [] if done is None else [done]

    def _take(self, content: dict[str, Any], time: float) -> Block | None:
        """Take a step; return the block before, where this one does not belong to it."""
        if content.keys() == {NAMES}:
            self._take_names(content[NAMES])
            return None
        boot, seq = _place(content, "boot"), _place(content, "seq")
        if content.get("params", self._params.fingerprint) != self._params.fingerprint:
            self._other(content["params"])
            return None
        if "probs" not in content and "risk" in content:
            if seq is None:
                seq = _place(content, "step")
            values = decision_values(content, self._params.classes)
            self._tell_unknown(content, (*FIELDS, *_OWN))
            return self._rows.add_decision(values, time, boot, seq)
        self._tell_unknown(content, (*KEYS, *_OWN))
        row = self._parser.take({key: content[key] for key in KEYS if key in content}, self._line)
        assert row is not None
        if row.features is None and read_features(self._params):
            raise InputError("missing", f"features are missing, expected {self._params.features}")
        return self._rows.add_row(row, time, boot, seq)

    def _take_names(self, given: Any) -> None:
        """Take names of classes; a device that starts again tells them again."""
        if self.names is not None and isinstance(given, list) and tuple(given) == self.names:
            return
        fresh = RowParser(Shape.of(self._params))
        fresh.take({NAMES: given}, self._line)
        if self.names is not None:
            raise InputError("conflict", f"names are {given}, expected {list(self.names)} as before")
        self.names = self._parser.names = fresh.names

    def _tell_unknown(self, content: dict[str, Any], known: Sequence[str]) -> None:
        if self._told.issuperset(content) or len(self._told) > MOST_TOLD:
            return
        fresh = [name for name in content if name not in self._told]
        self._told.update(fresh)
        text = unknown_text("key", fresh, known)
        if text is not None:
            self.notes.append(text)

    def _from_cells(self, text: str) -> dict[str, Any] | None:
        """Return a line of CSV as an object; None for a header."""
        if (mark := _CSV_NAMES.match(text)) is not None:
            self._take_names([cell.strip() for cell in _cells(text[mark.end() :])])
            return None
        cells = _cells(text)
        if len(cells) > 1 and (self._header is None or not _is_number(cells[0])):
            header = _Header.of(cells)
            if header is not None:
                self._header = header
                return None
        if self._header is None:
            raise InputError("value", "neither JSON nor a row below a CSV header")
        return self._header.content(cells)


class _Header:
    """Columns of a CSV stream."""

    def __init__(self, names: Sequence[str], probs: Sequence[str], features: Sequence[str]) -> None:
        place = {name: at for at, name in enumerate(names)}
        self._count = len(names)
        self._probs = [place[name] for name in probs]
        self._features = [place[name] for name in features]
        inside = {*self._probs, *self._features}
        self._plain = [(name, at) for name, at in place.items() if at not in inside]

    @classmethod
    def of(cls, cells: Sequence[str]) -> _Header | None:
        names = [cell.strip() for cell in cells]
        if "risk" in names and "threshold" in names:
            return cls(names, (), ())
        if not {"p", "p0"} & set(names):
            return None
        layout = Layout.of(names)
        return cls(layout.names, layout.probs, layout.features)

    def content(self, cells: Sequence[str]) -> dict[str, Any]:
        if len(cells) != self._count:
            raise InputError(
                "value", f"the row has {len(cells)} values, expected {self._count} as in the header"
            )
        found: dict[str, Any] = {name: _value(cells[at]) for name, at in self._plain}
        if self._probs:
            found["probs"] = _values([cells[at] for at in self._probs])
        if self._features:
            found["features"] = _values([cells[at] for at in self._features])
        # An empty cell is a place that is not known.
        return {name: value for name, value in found.items() if value != "" or name == "reason"}


def _cells(text: str) -> list[str]:
    if '"' not in text:
        return text.split(",")
    try:
        return next(csv.reader([text], strict=True))
    except csv.Error as error:
        raise InputError("damaged", str(error)) from None


def _values(cells: list[str]) -> list[Any]:
    """Return numbers as they are written, each int or float."""
    text = "".join(cells)
    if text.count(".") == len(cells) and "_" not in text:
        try:
            return list(map(float, cells))
        except ValueError:
            pass
    return [_value(cell) for cell in cells]


def _value(cell: str) -> Any:
    """Return a number as it is written, int or float, else the text."""
    if cell.isdecimal() and cell.isascii() and len(cell) < 300:
        return int(cell)
    if _INTEGER.fullmatch(cell):
        return int(cell)
    if _is_number(cell):
        return float(cell)
    return {"true": True, "false": False}.get(cell.strip().lower(), cell.strip())


def _is_number(text: str) -> bool:
    if "_" in text:
        return False
    try:
        float(text)
    except ValueError:
        return False
    return True


def _place(content: dict[str, Any], key: str) -> int | None:
    value = content.get(key)
    if value is None:
        return None
    if type(value) is not int or not 0 <= value <= 2**53:
        raise wrong_value(key, value, "an integer from 0 to 2^53")
    return value
