"""Events in files and folders, which may grow: each with a place to go on from."""

from __future__ import annotations

import base64
import binascii
import os
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tcuq.base.errors import InputError

from .arrivals import Arrived, Bad
from .step_reader import StepReader
from .tables import EventTable

ENDINGS = (".parquet", ".jsonl", ".ndjson", ".csv", ".bin")
"""Files of a folder that are read; one file alone may have any name."""

PATIENCE = 10.0
"""Seconds that a file is waited for which cannot be read yet, while it does not change."""

PAUSE = 0.2
"""Seconds between two looks at what may have grown."""

MOST = 1 << 18
"""Bytes of one read."""

BEGINNING = 4096
"""Bytes at the beginning of a file by which it is known again."""

LAST = 256
"""Bytes before the place in a file that are remembered too; so many first ones tell that it was cut."""

MOST_NAMES = 4096
"""Names that are remembered, the last ones: a position is written with each commit."""

BINARY = getattr(os, "O_BINARY", 0)
"""Windows changes line ends without it."""


def packed(names: Iterable[str]) -> str:
    """Return the checksums of names as a text, those of the last `MOST_NAMES`."""
    sums = np.array([_sum(name) for name in sorted(names)[-MOST_NAMES:]], dtype="<u4")
    return base64.b64encode(sums.tobytes()).decode()


def among(names: Sequence[str], text: str) -> list[str]:
    """Return those of sorted names that were packed; all where the text is none of `packed`.

    Of more than `MOST_NAMES`, the ones before the first that is remembered count as packed.
    """
    try:
        sums = np.frombuffer(base64.b64decode(text, validate=True), dtype="<u4").tolist()
    except (ValueError, binascii.Error):
        return list(names)
    there = set(sums)
    known = [_sum(name) in there for name in names]
    full = len(sums) >= MOST_NAMES
    first = known.index(True) if full and True in known else 0
    return [name for place, name in enumerate(names) if known[place] or place < first]


def _sum(name: str) -> int:
    return zlib.crc32(name.encode(errors="surrogateescape"))


def read_at(handle: int, count: int, at: int) -> bytes:
    """Return bytes from a place of an open file, fewer at its end; one thread at a time."""
    os.lseek(handle, at, os.SEEK_SET)
    pieces = []
    while count > 0 and (piece := os.read(handle, count)):
        pieces.append(piece)
        count -= len(piece)
    return b"".join(pieces)


class ByteFile:
    """A file of lines or frames that is being read; half a one at its end is left for later."""

    def __init__(self, path: Path, at: int, reader: StepReader) -> None:
        self.path, self._reader = path, reader
        self._handle = os.open(path, os.O_RDONLY | BINARY)
        reader.begin()
        if at:
            reader.prime(read_at(self._handle, min(at, MOST), 0))
        self._read_to, self._first = at, read_at(self._handle, min(at, LAST), 0)

    @property
    def at(self) -> int:
        """Bytes of whole lines and frames that were taken."""
        return self._read_to - self._reader.held

    def read(self, count: int) -> bool:
        """Take some bytes, fewer where few events are wanted; tell whether there may be more."""
        data = read_at(self._handle, min(MOST, max(LAST, 32 * count)), self._read_to)
        if self._read_to == len(self._first) < LAST:
            self._first += data[: LAST - self._read_to]
        self._read_to += len(data)
        self._reader.push(data)
        return bool(data)

    def rest(self, broken: bool) -> None:
        """Take a last line that has no end, if it is whole; with `broken`, count it if it is not."""
        if broken or self._reader.ends_whole():
            self._reader.end(whole=True)

    def mark(self) -> list[int]:
        """Return what the part that was read begins and ends with: bytes and checksum of both."""
        at = self.at
        size, last = min(at, BEGINNING), min(at, LAST)
        sums = [zlib.crc32(read_at(self._handle, *part)) for part in ((size, 0), (last, at - last))]
        return [size, sums[0], last, sums[1]]

    def has_mark(self, mark: Any) -> bool:
        """Tell whether this is the file that had a mark; what is no mark says nothing."""
        if not isinstance(mark, list) or len(mark) < 2 or any(type(each) is not int for each in mark):
            return True
        return all(same == known for same, known in zip(self.mark(), mark, strict=False))

    def shrunk(self) -> str | None:
        """Return what happened to the file where it is not the one that was read any more."""
        size = os.fstat(self._handle).st_size
        if size < self._read_to:
            return f"was cut to {size:,} bytes"
        if read_at(self._handle, len(self._first), 0) != self._first:
            return "was cut and written again"
        return None

    def replaced(self) -> bool:
        """Tell whether another file has taken the name, and all of this one was read."""
        try:
            named, own = os.stat(self.path), os.fstat(self._handle)
        except OSError:
            return False  # between two files: the old one may still grow
        return (named.st_dev, named.st_ino) != (own.st_dev, own.st_ino) and own.st_size <= self._read_to

    def close(self) -> None:
        """Close the file."""
        os.close(self._handle)


class FileSource:
    """Lines, frames or Parquet: one file, or a folder of files in the order of their names.

    New files must sort behind those that are there; one that comes too late is counted and not read, also one
    that came between two runs. Names that begin with ``.`` or ``_`` are not read, so that a writer can
    rename a file when it is whole. `restarted`: the position was of another source, so this one was read
    from its start. With `follow`, a single file is read on when it was cut or replaced, as ``tail -F`` does.
    """

    def __init__(self, path: Path, follow: bool = False, **options: Any) -> None:
        self.path, self.follow, self._folder = path, follow, path.is_dir()
        self.where = path.as_posix()
        self.bad = Bad()
        self.reader = StepReader(self.where, self.bad, **options)
        self.restarted = self.ended = self._stopping = False
        self._open: ByteFile | EventTable | None = None
        self._name, self._at, self._over = "", 0, False
        self._known: set[str] | None = None
        self._mark: Any = None
        self._passed: tuple[str, set[str], str] = ("", set(), "")
        self._waiting: tuple[float, float] | None = None

    @property
    def key(self) -> str:
        """The whole path: a file may be named from another folder."""
        return str(self.path.resolve())

    def open(self) -> None:
        """Look whether the file can be read."""
        if not self._folder:
            with self.path.open("rb"):
                pass

    def batches(self, position: Any, count: int, every: float) -> Iterator[Arrived | None]:
        """Yield what arrives; see `Source`."""
        self._resume(position)
        try:
            yield from self._batches(count, every)
        finally:
            self.close()

    def _batches(self, count: int, every: float) -> Iterator[Arrived | None]:
        rows, since = self.reader.rows, time.monotonic()
        while not self._stopping:
            begun = bool(rows)
            more = self._read(count) or self._advance()
            now = time.monotonic()
            if rows and not begun:
                since = now
            late = self.follow and now - since >= every
            if rows.count >= count or (rows and late):
                yield rows.flush(self._position())
            elif late:
                since = now
                yield None
            if more:
                continue
            if not self.follow:
                if isinstance(self._open, ByteFile):
                    self._open.rest(broken=False)
                self.ended = True
                break
            time.sleep(min(PAUSE, every))
        if rows:
            yield rows.flush(self._position())

    def committed(self, arrived: Arrived) -> None:
        """Do nothing: files need no word of it."""

    def stop(self) -> None:
        """End `batches` soon."""
        self._stopping = True

    def close(self) -> None:
        """Close the file."""
        if self._open is not None:
            self._open.close()
            self._open = None

    def _position(self) -> dict[str, Any]:
        if self._open is not None:
            self._at, self._mark = self._open.at, self._open.mark()
        position = {"source": self.key, "file": self._name, "at": self._at, **self.reader.memory()}
        if self._mark is not None:
            position["mark"] = self._mark
        if self._folder and self._known is not None:
            if self._passed[:2] != (self._name, self._known):
                names = (name for name in self._known if name < self._name)
                self._passed = self._name, self._known, packed(names)
            position["passed"] = self._passed[2]
        return position

    def _resume(self, position: Any) -> None:
        """Begin where a position says; one of another source says nothing about this one."""
        own = isinstance(position, dict) and position.get("source") == self.key
        self.restarted = position is not None and not own
        if not own:
            return
        name, at = position.get("file"), position.get("at")
        if isinstance(name, str) and type(at) is int and at >= 0:
            self._name, self._at, self._mark = name, at, position.get("mark")
            self.reader.recall(position)
            if isinstance(position.get("passed"), str) and self._folder:
                earlier = [each for each in self._names() if each < name]
                self._known = {name, *among(earlier, position["passed"])}

    def _names(self) -> list[str]:
        """Return the files that are there, in order."""
        if not self._folder:
            return [self.path.name]
        return sorted(
            each.name
            for each in self.path.iterdir()
            if each.suffix.lower() in ENDINGS and not each.name.startswith((".", "_")) and each.is_file()
        )

    def _advance(self) -> bool:
        """Go to the next file where this one is at its end and there is one."""
        if self._name and self._open is None and not self._over:
            return False  # it is waited for
        names = self._names()
        for name in names if self._known is not None else ():
            if name < self._name and name not in (self._known or ()):
                problem = f"{self.path / name}: sorts before {self._name}, which was read"
                self.reader.rows.refuse("late file", problem)
        self._known = set(names)
        later = next((name for name in names if name > self._name), None)
        if later is None:
            return False
        if isinstance(self._open, ByteFile):
            # What was written before the next file appeared may still be unread, up to a last broken line.
            while self._open.read(MOST):
                pass
            self._open.rest(broken=True)
        self.close()
        self.reader.forget_columns()
        self._name, self._at, self._over, self._waiting, self._mark = later, 0, False, None, None
        return True

    def _read(self, count: int) -> bool:
        """Read some rows of the current file; tell whether there may be more at once."""
        if not self._name or self._over:
            return False
        if self._open is None and self._path().suffix.lower() == ".parquet":
            EventTable.check_package()  # one that is missing is no fault of the file
        try:
            if self._open is None:
                self._open = self._opened(count)
                if self._at > 0 and not self._open.shrunk() and not self._open.has_mark(self._mark):
                    self._again(count, "file replaced", "is another file than the one that was read")
            if (why := self._open.shrunk()) is not None:
                self._again(count, "file cut short", why)
            more = self._open.read(count)
            if not more and self.follow and not self._folder and self._is_replaced():
                self._again(count, "", "was replaced by a new file")
                return True
        except FileNotFoundError:
            self.close()
            # Somebody tidied up in a folder; a single file may come back.
            self._over = self._folder or not self.follow
            return False
        except OSError as error:
            # The disk or a permission: the file may be whole, so it must not count as read.
            self.close()
            raise type(error)(error.errno, error.strerror or str(error), str(self._path())) from None
        except ValueError as error:
            self.close()
            self._unreadable(error)
            return False
        self._at = self._open.at
        return more

    def _is_replaced(self) -> bool:
        return isinstance(self._open, ByteFile) and self._open.replaced()

    def _again(self, count: int, kind: str, why: str) -> None:
        """Read a file from its beginning; events that the fleet has are dropped there."""
        rows = self.reader.rows
        if isinstance(self._open, ByteFile):
            self.reader.end(whole=False)
        if kind:
            rows.refuse(kind, f"{self._path()}: {why}, read from its beginning")
        rows.note("lost", f"{self._path()} {why}")
        self.close()
        self._at, self._mark = 0, None
        self._open = self._opened(count)

    def _path(self) -> Path:
        return self.path / self._name if self._folder else self.path

    def _opened(self, count: int) -> ByteFile | EventTable:
        if self._path().suffix.lower() == ".parquet":
            return EventTable(self._path(), self._at, count, self.reader)
        if self.follow:
            place = f" from byte {self._at:,} on" if self._at else ""
            self.reader.rows.note("connected", f"reading {self._path()}{place}")
        return ByteFile(self._path(), self._at, self.reader)

    def _unreadable(self, error: Exception) -> None:
        """Wait for a file that is still being written; give it up when it does not change any more."""
        path = self._path()
        size, now = float(path.stat().st_size) if path.exists() else -1.0, time.monotonic()
        if self._waiting is None or self._waiting[0] != size:
            self._waiting = size, now
        if self.follow and now - self._waiting[1] < PATIENCE:
            return
        self._over = True
        self.reader.rows.refuse("unreadable file", str(error))


def check_readable(path: Path) -> None:
    """Refuse a file that is of another kind than those that are read here."""
    if path.suffix.lower() in (".npz", ".npy", ".arrow", ".feather", ".json", ".zip", ".gz"):
        raise InputError(
            "unknown", f"{path}: extension {path.suffix!r} is unknown, expected {', '.join(ENDINGS)}"
        )
