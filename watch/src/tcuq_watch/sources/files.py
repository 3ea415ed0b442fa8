"""Where events come from: files and folders that may grow, standard input; each with a place to go on from.

A source gives batches, each with a position: a JSON value that is committed with the batch. A source that
is opened again goes on from the last committed position, so that nothing is taken twice or left out.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from tcuq.base.errors import InputError
from tcuq.io.sources import STANDARD

from .arrivals import Arrived, Bad, BatchBuilder
from .event_lines import PAUSE, EventLines, StandardInput, among, packed
from .event_tables import EventTable

ENDINGS = {".parquet": "parquet", ".jsonl": "jsonl", ".ndjson": "jsonl"}
"""Files that are read."""

PATIENCE = 10.0
"""Seconds that a file is waited for which cannot be read yet, while it does not change."""

LINES = 2000
"""Lines that are read before anything else is looked at."""


class Source(Protocol):
    """Gives events in batches."""

    where: str
    bad: Bad
    ended: bool
    """All of the input was given, and nothing more will come: it was not stopped before."""

    def batches(self, position: Any, count: int, every: float) -> Iterator[Arrived | None]:
        """Yield what arrives after a position, `count` events at a time, or after `every` seconds.

        While nothing arrives, None is given every second or so.
        """
        ...

    def committed(self, arrived: Arrived) -> None:
        """Hear that a batch is safe."""
        ...

    def stop(self) -> None:
        """End `batches` soon; may be called by a signal handler."""
        ...

    def close(self) -> None:
        """Let go of files and connections."""
        ...


def open_source(text: str, folder: Path, follow: bool = False) -> Source:
    """Return the source that a text names.

    A file, a folder, ``-`` for standard input, or ``mqtt://host:port/topic``; a session at a broker is named
    after the fleet's `folder`.
    """
    if text.startswith(("mqtt://", "mqtts://")):
        from .mqtt import MqttSource
        from .mqtt_client import Address

        return MqttSource(Address.of(text), folder)
    if text == STANDARD:
        return StandardInput()
    path = Path(text)
    if path.is_dir():
        return FileSource(path, follow)
    if not path.exists():
        raise InputError(
            "missing", f"{text}: does not exist, expected a file, a folder, '-' or mqtt://host/topic"
        )
    if path.suffix.lower() not in ENDINGS:
        raise InputError(
            "unknown", f"{text}: extension {path.suffix!r} is unknown, expected {', '.join(ENDINGS)}"
        )
    return FileSource(path, follow)


class FileSource:
    """Parquet files or JSON lines: one file, or a folder of files in the order of their names.

    New files must sort behind those that are there; one that comes too late is counted and not read, also one
    that came between two runs. Names that begin with ``.`` or ``_`` are not read, so that a writer can
    rename a file when it is whole. `restarted`: the position was of another source, so this one was read
    from its start.
    """

    def __init__(self, path: Path, follow: bool = False) -> None:
        self.path, self.follow = path, follow
        self.where = path.as_posix()
        self.bad = Bad()
        self.restarted = self.ended = False
        self._stop = threading.Event()
        self._open: EventLines | EventTable | None = None
        self._name, self._at, self._over = "", 0, False
        self._known: set[str] | None = None
        self._mark: Any = None
        self._passed: tuple[str, set[str], str] = ("", set(), "")
        self._waiting: tuple[float, float] | None = None

    def batches(self, position: Any, count: int, every: float) -> Iterator[Arrived | None]:
        """Yield what arrives; see `Source`."""
        self._resume(position)
        try:
            yield from self._batches(count, every)
        finally:
            self.close()

    def _batches(self, count: int, every: float) -> Iterator[Arrived | None]:
        rows = BatchBuilder(self.bad, self.where)
        since = time.monotonic()
        while not self._stop.is_set():
            more = self._read(rows, count) or self._advance(rows)
            late = self.follow and time.monotonic() - since >= every
            if rows.count >= count or (rows and late):
                yield rows.flush(self._position())
            elif late:
                yield None
            if late:
                since = time.monotonic()
            if not more:
                if not self.follow:
                    self.ended = True
                    break
                self._stop.wait(min(PAUSE, every))
        if rows:
            yield rows.flush(self._position())

    def committed(self, arrived: Arrived) -> None:
        """Do nothing: files need no word of it."""

    def stop(self) -> None:
        """End `batches` soon."""
        self._stop.set()

    def close(self) -> None:
        """Close the file."""
        if self._open is not None:
            self._open.close()
            self._open = None

    def _position(self) -> dict[str, Any]:
        found = {"source": str(self.path.resolve()), "file": self._name, "at": self._at}
        if self._open is not None:
            self._mark = self._open.mark()
        if self._mark is not None:
            found["mark"] = self._mark
        if self.path.is_dir() and self._known is not None:
            if self._passed[:2] != (self._name, self._known):
                names = (name for name in self._known if name < self._name)
                self._passed = self._name, self._known, packed(names)
            found["passed"] = self._passed[2]
        return found

    def _resume(self, position: Any) -> None:
        """Begin where a position says; one of another source says nothing about this one."""
        own = isinstance(position, dict) and position.get("source") == str(self.path.resolve())
        self.restarted = position is not None and not own
        name, at = (position.get("file"), position.get("at")) if own else ("", 0)
        if isinstance(name, str) and type(at) is int and at >= 0:
            self._name, self._at = name, at
            self._mark = position.get("mark") if own else None
            if own and isinstance(position.get("passed"), str) and self.path.is_dir():
                earlier = [each for each in self._names() if each < name]
                self._known = {name, *among(earlier, position["passed"])}

    def _names(self) -> list[str]:
        """Return the files that are there, in order."""
        if not self.path.is_dir():
            return [self.path.name]
        return sorted(
            each.name
            for each in self.path.iterdir()
            if each.suffix.lower() in ENDINGS and not each.name.startswith((".", "_")) and each.is_file()
        )

    def _advance(self, rows: BatchBuilder) -> bool:
        """Go to the next file where this one is at its end and there is one."""
        if self._name and self._open is None and not self._over:
            return False  # it is waited for
        names = self._names()
        for name in names if self._known is not None else ():
            if name < self._name and name not in (self._known or ()):
                rows.refuse("late file", f"{self.path / name}: sorts before {self._name}, which was read")
        self._known = set(names)
        later = next((name for name in names if name > self._name), None)
        if later is None:
            return False
        if isinstance(self._open, EventLines):
            # What was written before the next file appeared may still be unread, up to a last broken line.
            while self._open.read(rows, LINES, last=True, broken=True):
                pass
        self.close()
        self._name, self._at, self._over, self._waiting, self._mark = later, 0, False, None, None
        return True

    def _read(self, rows: BatchBuilder, count: int) -> bool:
        """Read some rows of the current file; tell whether there may be more at once."""
        if not self._name or self._over:
            return False
        replaced = False
        if self._open is None and self._kind() == "parquet":
            EventTable.check_package()  # one that is missing is no fault of the file
        try:
            if self._open is None:
                self._open = self._opened(count)
                replaced = self._at > 0 and not self._open.has_mark(self._mark)
            if self._open.shrunk():
                self._again(rows, count, "file cut short", "became shorter")
            elif replaced:
                self._again(rows, count, "file replaced", "is another file than the one that was read")
            if isinstance(self._open, EventLines):
                more = self._open.read(rows, min(LINES, count - rows.count), last=not self.follow)
            else:
                more = self._open.read(rows)
        except FileNotFoundError:
            self.close()
            # Somebody tidied up in a folder; a single file may come back.
            self._over = self.path.is_dir() or not self.follow
            return False
        except OSError as error:
            # The disk or a permission: the file may be whole, so it must not count as read.
            self.close()
            raise type(error)(error.errno, error.strerror or str(error), str(self._path())) from None
        except ValueError as error:
            self.close()
            self._unreadable(rows, error)
            return False
        self._at = self._open.at
        return more

    def _again(self, rows: BatchBuilder, count: int, kind: str, why: str) -> None:
        """Read a file from its beginning; events that the fleet has are dropped there."""
        rows.refuse(kind, f"{self._path()}: {why}, read from its beginning")
        self.close()
        self._at, self._mark = 0, None
        self._open = self._opened(count)

    def _path(self) -> Path:
        return self.path / self._name if self.path.is_dir() else self.path

    def _kind(self) -> str:
        return ENDINGS[self._path().suffix.lower()]

    def _opened(self, count: int) -> EventLines | EventTable:
        if self._kind() == "parquet":
            return EventTable(self._path(), self._at, count)
        return EventLines(self._path(), self._at)

    def _unreadable(self, rows: BatchBuilder, error: Exception) -> None:
        """Wait for a file that is still being written; give it up when it does not change any more."""
        path = self._path()
        size, now = float(path.stat().st_size) if path.exists() else -1.0, time.monotonic()
        if self._waiting is None or self._waiting[0] != size:
            self._waiting = size, now
        if self.follow and now - self._waiting[1] < PATIENCE:
            return
        self._over = True
        rows.refuse("unreadable file", str(error))
