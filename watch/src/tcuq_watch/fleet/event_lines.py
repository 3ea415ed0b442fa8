"""Events as JSON lines: a file that may grow, or standard input."""

from __future__ import annotations

import json
import queue
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from tcuq.base.errors import InputError
from tcuq.base.limits import Limits, limits_given

from .arrivals import Arrived, Bad, Gathering
from .file_marks import BEGINNING, has_beginning, mark_of

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

    def read(self, into: Gathering, most: int, last: bool, broken: bool = False) -> bool:
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

    def _too_long(self, into: Gathering, line: bytes) -> bool:
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
                raise InputError("value", "standard input is closed")
            stream = sys.stdin.buffer
        self.bad = Bad()
        self.ended = False
        self._stream = stream
        self._stop = threading.Event()
        self._chunks: queue.Queue[bytes] = queue.Queue(maxsize=64)

    def batches(self, position: Any, count: int, every: float) -> Iterator[Arrived | None]:
        """Yield what arrives; see `Source`."""
        threading.Thread(target=self._pull, daemon=True).start()
        rows = Gathering(self.bad, self.where)
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
                        yield rows.handed_over(position)
            if time.monotonic() - since >= every:
                since = time.monotonic()
                yield rows.handed_over(position) if rows else None
        if rows:
            yield rows.handed_over(position)

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
