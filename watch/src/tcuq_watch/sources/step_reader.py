"""From bytes to steps: JSON lines, CSV and binary frames, told apart line by line; one parser for all."""

from __future__ import annotations

import base64
import csv
import json
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tcuq.base.errors import InputError
from tcuq.base.fixed import ONE
from tcuq.base.json_text import check_depth, not_json
from tcuq.base.limits import Limits, limits_given
from tcuq.io.binary_frames import DecisionsFrame, Decoder, Item, StateFrame, Text
from tcuq.io.decision_files import LIMITS, today
from tcuq.io.log_rows import GAUGE_NAMES, NAMES, written_int8
from tcuq.io.rows import name_in_csv
from tcuq.io.values import check_label
from tcuq.log.class_names import checked_names, class_number
from tcuq.log.columns import Layout
from tcuq.log.log import Softmax
from tcuq.monitor.made import WAS
from tcuq.monitor.signals import NUMBER, REASONS
from tcuq.monitor.steps import ACTIONS, NO_REASON, NOT_MOVED, STEP_DTYPE, actions_of

from ..engine.events import IN_UNITS, MAX_NUMBER
from ..engine.marks import Mark
from .arrivals import Bad, BatchBuilder, DeviceState, Refused, is_name, seconds

MOST_BAD, MOST_COLUMNS = 1000, 1400
"""Bad steps of one list that are looked at (those behind are counted), and columns of a CSV header."""

MOST_DEVICES, MOST_KEPT, MOST_DECODERS = 1 << 20, 64, 256
"""Devices whose columns and last unnumbered step are remembered; for which they are kept in a position, which
is written with each commit; and whose half-received states are waited for at a broker."""

GAP = 60.0
"""Seconds after which a stream that was interrupted, and does not number its steps, begins again."""

NO_TIME = math.inf
"""Stands for a time that is none: the fleet counts it as a bad time and takes the event without one."""

_TEXTS = ("device", "version", "params")
"""Columns of CSV whose cells may look like numbers and be none."""

_HEADER = re.compile(r"(^|,)[\s\"]*p0?[\s\"]*(,|$)")
_CSV_NAMES = re.compile(r"\s*#\s*names\s*:", re.IGNORECASE)

_FIELDS = STEP_DTYPE.names or ()
_NOTHING = {
    **dict.fromkeys(_FIELDS, 0),
    **{"reason": NO_REASON, "moved": NOT_MOVED, "expected_accuracy": math.nan},
}
"""Fields of a decision, and what stands for those that are not told."""

_DECODE = json.JSONDecoder().raw_decode
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
        self.where, self.bad = where, bad or Bad()
        self.rows = BatchBuilder(self.bad, softmax)
        self.device = device
        self._stream, self._limit, self._limits = stream, line, limits_given(limits)
        self._names = names  # of the parameters, until a device tells its own
        self._gauge_names: tuple[str, ...] | None = None
        self.headers: dict[str, tuple[str, Layout]] = {}
        self._decoders: dict[str | None, Decoder] = {}
        self._last: dict[str, float] = {}
        self._gaps: dict[str, float] = {}
        self.begin()

    def begin(self) -> None:
        """Begin with a new connection; columns stay."""
        self._decoder = Decoder(getattr(self._limits, self._limit))

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
        held, header = bytes(self._decoder._held).strip(), self.headers.get("")
        if held[:1] in (b"{", b"["):
            return self._is_json(held)
        return bool(held) and header is not None and held.count(b",") + 1 == len(header[1].names)

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
                    self.bad("after bad steps", message, len(steps) - place)
                    return

    def interrupted(self) -> None:
        """Note that steps may have been lost without a number that tells it."""
        self._gaps = dict(self._last)

    def memory(self) -> dict[str, Any]:
        """Return what a position keeps of the past, as far as it is needed and short."""
        columns = {device: text for device, (text, _) in self.headers.items()}
        kept: dict[str, Any] = {"last": self._last, "columns": columns}
        kept = {name: dict(values) for name, values in kept.items() if 0 < len(values) <= MOST_KEPT}
        told = {NAMES: self.rows.names, GAUGE_NAMES: self._gauge_names}
        return kept | {key: list(names) for key, names in told.items() if names is not None}

    def recall(self, position: dict[str, Any]) -> None:
        """Take back what `memory` gave."""
        self._last.update(position.get("last", {}))
        for device, text in position.get("columns", {}).items():
            self.headers[device] = text, Layout.of(_cells(text))
        if "names" in position:
            self._names = self.rows.names = tuple(position["names"])
        if GAUGE_NAMES in position:
            self._gauge_names = tuple(position[GAUGE_NAMES])
        self.interrupted()

    def _refuse(self, error: Exception, shown: str) -> None:
        self.bad(getattr(error, "kind", "not a step"), f"{self.where}: {error}: {shown!r}")

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
            kind, problem = "broken", "a damaged frame, half a line, or a line that is not text"
            if decoder.skipped - skipped > decoder.max_bytes:
                kind, problem = "long line", f"a line is longer, {self._limits.beyond(self._limit, None)}"
            self.bad(kind, f"{self.where}: {problem}", decoder.broken - broken)

    def _items(self, items: Iterable[Item], device: str | None, when: float) -> None:
        for item in items:
            if isinstance(item, Text):
                self._line(item.line, device, when)
            else:
                self._frame(item, device or self.device, when)

    def _line(self, line: bytes, device: str | None, when: float) -> None:
        try:
            text = line.decode().removeprefix("\ufeff").strip()
        except UnicodeDecodeError:
            self.bad("broken", f"{self.where}: a line is not UTF-8: {line[:60]!r}")
            return
        try:
            content = self._parsed(text) if text[:1] in ("{", "[") else self._row(text, device or "")
        except (Refused, csv.Error, InputError) as error:
            self._refuse(error, text[:60])
            return
        if content is not None:
            self.take(content, device, when, text[:60])

    def _parsed(self, text: str) -> Any:
        """Return the value of a text that begins and ends with it."""
        try:
            check_depth(text, self._limits)
            content, end = _DECODE(text)
        except (ValueError, RecursionError) as error:
            raise Refused("not JSON", str(not_json(error))) from None
        if end != len(text):
            raise Refused("not JSON", f"not JSON: more follows at column {end + 1}")
        return content

    def _is_json(self, text: bytes) -> bool:
        try:
            return self._parsed(text.decode()) is not None
        except ValueError:
            return False

    def _row(self, text: str, device: str) -> dict[str, Any] | None:
        """Return a line of CSV as an object; None for a header."""
        if (mark := _CSV_NAMES.match(text)) is not None:
            self._take_names([cell.strip() for cell in _cells(text[mark.end() :])])
            return None
        cells, (header, layout) = _cells(text), self.headers.get(device, ("", None))
        if header == text:
            return None
        if 1 < len(cells) <= MOST_COLUMNS and _HEADER.search(text):
            _remember(self.headers, device, (text, Layout.of(cells)))
            return None
        if layout is None:
            raise Refused("not a step", "neither JSON nor a row below a CSV header")
        if len(cells) != len(layout.names):
            expected = f"expected {len(layout.names)} as in the header"
            raise Refused("not a step", f"the row has {len(cells)} values, {expected}")
        values = {name: _value(name, cell.strip()) for name, cell in zip(layout.names, cells, strict=True)}
        return joined_columns(layout, {name: value for name, value in values.items() if value != ""})

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
        if content and content.keys() <= {NAMES, GAUGE_NAMES}:
            if NAMES in content:
                self._take_names(content[NAMES])
            if GAUGE_NAMES in content:
                self._gauge_names = _names_of_gauges(content[GAUGE_NAMES], self._gauge_names)
            return
        get = content.get
        device = self._whose(get("device"), device)
        boot, seq = _whole("boot", get("boot")), _whole("seq", get("seq"))
        version = get("version", get("params"))
        if version is not None and not isinstance(version, str):
            raise Refused("version", f"version is {str(version)[:40]}, expected a text")
        if get("state") is not None:
            self.rows.add_state(DeviceState(device, boot, seq, _state(content["state"]), version))
            return

        if get("label") is not None and not content.keys() & {"probs", "risk"}:
            seq = _whole("step", get("step")) if seq < 0 else seq
            if not isinstance(content["label"], (str, int)):
                raise Refused(
                    "label", f"label is {str(content['label'])[:40]}, expected a class, true or false"
                )
            self.rows.add_state(Mark(device, boot, seq, content["label"], version))
            return

        values, features, label = get("probs"), get("features"), get("label", get("labels"))
        kind, features_kind, named = "", "b", None
        gauges: tuple[float, ...] = ()
        if values is None and "risk" in content:
            seq = _whole("step", get("step")) if seq < 0 else seq
            values, features, label = _decision(content), (), -1
        else:
            kind, values = _numbers("probs", values, self.rows.softmax is None)
            features_kind, features = ("b", ()) if features is None else _numbers("features", features, False)
            label = -1 if label is None else self._label(label, max(2, len(values)))
            if get("gauges") is not None:
                gauges = tuple(map(float, _numbers("gauges", content["gauges"], False)[1]))
                named = _names_of_gauges(get(GAUGE_NAMES), None) or self._gauge_names

        begins = False
        if seq < 0 and self._stream:
            _remember(self._last, device, when)
            begins = when - self._gaps.pop(device, when) > GAP
        if get("time") is not None:
            when = seconds(content["time"])
            when = NO_TIME if math.isnan(when) else when
        self.rows.add_steps(
            device,
            boot,
            seq,
            when,
            version,
            kind,
            values,
            features_kind,
            features,
            label,
            begins,
            gauges=gauges,
            gauge_names=named,
        )

    def _whose(self, named: Any, device: str | None) -> str:
        """Return the device of a step; where its topic names one, no step may name another."""
        name = device or self.device if named is None else str(named) if type(named) is int else named
        if not is_name(name) or (device is not None and name != device):
            expected = "1 to 128 printable characters" if device is None else f"{device!r} as in its topic"
            raise Refused("device name", f"device is {str(name)[:60]!r}, expected {expected}")
        return str(name)

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

    def _frame(self, item: Any, device: str | None, when: float) -> None:
        if device is None:
            self.bad("device name", f"{self.where}: a binary frame names no device, its topic must")
            return
        version = f"{item.fingerprint:08x}"
        if isinstance(item, StateFrame):
            self.rows.add_state(DeviceState(device, item.boot, item.seq, item.state, version))
            return
        if isinstance(item, DecisionsFrame):
            kind, values, count = "", item.steps, len(item.steps)
            tables: list[Any] = [None, None]
        else:
            kind, values, count = "b", item.probs.ravel().tolist(), len(item.probs)
            tables = [item.features, item.gauges]
        features, gauges = (() if table is None else table.ravel().tolist() for table in tables)
        place = device, item.boot, item.first, when, version
        seen: dict[str, Any] = {"gauges": gauges, "gauge_names": IN_UNITS if gauges else None}
        self.rows.add_steps(*place, kind, values, "b", features, count=count, **seen)


def _remember(values: dict[str, Any], device: str, value: Any) -> None:
    """Keep a value of a device; a stream of made-up names must not fill the memory."""
    if device not in values and len(values) >= MOST_DEVICES:
        values.clear()
    values[device] = value


def _names_of_gauges(names: Any, before: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Return names of gauges; refuse what is none, and others than before."""
    if names is None:
        return before
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise Refused("names", f"gauge_names is {str(names)[:40]}, expected a list of texts")
    if before is not None and tuple(names) != before:
        raise Refused("names", f"gauge_names are {str(names)[:60]}, expected {list(before)} as before")
    return tuple(names)


def _whole(key: str, value: Any) -> int:
    if value is None:
        return -1
    if type(value) is not int or not 0 <= value < MAX_NUMBER:
        raise Refused(key, f"{key} is {str(value)[:40]}, expected an integer from 0 on")
    return value


def _numbers(key: str, values: Any, posteriors: bool) -> tuple[str, Sequence[float]]:
    """Return a row, after "b" where it is int8 and "d" where it is float."""
    kinds = set(map(type, values)) if isinstance(values, list) else set()
    if kinds == {float}:
        return "d", values
    if not kinds or not kinds <= {int, float}:
        raise Refused(key, f"{key} is {str(values)[:60]}, expected a list of numbers")
    if kinds == {int} and written_int8(values, posteriors):
        return "b", values
    try:
        return "d", list(map(float, values))
    except OverflowError:
        raise Refused(key, f"{key} holds an integer of more than 300 digits, expected numbers") from None


def _decision(content: dict[str, Any]) -> Any:
    """Return the decision of one line as one row of `tcuq.STEP_DTYPE`; its ranges are for the engine."""
    found = dict(zip(today(list(content)), content.values(), strict=True))
    fields = {name: found[name] for name in _FIELDS if found.get(name) not in (None, "")}
    for name, other in (("answer", "prediction"), ("prediction", "answer")):
        if other in fields:
            fields.setdefault(name, fields[other])
    if not fields.keys() >= {"risk", "threshold", "answer"}:
        raise Refused("decision", "a key is missing, expected risk, threshold and answer")
    values = {**_NOTHING, **{name: _field(name, value) for name, value in fields.items()}}
    values["flagged"] = values["risk"] >= values["threshold"]
    step = np.array([tuple(values[name] for name in _FIELDS)], dtype=STEP_DTYPE)
    if "action" not in fields:
        step["action"] = actions_of(step)
    return step


def _field(name: str, value: Any) -> float:
    """Return a value of a decision as a number; reason and action are words."""
    if name == "action" and value in ACTIONS:
        return ACTIONS.index(value)
    if name == "reason" and isinstance(value, str) and WAS.get(value, value) in REASONS:
        return REASONS[WAS.get(value, value)]
    number: Any = None if isinstance(value, str) else value
    low, high = (0, len(NUMBER) - 1) if name == "reason" else LIMITS.get(name, (0, 1))
    whole = STEP_DTYPE[name].kind != "f"
    inside = type(number) in (bool, int, float) and low - 1e-6 <= number <= high + 1e-6
    if not inside or (whole and number != int(number)):
        raise Refused("decision", f"{name} is {str(value)[:40]}, expected {low:g} to {high:g}")
    return int(number) if whole else float(round(number * ONE) / ONE)


def _state(text: Any) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (ValueError, TypeError):
        raise Refused("state", f"state is {str(text)[:30]!r}, expected base64") from None


def joined_columns(layout: Layout, content: dict[str, Any]) -> dict[str, Any]:
    """Return a row of a table with its posteriors, features and gauges as lists."""
    for key, columns in (("probs", layout.probs), ("features", layout.features), ("gauges", layout.gauges)):
        if columns and list(columns) != [key]:
            cells = [content.pop(name, None) for name in columns]
            if key != "gauges" or any(cell is not None for cell in cells):
                content[key] = cells
    return {**content, **layout.details} if "gauges" in content else content


def _cells(text: str) -> list[str]:
    return next(csv.reader([text], strict=True)) if '"' in text else text.split(",")


def _value(name: str, text: str) -> Any:
    """Return a cell as JSON would have it: int or float as it is written, else the text."""
    if name in _TEXTS or "_" in text:
        return name_in_csv(text) if name == "device" else text
    for kind in (float,) if "." in text else (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
