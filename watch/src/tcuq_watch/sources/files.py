"""Events in files and folders, which may grow: each with a place to go on from."""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from tcuq.base.errors import InputError

from .arrivals import Arrived, Notice
from .step_reader import StepReader
from .streams import MOST, Source
from .tables import EventTable

ENDINGS = (".parquet", ".jsonl", ".ndjson", ".csv", ".bin")
"""Files of a folder that are read; one file alone may have any name."""

FIRST, LAST = 4096, 256
"""Bytes at the beginning of a file, and before the place in it, by which it is known again."""


def mark_of(file: BinaryIO, size: int) -> list[int]:
    """Return what tells a file from another one that was read so far: the bytes, and a checksum of some."""
    file.seek(0)
    first = zlib.crc32(file.read(min(size, FIRST)))
    file.seek(max(0, size - LAST))
    return [size, zlib.crc32(file.read(min(size, LAST)), first)]


class ByteFile:
    """A file of lines or frames that is being read; half a one at its end is left for later."""

    def __init__(self, path: Path, at: int, reader: StepReader) -> None:
        self.path, self._reader, self.file = path, reader, path.open("rb", buffering=0)
        reader.begin()
        self._read_to, self._mark = at, mark_of(self.file, at)

    @property
    def at(self) -> int:
        """Bytes of whole lines and frames that were taken."""
        return self._read_to - self._reader.held

    def read(self, count: int) -> bool:
        """Take some bytes, fewer where few events are wanted; tell whether there may be more."""
        self.file.seek(self._read_to)
        data = self.file.read(min(MOST, max(LAST, 32 * count)))
        self._read_to += len(data)
        self._mark = mark_of(self.file, self._read_to)
        self._reader.push(data)
        return bool(data)

    def changed(self, by_name: bool) -> str | None:
        """Return what happened to the file where it is not the one that was read any more."""
        if mark_of(self.file, self._read_to) != self._mark:
            return "was cut or written again"
        own = os.fstat(self.file.fileno())
        if not by_name or not self.path.exists() or own.st_size > self._read_to:
            return None  # between two files, the old one may still grow
        return None if os.path.samestat(own, self.path.stat()) else "was replaced by a new file"

    def close(self) -> None:
        """Close the file."""
        self.file.close()


class FileSource(Source):
    """Lines, frames or Parquet: one file, or a folder of files in the order of their names.

    New files must sort behind those that are there; one that comes too late is not read. Names that begin
    with ``.`` or ``_`` are not read, so that a writer can rename a file when it is whole. `restarted`: the
    position was of another source, so this one was read from its start. With `follow`, a single file is read
    on when it was cut or replaced, as ``tail -F`` does.
    """

    def __init__(self, path: Path, follow: bool = False, **options: Any) -> None:
        super().__init__(path.as_posix(), str(path.resolve()), **options)
        self.path, self.follow, self._folder = path, follow, path.is_dir()
        self.waits, self.restarted = follow, False
        self._file: ByteFile | EventTable | None = None
        self._name, self._at, self._mark, self._over = "", 0, [0, 0], False

    def batches(self, position: Any, count: int, every: float) -> Iterator[Arrived | None]:
        """Yield what a `Source` does; no file stays open afterwards."""
        try:
            yield from super().batches(position, count, every)
        finally:
            self._shut()

    def _open(self) -> None:
        if not self._folder:
            self.path.open("rb").close()  # an error comes early

    def _resume(self, position: dict[str, Any]) -> None:
        super()._resume(position)
        self._shut()
        self.restarted = self._begun is not None and not position
        if position:
            self._name = Path(position["file"]).name  # whoever wrote the position, it leads nowhere else
            self._at, self._mark = position["at"], position["mark"]

    def _position(self) -> dict[str, Any]:
        if isinstance(self._file, ByteFile):
            self._mark = mark_of(self._file.file, self._at)
        place = {"source": self.key, "file": self._name, "at": self._at, "mark": self._mark}
        return {**place, **self.reader.memory()}

    def _take_some(self, count: int, timeout: float) -> bool:
        if self._read(count) or self._advance():
            return True
        if self.follow:
            time.sleep(timeout)
        else:
            self._end_file(broken=False)
            self.ended = True
        return False

    def _path(self) -> Path:
        return self.path / self._name if self._folder else self.path

    def _names(self) -> list[str]:
        """Return the files that are there, in order."""
        if not self._folder:
            return [self.path.name]
        return sorted(
            path.name
            for path in self.path.iterdir()
            if path.suffix.lower() in ENDINGS and not path.name.startswith((".", "_")) and path.is_file()
        )

    def _advance(self) -> bool:
        """Go to the next file where this one is at its end and there is one."""
        if self._name and self._file is None and not self._over:
            return False  # it is waited for
        later = next((name for name in self._names() if name > self._name), None)
        if later is None:
            return False
        # What was written before the next file appeared may still be unread, up to a last broken line.
        while isinstance(self._file, ByteFile) and self._file.read(MOST):
            pass
        self._end_file(broken=True)
        self._shut()
        self.reader.headers.clear()
        self._name, self._at, self._mark, self._over = later, 0, [0, 0], False
        return True

    def _end_file(self, broken: bool) -> None:
        """Take a last line that has no end, if it is whole; with `broken`, count it if it is not."""
        if isinstance(self._file, ByteFile) and (broken or self.reader.ends_whole()):
            self.reader.end(whole=True)
            self._at = self._file.at

    def _read(self, count: int) -> bool:
        """Read some rows of the current file; tell whether there may be more at once."""
        if not self._name or self._over:
            return False
        try:
            if isinstance(self._file, ByteFile):
                why = self._file.changed(by_name=self.follow and not self._folder)
                if why is not None:
                    self.reader.end(whole=False)
                    self._restart(why)
            if self._file is None:
                self._file = self._opened()
            more = self._file.read(count)
        except FileNotFoundError:
            # Somebody tidied up in a folder; a single file may come back.
            self._over = self._folder or not self.follow
            return False
        except OSError as error:
            # The disk or a permission: the file may be whole, so it must not count as read.
            raise type(error)(error.errno, error.strerror or str(error), str(self._path())) from None
        except InputError as error:
            if error.code == "needs":
                raise
            self._over = True
            self.bad("unreadable file", str(error))
            return False
        self._at = self._file.at
        return more

    def _opened(self) -> ByteFile | EventTable:
        path = self._path()
        table = path.suffix.lower() == ".parquet"
        with path.open("rb", buffering=0) as file:
            mark = mark_of(file, path.stat().st_size if table else self._at)
        if self._at and mark != self._mark:
            self._restart("is another file than the one that was read")
        self._mark = mark
        opened = (EventTable if table else ByteFile)(path, self._at, self.reader)
        if self.follow:
            self.reader.rows.notices.append(Notice("connected", f"reading {path}"))
        return opened

    def _restart(self, why: str) -> None:
        """Read a file from its beginning; events that the fleet has are dropped there."""
        self._shut()
        self.reader.rows.notices.append(Notice("lost", f"{self._path()} {why}: read from its beginning"))
        self._at = 0

    def _shut(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
