"""What a session keeps in its folder, and what is found there after a restart."""

from __future__ import annotations

import base64
import errno
import json
import math
import os
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from tcuq.base.atomic_files import NO_LINK, make_folder, refuse_links, write_whole
from tcuq.base.errors import InputError, one_line, wrong_value
from tcuq.base.json_text import from_json
from tcuq.base.limits import read_limited
from tcuq.monitor.class_names import checked_names
from tcuq.monitor.params import Params

from ..sources.streams import BINARY, read_at
from .judge import Order

LIMIT = 16 << 20
"""Bytes that wait at most while nothing can be written; what comes beyond is lost, and counted."""


class Journal:
    """Append lines to a file."""

    def __init__(self, path: str | Path, limit: int = LIMIT) -> None:
        self.path, self.limit = Path(path), limit
        self._handle = os.open(self.path, os.O_RDWR | os.O_CREAT | BINARY | NO_LINK, 0o666)
        size = os.fstat(self._handle).st_size
        self.size = last_line_end(self._handle, size)
        self.cut = size - self.size
        if self.cut:
            os.ftruncate(self._handle, self.size)
        self._waiting: deque[bytes] = deque()
        self.waiting, self.lost = 0, 0
        self.error: OSError | None = None

    def add(self, text: str, lines: int) -> bool:
        """Take whole lines, to be written by `flush`; tell whether there was room to keep them."""
        data = text.encode()
        if self.waiting + len(data) > self.limit:
            self.lost += lines
            return False
        self._waiting.append(data)
        self.waiting += len(data)
        return True

    def flush(self) -> bool:
        """Hand everything to the system; tell whether that was possible."""
        try:
            while self._waiting:
                # One write for all that waits, up to a limit, as there may be many small pieces.
                data = b"".join(self._waiting)
                written = write_at(self._handle, data, self.size)
                self.size += written
                self.waiting -= written
                self._waiting.clear()
                if written < len(data):
                    self._waiting.append(data[written:])
        except OSError as error:
            self.error = error
            return False
        self.error = None
        return True

    def sync(self) -> bool:
        """Wait until the disk has what was flushed."""
        try:
            os.fsync(self._handle)
        except OSError as error:
            self.error = error
            return False
        return True

    def truncate(self, size: int) -> None:
        """Cut the file; what waits stays."""
        os.ftruncate(self._handle, size)
        self.size = size

    def forget(self, size: int) -> None:
        """Give up what waits, and cut the file where it was before."""
        self._waiting.clear()
        self.waiting = 0
        self.truncate(size)

    def read(self, start: int, most: int | None = None) -> bytes:
        """Return what is in the file from a place on, `most` bytes of it."""
        return read_at(self._handle, self.size - start if most is None else most, start)

    def close(self) -> None:
        """Write what waits, and close."""
        if self._handle >= 0:
            handle = self._handle
            self.flush()
            # What a disk that fails now leaves, half a line at most, is cut off at the next opening.
            with suppress(OSError):
                if self._waiting:  # leave no half line behind
                    self.lost += b"".join(self._waiting).count(b"\n")
                    os.ftruncate(handle, last_line_end(handle, self.size))
            self.sync()
            self._handle = -1
            with suppress(OSError):
                os.close(handle)


def write_at(handle: int, data: bytes, at: int) -> int:
    """Write bytes to a place of an open file; return how many were written."""
    os.lseek(handle, at, os.SEEK_SET)
    return os.write(handle, data)


def last_line_end(handle: int, size: int) -> int:
    """Return the place after the last line feed of an open file, 0 where there is none."""
    at = size
    while at > 0:
        start = max(0, at - (1 << 16))
        found = read_at(handle, at - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        at = start
    return 0


RECEIVED, DECISIONS, MARKS = "received.jsonl", "decisions.jsonl", "marks.jsonl"
SESSION, STATE, LOCK = "session.json", "state.bin", ".lock"


@dataclass
class Saved:
    """What is saved every so many steps, in one file that is replaced whole."""

    params: str  # fingerprint
    source: str
    step: int = 0  # number of the next step
    segment: int = 0  # of the last step
    given_segment: int | None = None  # the one that the device told
    by_device: bool | None = None  # who decides; None before the first step
    names: list[str] | None = None  # names of classes that the device told
    received: int = 0
    decisions: int = 0
    time: float = 0.0  # of the last step
    at: int = 0
    identity: str = ""
    order: list[Any] = field(default_factory=lambda: [None, None, []])  # of `Order.saved`
    counts: dict[str, int] = field(default_factory=dict)
    state: str = ""  # of the monitor, in base 64; empty for a fresh one
    alarm: int = 0  # of the last step
    marks: int = 0  # bytes of the marks: those up to there have reached the monitor
    since: int = 0


def _check_saved(saved: Saved) -> None:
    """Refuse values of other types than `Folder.save` writes."""
    for each in fields(saved):
        value, kind = getattr(saved, each.name), str(each.type)
        if kind.startswith("int"):
            good = (type(value) is int and 0 <= value <= 2**53) or ("None" in kind and value is None)
            # A segment is what a device says.
            good = good or (each.name == "given_segment" and type(value) is int and abs(value) <= 2**53)
        elif kind.startswith("float"):
            good = type(value) in (int, float) and math.isfinite(value)
        elif kind.startswith("bool"):
            good = value is None or type(value) is bool
        elif kind.startswith("dict"):
            good = isinstance(value, dict) and all(type(count) is int for count in value.values())
        elif each.name == "names":
            good = value is None or checked_names(value, len(value)) is not None
        else:
            good = isinstance(value, str if kind == "str" else list)
        if not good:
            raise wrong_value(each.name, value, kind)


def read_session(folder: Path, params: Params) -> Saved:
    """Return what was saved last; raise in one line where it is damaged or belongs to other parameters."""
    path = folder / SESSION
    try:
        saved = Saved(**from_json(read_limited(path)))
        _check_saved(saved)
        base64.b64decode(saved.state, validate=True)
        Order.restored(saved.order)
    except (ValueError, TypeError, OverflowError) as error:
        why = one_line(str(error), 300)
        raise InputError(
            "damaged", f"{path}: is damaged ({why}); move it away or choose another folder"
        ) from None
    if saved.params != params.fingerprint:
        raise InputError(
            "conflict",
            f"{folder}: holds a session of parameters {one_line(saved.params, 40)}, "
            f"expected {params.fingerprint}; "
            "choose another folder with --folder, or move this one away",
        )
    return saved


class Folder:
    """The files of one session; a second program is refused while one writes."""

    def __init__(self, path: str | Path, params: Params) -> None:
        self.path = Path(path)
        if self.path.exists() and not self.path.is_dir():
            raise InputError("value", f"{self.path}: is a file, expected a folder (--folder)")
        try:
            make_folder(self.path)
            refuse_links(self.path)
            self._lock = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT | NO_LINK, 0o666)
        except OSError as error:
            raise InputError(
                "failed", f"{self.path}: {error.strerror}; choose another folder with --folder"
            ) from None
        try:
            _lock(self._lock, self.path)
            self.saved, self.fresh = self._load(params)
            self.received = Journal(self.path / RECEIVED)
            self.decisions = Journal(self.path / DECISIONS)
            self.marks = Journal(self.path / MARKS)
        except BaseException:
            os.close(self._lock)
            raise

    def _load(self, params: Params) -> tuple[Saved, bool]:
        path = self.path / SESSION
        if not path.exists():
            # Empty ones are left by a kill at the very beginning.
            logs = {name: self.path / name for name in (RECEIVED, DECISIONS)}
            others = [name for name, log in logs.items() if log.exists() and log.stat().st_size]
            if others:
                raise InputError(
                    "damaged",
                    f"{self.path}: has {others[0]} and no {SESSION}, so it is not known what it belongs to; "
                    "move it away or choose another folder with --folder",
                )
            return Saved(params.fingerprint, ""), True
        return read_session(self.path, params), False

    @property
    def error(self) -> OSError | None:
        """Why the logs cannot be written now, if they cannot."""
        return self.received.error or self.decisions.error

    @property
    def lost(self) -> int:
        """Lines that were not kept because the disk was full for too long."""
        return self.received.lost + self.decisions.lost

    def flush(self) -> bool:
        """Hand the logs to the system: a decision is never there before the step that it is about."""
        return self.received.flush() and self.decisions.flush()

    def sync(self) -> bool:
        """Wait until the disk has what was flushed; tell whether it does."""
        return self.received.sync() and self.decisions.sync()

    def save(self, saved: Saved, state: bytes) -> None:
        """Save a state, after the logs that it belongs to.

        An `OSError` leaves the state that was saved before.
        """
        if not self.flush():
            raise self.error or OSError("the logs cannot be written")
        if not self.sync():
            raise self.error or OSError("the logs cannot be written")
        saved.received, saved.decisions = self.received.size, self.decisions.size
        saved.marks = self.marks.size
        saved.state = base64.b64encode(state).decode()
        write_whole(self.path / SESSION, json.dumps(vars(saved)) + "\n", links=False)
        if state:
            write_whole(self.path / STATE, state, links=False)
        self.saved = saved

    def state(self) -> bytes:
        """Return the state that was saved last."""
        return base64.b64decode(self.saved.state)

    def mark(self, content: dict[str, Any]) -> None:
        """Keep a mark, on the disk before this returns, or raise in one line."""
        before = self.marks.size
        if not self.marks.add(json.dumps({**content, "time": round(time.time(), 3)}) + "\n", 1):
            raise InputError("failed", "the mark was not kept: the disk is full")
        if not self.marks.flush() or not self.marks.sync():
            why = self.marks.error.strerror if self.marks.error else "unknown"
            self.marks.forget(before)
            raise InputError("failed", f"the mark was not kept: {why}")

    def close(self) -> None:
        """Close all files; another program may use the folder then."""
        for journal in (self.received, self.decisions, self.marks):
            journal.close()
        with suppress(OSError):  # a lock ends with its file, whatever the disk says
            os.close(self._lock)


def check_free(path: Path) -> None:
    """Raise in one line where another program writes to a folder, before anything else is opened."""
    try:
        handle = os.open(path / LOCK, os.O_RDWR | NO_LINK)
    except OSError:
        return
    try:
        _lock(handle, path)
    finally:
        os.close(handle)


def _lock(handle: int, path: Path) -> None:
    """Take the lock of a folder, which the system gives back however this process ends."""
    try:
        import fcntl
    except ImportError:  # Windows: two programs in one folder are not noticed there
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in (errno.EAGAIN, errno.EACCES):
            return  # a file system without locks: as on Windows
        raise InputError(
            "busy", f"{path}: another tcuq live writes there; end it, or choose another folder with --folder"
        ) from None
