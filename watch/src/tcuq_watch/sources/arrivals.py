"""What a source hands over: events and states put together from rows, and what could not be read."""

from __future__ import annotations

import base64
import binascii
import json
import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, NamedTuple

import numpy as np

from tcuq.base.errors import one_line
from tcuq.base.json_text import check_depth
from tcuq.io.values import written_int8

from ..engine.events import MAX_NAME, MAX_NUMBER, Events

KEYS = ("device", "boot", "seq", "probs", "features", "time", "version", "state")
"""Of a step as JSON; `state` stands in the place of `probs`."""

MOST_KINDS = 64
"""Kinds of bad input that are told apart."""

MOST_BAD = 1000
"""Bad steps of one line or message that are looked at; those behind are counted."""

NO_TIME = math.inf
"""Stands for a time that is none: the fleet counts it as a bad time and takes the event without one."""

_DECODE = json.JSONDecoder().decode
"""Of one line; `json.loads` looks for encodings first."""


class Bad:
    """Counts bad input by kind and keeps the first message of each: a stream that never ends stays small."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.first: dict[str, str] = {}

    def __call__(self, kind: str, message: str, count: int = 1) -> None:
        """Count input of a kind."""
        if kind not in self.counts and len(self.counts) >= MOST_KINDS:
            kind = "other"
        self.first.setdefault(kind, one_line(message))
        self.counts[kind] = self.counts.get(kind, 0) + count


class Refused(ValueError):
    """One row is bad; `kind` is what it is counted as."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class DeviceState(NamedTuple):
    """The saved state of a device that runs its own monitor."""

    device: str
    boot: int
    seq: int
    state: bytes
    version: str | None


@dataclass
class Part:
    """Events, and then states that came after them."""

    events: list[Events] = field(default_factory=list)
    states: list[DeviceState] = field(default_factory=list)


@dataclass
class Arrived:
    """What is committed together."""

    parts: list[Part]  # in this order. No device has an event behind a state of its own in one part
    count: int  # events in all
    position: Any  # where the source goes on after this
    refused: dict[str, int]  # what could not be read since the last time, by kind
    tokens: list[Any]  # what the source has to acknowledge after the commit


def check_name(name: Any) -> str:
    r"""Return the name of a device as text; refuse one that could not be shown.

    Examples
    --------
    >>> check_name("door-1"), check_name(17)
    ('door-1', '17')
    >>> check_name("a\tb")
    Traceback (most recent call last):
    ...
    tcuq_watch.sources.arrivals.Refused: device is 'a\tb', expected 1 to 128 printable characters
    """
    if type(name) is int:
        name = str(name)
    if not is_name(name):
        shown = repr(name)
        raise Refused("device name", f"device is {shown[:60]}, expected 1 to {MAX_NAME} printable characters")
    return str(name)


def _whole(key: str, value: Any) -> int:
    if type(value) is not int or abs(value) >= MAX_NUMBER:
        raise Refused(key, f"{key} is {str(value)[:40]}, expected an integer from 0 on")
    return value


def _numbers(key: str, values: Any) -> tuple[list[Any], bool]:
    """Return a row, and whether it is int8."""
    if not isinstance(values, list) or not values:
        raise Refused(key, f"{key} is {str(values)[:40]}, expected a list of numbers")
    kinds = set(map(type, values))
    if kinds == {float}:
        return values, False
    if not kinds <= {int, float}:
        raise Refused(key, f"{key} holds something that is not a number, expected numbers")
    if kinds == {int} and written_int8(values, values, key == "probs"):
        return values, True
    try:
        return list(map(float, values)), False
    except OverflowError:
        raise Refused(key, f"{key} holds an integer of more than 300 digits, expected numbers") from None


def seconds(value: Any) -> float:
    """Return a time, a number or an ISO 8601 text, as seconds since 1970; NaN for what is none.

    Examples
    --------
    >>> seconds("1970-01-02T00:00Z"), seconds(5), seconds("soon")
    (86400.0, 5.0, nan)
    """
    if isinstance(value, str):
        try:
            when = datetime.fromisoformat(value.replace("Z", "+00:00"))
            return (when if when.tzinfo else when.replace(tzinfo=timezone.utc)).timestamp()
        except (ValueError, OverflowError):
            return math.nan
    if type(value) not in (int, float):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.nan


class _Run:
    """Rows of one version and one shape, in order."""

    def __init__(self, key: tuple[Any, ...]) -> None:
        self.key = key
        self.devices: list[str] = []
        self.boots: list[int] = []
        self.seqs: list[int] = []
        # Flat arrays take a third of the time that numpy takes for lists of lists.
        self.probs = array("b" if key[0] else "d")
        self.features = array("b" if key[4] else "d")
        self.times = array("d")

    def events(self, version: str | None) -> Events:
        _, width, timed, features, _ = self.key
        return Events(
            self.devices,
            np.array(self.boots, dtype=np.int64),
            np.array(self.seqs, dtype=np.int64),
            np.array(self.probs).reshape(-1, width),
            np.array(self.features).reshape(-1, features) if features else None,
            np.array(self.times) if timed else None,
            version,
        )


class BatchBuilder:
    """Puts rows together until they are enough for a commit."""

    def __init__(self, bad: Bad, where: str) -> None:
        self.bad, self.where = bad, where
        self._told: dict[str, int] = dict(bad.counts)
        self._clear()

    def _clear(self) -> None:
        self.count, self.states = 0, 0
        self.tokens: list[Any] = []
        self._parts = [Part()]
        self._runs: dict[str | None, list[_Run]] = {}
        self._adopted: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self.count or self.states or self.tokens or self.bad.counts != self._told)

    def refuse(self, kind: str, message: str, count: int = 1) -> None:
        """Count something that could not be read."""
        self.bad(kind, message, count)

    def add_line(self, line: bytes, number: str) -> None:
        """Take one line of JSON; a blank one is nothing."""
        try:
            text = line.decode().strip()
            check_depth(text)
            content = _DECODE(text)
        except UnicodeDecodeError:
            self.refuse("not JSON", f"{self.where}, {number}: the line is not UTF-8, expected JSON")
            return
        except (ValueError, RecursionError) as error:
            if not line.strip():
                return
            self.refuse("not JSON", f"{self.where}, {number}: not JSON: {str(error)[:200]}")
            return
        self.add_content(content, number)

    def add_content(
        self, content: Any, number: str, device: str | None = None, received: float | None = None
    ) -> None:
        """Take one step or a list of them; a bad one is counted and the others are kept.

        After `MOST_BAD` bad ones the rest of the list is refused at once: rubbish must not take much time.
        """
        steps, bad = content if isinstance(content, list) else [content], 0
        for place, each in enumerate(steps):
            try:
                self.add_json(each, device, received)
            except Refused as error:
                self.refuse(error.kind, f"{self.where}, {number}: {error}")
                bad += 1
                if bad == MOST_BAD and place + 1 < len(steps):
                    message = f"{self.where}, {number}: the rest of a list with {bad} bad steps"
                    self.refuse("after bad steps", message, len(steps) - place - 1)
                    return

    def add_json(self, content: Any, device: str | None = None, received: float | None = None) -> None:
        """Take a step or a state as JSON gives it.

        Where the source knows the `device`, a step that names another one is refused.
        """
        if not isinstance(content, dict):
            raise Refused("not a step", f"{str(content)[:40]} stands where a step is expected")
        named = content.get("device")
        if device is None:
            if named is None:
                raise Refused("device name", "key 'device' is missing")
            device = check_name(named)
        elif named is not None and str(named) != device:
            raise Refused(
                "device name", f"device is {str(named)[:60]!r}, expected {device!r} as in its topic"
            )
        if "seq" not in content:
            raise Refused("seq", "key 'seq' is missing: the place of the step since the device started")
        boot, seq = _whole("boot", content.get("boot", 0)), _whole("seq", content["seq"])
        version = content.get("version")
        if version is not None and not isinstance(version, str):
            raise Refused("version", f"version is {str(version)[:40]}, expected a text")
        if "state" in content:
            self.add_state(DeviceState(device, boot, seq, _state(content["state"]), version))
            return
        probs, raw = _numbers("probs", content.get("probs"))
        features, raw_features = content.get("features"), False
        if features is not None:
            features, raw_features = _numbers("features", features)
        time = content.get("time")
        when = received if time is None else seconds(time)
        if when != when:
            when = NO_TIME
        self._before(device)
        width = 0 if features is None else len(features)
        key = (raw, len(probs), when is not None, width, raw_features)
        runs = self._runs.get(version)
        if runs is None:
            runs = self._runs[version] = [_Run(key)]
        elif runs[-1].key != key:
            runs.append(_Run(key))
        run = runs[-1]
        run.devices.append(device)
        run.boots.append(boot)
        run.seqs.append(seq)
        run.probs.extend(probs)
        if features is not None:
            run.features.extend(features)
        if when is not None:
            run.times.append(when)
        self.count += 1

    def add_events(self, events: Events) -> None:
        """Take events that are columns already."""
        if not len(events):
            return
        if self._adopted and not self._adopted.isdisjoint(events.devices.tolist()):
            self._part()
        self._settle()
        self._parts[-1].events.append(events)
        self.count += len(events)

    def add_state(self, state: DeviceState) -> None:
        """Take a state; it counts after all events that came before it."""
        self._parts[-1].states.append(state)
        self._adopted.add(state.device)
        self.states += 1

    def _before(self, device: str) -> None:
        if device in self._adopted:
            self._part()

    def _part(self) -> None:
        """Begin a new part, for an event that is to come after a state of its device."""
        self._settle()
        self._parts.append(Part())
        self._adopted.clear()

    def _settle(self) -> None:
        """Turn the rows so far into events. Versions never meet, so their order among each other is free."""
        for version, runs in self._runs.items():
            self._parts[-1].events += [run.events(version) for run in runs]
        self._runs = {}

    def flush(self, position: Any) -> Arrived:
        """Return all that was put together, and begin again."""
        self._settle()
        told, self._told = self._told, dict(self.bad.counts)
        new = {kind: n - told.get(kind, 0) for kind, n in self._told.items() if n > told.get(kind, 0)}
        found = Arrived(self._parts, self.count, position, new, self.tokens)
        self._clear()
        return found


def _state(text: Any) -> bytes:
    try:
        if not isinstance(text, str):
            raise ValueError
        return base64.b64decode(text, validate=True)
    except (ValueError, binascii.Error):
        raise Refused("state", f"state is {str(text)[:30]!r}, expected base64") from None


def device_names(names: Sequence[Any]) -> list[int]:
    """Return the places of names that are none, quickly where all are good."""
    try:
        if all(map(str.isprintable, names)) and all(map(len, names)) and max(map(len, names)) <= MAX_NAME:
            return []
    except (TypeError, ValueError):
        pass
    return [place for place, name in enumerate(names) if not is_name(name)]


def is_name(name: Any) -> bool:
    """Tell whether a device can be shown by this name."""
    return isinstance(name, str) and 0 < len(name) <= MAX_NAME and name.isprintable()
