"""From bytes to steps: JSON lines, CSV and binary frames, told apart line by line; one parser for all."""

from __future__ import annotations

import base64
import binascii
import csv
import json
import math
import re
from array import array
from collections.abc import Sequence
from typing import Any

from tcuq.base.errors import InputError, one_line
from tcuq.base.generated import name_in_csv
from tcuq.base.json_text import check_depth
from tcuq.base.limits import Limits, limits_given
from tcuq.base.unknown import unknown_text
from tcuq.io.binary_frames import DecisionsFrame, Decoder, Item, StateFrame, Text
from tcuq.io.jsonl import NAMES
from tcuq.io.values import ALIASES, Softmax, check_label, written_int8
from tcuq.monitor.class_names import checked_names, class_number
from tcuq.monitor.columns import Layout

from ..engine.events import MAX_NAME, MAX_NUMBER
from .arrivals import NO_TIME, Bad, BatchBuilder, DeviceState, Refused, check_name, seconds
from .decisions import FIELDS, decision_row

KEYS = (
    *("device", "boot", "seq", "probs", "features", "time", "version", "state", "label", "segment"),
    *("shifted", "step", "params", "answer_name", "at", *FIELDS),
)
"""Of a step, a state or a decision; `state` stands in the place of `probs`."""

MOST_BAD = 1000
"""Bad steps of one list that are looked at; those behind are counted."""

MOST_TOLD = 200
"""Keys that are looked at: a stream of noise must not fill the memory."""

MOST_COLUMNS = 1400
"""Of a CSV header: classes, features and the rest."""

MOST_DEVICES, MOST_KEPT, MOST_DECODERS = 1 << 20, 64, 256
"""Devices whose columns, segment and last unnumbered step are remembered; for which they are kept in a
position, which is written with each commit; and whose half-received states are waited for at a broker."""

GAP = 60.0
"""Seconds after which a stream that was interrupted, and does not number its steps, begins again."""

_TEXTS = ("device", "version", "params", "state", "reason")
"""Columns of CSV whose cells may look like numbers and be none."""

_INTEGER = re.compile(r"\s*[+-]?\d{1,300}\s*")
_CSV_NAMES = re.compile(r"\s*#\s*names\s*:", re.IGNORECASE)


def _once(items: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(items)
    if len(content) != len(items):
        raise ValueError("a key is there twice, expected once")
    return content


_DECODE = json.JSONDecoder(object_pairs_hook=_once).raw_decode
"""Of a text that begins with its value: `json.loads` would look for encodings and white space first."""


class StepReader:
    """Read what devices send into a `BatchBuilder`; what cannot be read is counted and stops nothing.

    `device` is whose steps these are where a line does not say it, `line` the limit of a line. `stream`:
    steps are of the time of their arrival unless they tell another one. Parameters are not known here:
    whether a row has the right width and sum is for the engine to judge.
    """

    def __init__(
        self,
        where: str,
        bad: Bad | None = None,
        *,
        device: str | None = None,
        softmax: Softmax | None = None,
        names: tuple[str, ...] | None = None,
        line: str = "line",
        stream: bool = False,
        limits: Limits | None = None,
    ) -> None:
        self.where, self.rows = where, BatchBuilder(bad or Bad(), softmax)
        self.device = None if device is None else check_name(device)
        self._stream, self._limit, self._limits = stream, line, limits_given(limits)
        self._names = names  # of the parameters, until a device tells its own
        self._known = set(KEYS)
        self.numbered = True  # each step told its boot and seq
        self._headers: dict[str | None, _Header] = {}
        self._decoders: dict[str | None, Decoder] = {}
        self._segments: dict[str, int] = {}
        self._last: dict[str, float] = {}
        self._gaps: dict[str, float] = {}
        self.begin()

    def begin(self) -> None:
        """Begin with a new connection. Columns stay: a device that was away does not write them again."""
        self._decoder = Decoder(getattr(self._limits, self._limit))

    def forget_columns(self) -> None:
        """Begin with a file that has columns of its own."""
        self._headers.clear()

    @property
    def held(self) -> int:
        """Bytes of the last ones that are half a line or frame."""
        return self._decoder.held

    def push(self, data: bytes, when: float = math.nan) -> None:
        """Take bytes that arrived at `when`."""
        self._take_bytes(self._decoder, data, None, when)

    def end(self, whole: bool) -> None:
        """End a connection: a last line without an end is taken if it is `whole`, else counted as broken."""
        if whole:
            self.push(b"\n")
        self.push(b"\0")  # ends whatever was begun
        self.begin()

    def ends_whole(self) -> bool:
        """Tell whether the bytes that are held are a whole line that lacks its end."""
        held, header = bytes(self._decoder._held).strip(), self._headers.get(None)
        if held[:1] in (b"{", b"["):
            return self._is_json(held)
        return bool(held) and header is not None and held.count(b",") + 1 == len(header.names)

    def prime(self, first: bytes) -> None:
        """Take what the beginning of a file says of the rest, columns and names of classes; no steps."""
        other = StepReader(self.where, device=self.device or "none", names=self._names, limits=self._limits)
        other.push(first)
        self._headers = other._headers
        self.rows.names = self.rows.names or other.rows.names
        self._names = other._names

    def message(self, payload: bytes, device: str | None, when: float) -> None:
        """Take a message: one step, a list, lines or frames, whole ones. `device` is as its topic says."""
        text = payload.strip()
        if text[:1] in (b"{", b"[") and (b"\n" not in text or self._is_json(text)):
            self._line(text, device, when)
            return
        decoder = self._decoders.pop(device, None) or Decoder(self._limits.message)
        self._take_bytes(decoder, payload + b"\n", device, when)
        if decoder.held > 1:  # of a message that breaks off
            self._take_bytes(decoder, b"\0", device, when)
        self._decoders[device] = decoder
        if len(self._decoders) > MOST_DECODERS:
            del self._decoders[next(iter(self._decoders))]

    def take(self, content: Any, device: str | None = None, when: float = math.nan, shown: str = "") -> None:
        """Take one step or a list of them; a bad one is counted and the others are kept.

        After `MOST_BAD` bad ones the rest of the list is refused at once: rubbish must not take much time.
        """
        steps, bad = content if isinstance(content, list) else (content,), 0
        for place, step in enumerate(steps, 1):
            try:
                self._step(step, device, when)
            except Refused as error:
                self._refuse(error, shown or str(step)[:60])
                bad += 1
                if bad == MOST_BAD and place < len(steps):
                    message = f"{self.where}: the rest of a list with {bad} bad steps"
                    self.rows.refuse("after bad steps", message, len(steps) - place)
                    return

    def interrupted(self) -> None:
        """Note that steps may have been lost without a number that tells it."""
        self._gaps = dict(self._last)

    def memory(self) -> dict[str, Any]:
        """Return what a position keeps of the past, as far as it is needed and short."""
        kept: dict[str, dict[str, Any]] = {"segments": self._segments, "last": self._last}
        return {name: dict(values) for name, values in kept.items() if 0 < len(values) <= MOST_KEPT}

    def recall(self, position: Any) -> None:
        """Take back what `memory` gave."""
        for name, values in (("segments", self._segments), ("last", self._last)):
            kept = position.get(name) if isinstance(position, dict) else None
            if isinstance(kept, dict):
                values.update((key, value) for key, value in kept.items() if type(value) in (int, float))
        self.interrupted()

    def segment_begins(self, device: str, segment: int) -> bool:
        """Tell whether a device is in another segment than before."""
        before = self._segments.get(device)
        if before is None and len(self._segments) >= MOST_DEVICES:
            self._segments.clear()
        self._segments[device] = segment
        return before is not None and before != segment

    def _refuse(self, error: Refused, shown: str) -> None:
        self.rows.refuse(error.kind, f"{self.where}: {error}: {shown!r}")

    def _take_bytes(self, decoder: Decoder, data: bytes, device: str | None, when: float) -> None:
        broken, skipped = decoder.broken, decoder.skipped
        first, newline, rest = (data, b"", b"") if 0 in data else data.partition(b"\n")
        self._items(decoder.push(first + newline), device, when)
        if newline and not decoder.held:
            # Nearly all input: lines among which no frame can be, and JSON says itself what is text.
            *lines, rest = rest.split(b"\n")
            for line in lines:
                if line[:1] == b"{" and len(line) <= decoder.max_bytes:
                    self._line(line, device, when)
                else:
                    self._items(decoder.push(line + b"\n"), device, when)
        self._items(decoder.push(rest), device, when)
        if decoder.broken > broken:
            kind, problem = "broken", "a damaged frame, or a line that is no text"
            if decoder.skipped - skipped > decoder.max_bytes:
                kind, problem = "long line", f"a line is longer, {self._limits.beyond(self._limit, None)}"
            elif data == b"\0":
                problem = "half a line or frame at the end of a connection"
            self.rows.refuse(kind, f"{self.where}: {problem}", decoder.broken - broken)

    def _items(self, items: list[Item], device: str | None, when: float) -> None:
        for item in items:
            if isinstance(item, Text):
                self._line(item.line, device, when)
            else:
                self._frame(item, device, when)

    def _line(self, line: bytes, device: str | None, when: float) -> None:
        try:
            text = line.decode().removeprefix("\ufeff").strip()
        except UnicodeDecodeError:
            self.rows.refuse("broken", f"{self.where}: a line is not UTF-8: {line[:60]!r}")
            return
        try:
            content = self._parsed(text) if text[:1] in ("{", "[") else self._row(text, device)
        except Refused as error:
            self._refuse(error, text[:60])
            return
        if content is not None:
            self.take(content, device, when, text[:60])

    def _parsed(self, text: str) -> Any:
        """Return the value of a text that begins and ends with it."""
        try:
            check_depth(text, self._limits)
            content, end = _DECODE(text)
            if end != len(text):
                raise ValueError(f"more follows at column {end + 1}")
            return content
        except (ValueError, RecursionError) as error:
            raise Refused("not JSON", one_line(f"not JSON: {error}")) from None

    def _is_json(self, text: bytes) -> bool:
        try:
            return self._parsed(text.decode()) is not None
        except ValueError:
            return False

    def _row(self, text: str, device: str | None) -> dict[str, Any] | None:
        """Return a line of CSV as an object; None for a header."""
        if (mark := _CSV_NAMES.match(text)) is not None:
            self._take_names([cell.strip() for cell in _cells(text[mark.end() :])])
            return None
        cells, header = _cells(text), self._headers.get(device)
        if header is not None and header.text == text:
            return None
        if 1 < len(cells) <= MOST_COLUMNS and (header is None or _number(cells[0]) is None):
            names = [cell.strip() for cell in cells]
            if {"p", "p0"} & set(names) or {"risk", "threshold"} <= set(names):
                if len(self._headers) >= MOST_DEVICES:
                    self._headers.clear()
                self._headers[device] = _Header(text, names)
                return None
        if header is None:
            raise Refused("not a step", "neither JSON nor a row below a CSV header")
        return header.content(cells)

    def _unusual(self, content: dict[str, Any]) -> dict[str, Any] | None:
        """Take other keys than those of a step; return the step, None for names of classes."""
        if content.keys() == {NAMES}:
            self._take_names(content[NAMES])
            return None
        renamed = {ALIASES.get(key, key): value for key, value in content.items()}
        if len(renamed) < len(content):
            raise Refused("not a step", f"a key is there as {', '.join(ALIASES)} and without its s")
        fresh = [key for key in renamed if key not in self._known]
        if fresh and len(self._known) < len(KEYS) + MOST_TOLD:
            self._known.update(fresh)
            text = unknown_text("key", fresh, KEYS)
            if text is not None:
                self.rows.note("note", f"{self.where}: {text}")
        return renamed

    def _take_names(self, names: Any) -> None:
        """Take names of classes; a device that starts again tells them again."""
        if not isinstance(names, list):
            raise Refused("names", f"names is {str(names)[:40]}, expected a list of texts")
        if self._names is not None and tuple(names) != self._names:
            raise Refused("names", f"names are {str(names)[:60]}, expected {list(self._names)} as before")
        try:
            self._names = self.rows.names = checked_names(names, len(names))
        except ValueError as error:
            raise Refused("names", str(error)) from None

    def _step(self, content: Any, device: str | None, when: float) -> None:
        """Take a step, a state or names as JSON gives them."""
        if type(content) is not dict:
            raise Refused("not a step", f"{str(content)[:40]} stands where a step is expected")
        if not self._known.issuperset(content):
            usual = self._unusual(content)
            if usual is None:
                return
            content = usual
        get = content.get
        named, boot, seq = get("device"), get("boot"), get("seq")
        if device is None and type(named) is str and 0 < len(named) <= MAX_NAME and named.isprintable():
            device = named
        else:
            device = self._whose(named, device)
        boot = -1 if boot is None else _whole("boot", boot)
        seq = -1 if seq is None else _whole("seq", seq)
        version = get("version")
        if version is None:
            version = get("params")
        if version is not None and not isinstance(version, str):
            raise Refused("version", f"version is {str(version)[:40]}, expected a text")
        if get("state") is not None:
            self.rows.add_state(DeviceState(device, boot, seq, _state(content["state"]), version))
            return
        if boot < 0 or seq < 0:
            self.numbered = False
        probs = get("probs")
        decided = probs is None and "risk" in content
        if decided:
            if seq < 0:
                step = get("step")
                seq = -1 if step is None else _whole("step", step)
            row = _decision(content)
        else:
            kind, probs = _numbers("probs", probs, self.rows.softmax is None)
            features = get("features")
            more, features = ("b", ()) if features is None else _numbers("features", features, False)
        label, segment = get("label"), get("segment")
        if label is not None and not decided:
            label = self._label(label, max(2, len(probs)))
        begins = False
        if segment is not None:
            if type(segment) is not int or abs(segment) > 2**53:
                raise Refused("segment", f"segment is {str(segment)[:40]}, expected an integer")
            begins = self.segment_begins(device, segment)
        if seq < 0 and self._stream:
            begins |= self._interrupted(device, when)
        time = get("time")
        if time is not None:
            when = seconds(time)
            if when != when:
                when = NO_TIME
        if decided:
            self.rows.add_rows(device, boot, [seq], when, version, row, None, begins)
        else:
            label = -1 if label is None else label
            self.rows.add_step(device, boot, seq, when, version, kind, probs, more, features, label, begins)

    def _whose(self, named: Any, device: str | None) -> str:
        """Return the device of a step; where its topic names one, no step may name another."""
        if named is None:
            device = device or self.device
            if device is None:
                raise Refused("device name", "key 'device' is missing")
            return device
        if device is not None and str(named) != device:
            raise Refused(
                "device name", f"device is {str(named)[:60]!r}, expected {device!r} as in its topic"
            )
        return check_name(named)

    def _label(self, label: Any, classes: int) -> int:
        try:
            if isinstance(label, str) and self._names is not None:
                label = class_number(label, self._names)
            if type(label) is not int or abs(label) > 2**53:
                raise Refused("label", f"label is {str(label)[:40]}, expected an integer")
            check_label(label, classes)
        except InputError as error:
            raise Refused("label", str(error)) from None
        return int(label)

    def _interrupted(self, device: str, when: float) -> bool:
        """Tell whether an unnumbered stream was interrupted for long before a step."""
        if device not in self._last and len(self._last) >= MOST_DEVICES:
            self._last.clear()
        self._last[device] = when
        return bool(self._gaps) and when - self._gaps.pop(device, when) > GAP

    def _frame(self, item: Item, device: str | None, when: float) -> None:
        assert not isinstance(item, Text)
        device = device or self.device
        if device is None:
            self._refuse(Refused("device name", "a binary frame names no device, its topic must"), "")
            return
        version = f"{item.fingerprint:08x}"
        if isinstance(item, StateFrame):
            self.rows.add_state(DeviceState(device, item.boot, item.seq, item.state, version))
            return
        if isinstance(item, DecisionsFrame):
            rows, features = item.steps, None
        else:
            rows, features = item.probs, item.features
        seqs = range(item.first, item.first + len(rows))
        if len(rows):
            self.rows.add_rows(device, item.boot, seqs, when, version, rows, features)


def _whole(key: str, value: Any) -> int:
    if type(value) is not int or not 0 <= value < MAX_NUMBER:
        raise Refused(key, f"{key} is {str(value)[:40]}, expected an integer from 0 on")
    return value


def _numbers(key: str, values: Any, posteriors: bool) -> tuple[str, Sequence[float]]:
    """Return a row, after "b" where it is int8 and "d" where it is float."""
    if isinstance(values, array):
        return values.typecode, values
    if not isinstance(values, list) or not values:
        raise Refused(key, f"{key} is {str(values)[:40]}, expected a list of numbers")
    kinds = set(map(type, values))
    if kinds == {float}:
        return "d", values
    if not kinds <= {int, float}:
        raise Refused(key, f"{key} holds something that is not a number, expected numbers")
    if kinds == {int} and written_int8(values, values, posteriors):
        return "b", values
    try:
        return "d", list(map(float, values))
    except OverflowError:
        raise Refused(key, f"{key} holds an integer of more than 300 digits, expected numbers") from None


def _decision(content: dict[str, Any]) -> Any:
    try:
        return decision_row(content)
    except (ValueError, TypeError, OverflowError) as error:
        raise Refused("decision", str(error)) from None


def _state(text: Any) -> bytes:
    try:
        if not isinstance(text, str):
            raise ValueError
        return base64.b64decode(text, validate=True)
    except (ValueError, binascii.Error):
        raise Refused("state", f"state is {str(text)[:30]!r}, expected base64") from None


class _Header:
    """Columns of a CSV stream."""

    def __init__(self, text: str, names: list[str]) -> None:
        decided = not {"p", "p0"} & set(names)
        try:
            layout = Layout(names, [], []) if decided else Layout.of(names)
        except ValueError as error:
            raise Refused("not a step", str(error)) from None
        self.text, self.names = text, layout.names
        place = {name: column for column, name in enumerate(self.names)}
        self._rows = {
            key: [place[name] for name in columns]
            for key, columns in (("probs", layout.probs), ("features", layout.features))
            if columns
        }
        inside = {column for columns in self._rows.values() for column in columns}
        self._plain = [(name, column) for name, column in place.items() if name and column not in inside]

    def content(self, cells: list[str]) -> dict[str, Any]:
        """Return a row as JSON would have it; an empty cell is a value that is not known."""
        if len(cells) != len(self.names):
            expected = f"expected {len(self.names)} as in the header"
            raise Refused("not a step", f"the row has {len(cells)} values, {expected}")
        content = {name: _value(name, cells[column].strip()) for name, column in self._plain}
        for key, columns in self._rows.items():
            content[key] = _values([cells[column] for column in columns])
        return {name: value for name, value in content.items() if value != ""}


def _cells(text: str) -> list[str]:
    try:
        return next(csv.reader([text], strict=True)) if '"' in text else text.split(",")
    except csv.Error as error:
        raise Refused("not a step", str(error)) from None


def _values(cells: list[str]) -> list[Any]:
    """Return numbers as they are written, each int or float."""
    text = "".join(cells)
    if text.count(".") == len(cells) and "_" not in text:
        try:
            return list(map(float, cells))
        except ValueError:
            pass
    return [_value("", cell) for cell in cells]


def _value(name: str, cell: str) -> Any:
    """Return a cell as JSON would have it."""
    if name in _TEXTS:
        return name_in_csv(cell) if name == "device" else cell
    number = _number(cell)
    return {"true": True, "false": False}.get(cell.lower(), cell) if number is None else number


def _number(cell: str) -> float | None:
    """Return a number as it is written, int or float; None for what is none."""
    if _INTEGER.fullmatch(cell):
        return int(cell)
    try:
        return None if "_" in cell else float(cell)
    except ValueError:
        return None
