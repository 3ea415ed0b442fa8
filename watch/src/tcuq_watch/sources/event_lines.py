"""Events as JSON lines: a file that may grow, or standard input."""

from __future__ import annotations

import base64
import binascii
import json
import queue
import sys
import threading
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from tcuq.base.errors import InputError
from tcuq.base.limits import Limits, limits_given

from .arrivals import Arrived, Bad, BatchBuilder

MOST_NAMES = 4096
"""Names that are remembered, the last ones: a position is written with each commit."""

BEGINNING = 4096
"""Bytes of a file that are looked at, at its beginning and at its end."""


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


def mark_of(content: bytes) -> list[int]:
    """Return the mark of a file that may grow: how many of its first bytes, and their checksum."""
    return [len(content), zlib.crc32(content)]


def has_beginning(path: Path, mark: Any) -> bool:
    """Tell whether a file begins as a mark says; what is no mark says nothing."""
    if not isinstance(mark, list) or len(mark) != 2 or type(mark[0]) is not int:
        return True
    with path.open("rb") as file:
        return mark_of(file.read(min(max(0, mark[0]), BEGINNING))) == mark


def whole(path: Path) -> list[int]:
    """Return the mark of a file that does not grow: its bytes, and a checksum of its two ends."""
    size = path.stat().st_size
    with path.open("rb") as file:
        found = zlib.crc32(file.read(BEGINNING))
        file.seek(max(0, size - BEGINNING))
        found = zlib.crc32(file.read(), found)
    return [size, found]


PAUSE = 0.2
"""Seconds between two looks at what may have grown."""


class EventLines:
    """A file of JSON lines that is being read; a last line without an end is left for later."""

    def __init__(self, path: Path, byte: int, limits: Limits | None = None) -> None:
        self.path, self.at = path, byte
        self._limits = limits_given(limits)
        self._mark: list[int] | None = None
        self._file = path.open("rb")
        self._file.seek(byte)

    def read(self, into: BatchBuilder, most: int, last: bool, broken: bool = False) -> bool:
        """Take some lines; tell whether there may be more.

        With `last`, a last line without an end is taken if it is whole; with `broken`, it is also taken, and
        counted, if it is not: nothing more will be written.
        """
        for _ in range(most):
            line = self._file.readline(self._limits.line + 1)
            ended = line.endswith(b"\n")
            if not ended and not (line and (broken or (last and _is_json(line)))):
                self._file.seek(self.at)
                return self._too_long(into, line)
            into.add_line(line, f"byte {self.at}")
            self.at += len(line)
            if not ended:
                return False
        return True

    def _too_long(self, into: BatchBuilder, line: bytes) -> bool:
        if len(line) <= self._limits.line:
            return False
        # The rest of it is skipped; a file that ends within it goes on there.
        while (rest := self._file.readline(1 << 20)) and not rest.endswith(b"\n"):
            pass
        size = self._file.tell() - self.at
        expected = self._limits.beyond("line", size)
        into.refuse("long line", f"{self.path}, byte {self.at}: the line has {size:,} bytes, {expected}")
        self.at = self._file.tell()
        return True

    def mark(self) -> list[int]:
        """Return what the part that was read begins with."""
        if self._mark is None or self._mark[0] < min(self.at, BEGINNING):
            self._file.seek(0)
            content = self._file.read(min(self.at, BEGINNING))
            self._file.seek(self.at)
            self._mark = mark_of(content)
        return self._mark

    def has_mark(self, mark: Any) -> bool:
        """Tell whether this is the file that had a mark."""
        return has_beginning(self.path, mark)

    def shrunk(self) -> bool:
        """Tell whether the file became shorter than what was read of it."""
        return self.path.stat().st_size < self.at

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


class StandardInput:
    """JSON lines on standard input. It has no position: what comes again is dropped as a duplicate."""

    where = "standard input"

    def __init__(self, stream: BinaryIO | None = None, limits: Limits | None = None) -> None:
        self._limits = limits_given(limits)
        if stream is None:
            if sys.stdin is None:
                raise InputError("missing", "standard input is closed")
            stream = sys.stdin.buffer
        self.bad = Bad()
        self.ended = False
        self._stream = stream
        self._stop = threading.Event()
        self._chunks: queue.Queue[bytes] = queue.Queue(maxsize=64)

    def batches(self, position: Any, count: int, every: float) -> Iterator[Arrived | None]:
        """Yield what arrives; see `Source`."""
        threading.Thread(target=self._pull, daemon=True).start()
        rows = BatchBuilder(self.bad, self.where)
        line, rest, since = 0, b"", time.monotonic()
        while not self.ended and not self._stop.is_set():
            try:
                chunk = self._chunks.get(timeout=max(0.001, min(PAUSE, since + every - time.monotonic())))
            except queue.Empty:
                pass
            else:
                self.ended = not chunk
                lines = (rest + chunk).split(b"\n")
                rest = lines.pop()
                if self.ended:
                    lines.append(rest)
                rest = rest[: self._limits.line + 1]
                for each in lines:
                    line += 1
                    if len(each) > self._limits.line:
                        expected = self._limits.beyond("line", None)
                        rows.refuse("long line", f"{self.where}, line {line}: is longer, {expected}")
                    else:
                        rows.add_line(each, f"line {line}")
                    if rows.count >= count:
                        yield rows.flush(position)
            if time.monotonic() - since >= every:
                since = time.monotonic()
                yield rows.flush(position) if rows else None
        if rows:
            yield rows.flush(position)

    def _pull(self) -> None:
        # read1 gives what there is; iteration would wait for a full buffer.
        read = getattr(self._stream, "read1", self._stream.read)
        try:
            while chunk := read(1 << 16):
                self._chunks.put(chunk)
        except (OSError, ValueError):
            pass
        self._chunks.put(b"")

    def committed(self, arrived: Arrived) -> None:
        """Do nothing: a pipe needs no word of it."""

    def stop(self) -> None:
        """End `batches` soon."""
        self._stop.set()

    def close(self) -> None:
        """Do nothing: standard input stays open."""
