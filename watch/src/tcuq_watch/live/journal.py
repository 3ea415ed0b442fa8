"""A file of lines that only grows, and survives a kill at any moment and a disk that is full for a while."""

from __future__ import annotations

import os
from collections import deque
from contextlib import suppress
from pathlib import Path

from tcuq.base.whole_files import NO_LINK

BINARY = getattr(os, "O_BINARY", 0)
"""Windows changes line ends without it."""

LIMIT = 16 << 20
"""Bytes that wait at most while nothing can be written; what comes beyond is lost, and counted."""


class Journal:
    r"""Append lines to a file.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "log.jsonl"
    >>> _ = path.write_bytes(b'{"a": 1}\n{"a"')
    >>> journal = Journal(path)
    >>> journal.cut, journal.add('{"a": 2}\n', 1), journal.flush()
    (4, True, True)
    >>> journal.close()
    >>> path.read_text()
    '{"a": 1}\n{"a": 2}\n'
    """

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


def read_at(handle: int, count: int, at: int) -> bytes:
    """Return bytes from a place of an open file, fewer at its end; one thread at a time."""
    os.lseek(handle, at, os.SEEK_SET)
    found = []
    while count > 0 and (piece := os.read(handle, count)):
        found.append(piece)
        count -= len(piece)
    return b"".join(found)


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
