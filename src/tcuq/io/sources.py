"""Where bytes come from and go to: files by extension, standard input and output."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from ..base.atomic_files import pieces_of, write_whole
from ..base.errors import InputError, wrong_value
from ..base.limits import Limits, file_name, limits_given, read_limited, up_to

FORMATS = ("csv", "jsonl", "npz", "parquet", "arrow")
"""Names of the formats that are read and written."""

STANDARD = "-"
"""Stands for standard input or output."""

TABLES = ("parquet", "arrow")
"""Those that need pyarrow. Feather files are Arrow files by another name."""

_EXTENSIONS = {f".{name}": name for name in FORMATS} | {".ndjson": "jsonl", ".feather": "arrow"}
ENDINGS = ".csv, .npz, .jsonl, .ndjson, .parquet, .arrow or .feather"


def format_of(path: str | Path, chosen: str | None = None) -> str:
    """Return the format of a file.

    Parameters
    ----------
    path : path
        ``"-"`` stands for standard input or output, which is JSON lines unless chosen otherwise.
    chosen : str, optional
        One of `FORMATS`; it overrides the extension.

    Examples
    --------
    >>> format_of("log.csv"), format_of("-"), format_of("log.txt", "csv")
    ('csv', 'jsonl', 'csv')
    """
    if chosen is not None:
        if chosen not in FORMATS:
            raise wrong_value("format", chosen, f"one of {', '.join(FORMATS)}")
        return chosen
    if str(path) == STANDARD:
        return "jsonl"
    extension = Path(path).suffix.lower()
    if extension not in _EXTENSIONS:
        raise InputError("unknown", f"{path}: extension {extension!r} is unknown, expected {ENDINGS}")
    return _EXTENSIONS[extension]


def shown(path: str | Path) -> str:
    """Return a path as it stands in messages."""
    return "standard input" if str(path) == STANDARD else Path(path).as_posix()


def _standard_input() -> BinaryIO:
    if sys.stdin is None:
        raise InputError("missing", "standard input is closed")
    return sys.stdin.buffer


@contextmanager
def _named(path: str | Path) -> Iterator[None]:
    """Make an error of reading name what was read."""
    try:
        yield
    except OSError as error:
        raise type(error)(error.errno, error.strerror, shown(path)) from None


def read_bytes(path: str | Path, limits: Limits | None = None, name: str = "file") -> bytes:
    """Return all bytes of a file or of standard input; refuse more than a limit before reading them."""
    with _named(path):
        if str(path) != STANDARD:
            return read_limited(path, name, limits)
        given = limits_given(limits)
        most: int = getattr(given, name)
        content = up_to(_standard_input(), most + 1)
    if len(content) > most:
        raise InputError("limit", f"{shown(path)}: has more bytes, {given.beyond(name, None)}")
    return content


class LongLine(str):
    """The beginning of a line that is too long to be a step, and what was expected; the rest is not kept."""

    expected = ""


class _LongBytes(bytes):
    expected = ""


def check_length(text: str) -> None:
    """Refuse a line that is too long to be a step."""
    if isinstance(text, LongLine):
        begin = f"it begins with {str(text)!r}"
        raise InputError("limit", f"the line is too long to be one step, {text.expected}; {begin}")


def _next_line(stream: BinaryIO, limits: Limits, left: int | None) -> tuple[bytes, int]:
    """Return one line and its bytes; of one that is too long its beginning, without ever holding it all."""
    most = limits.line
    line = stream.readline(most + 1)
    size = len(line)
    if size <= most or line.endswith(b"\n"):
        return line, size
    # A device such as /dev/zero never ends its line.
    while (rest := stream.readline(1 << 20)) and not rest.endswith(b"\n"):
        size += len(rest)
        if left is not None and size > left:
            break
    long = _LongBytes(line[:40])
    long.expected = limits.beyond("line", size + len(rest))
    return long, size + len(rest)


def read_lines(path: str | Path, limits: Limits | None = None, whole: bool = False) -> Iterator[bytes]:
    """Yield lines as they arrive, so that a live pipe is answered at once.

    With `whole`, all lines will be held in memory: refuse more of them than a file may have.
    """
    given = limits_given(limits)
    if str(path) == STANDARD:
        yield from _lines(path, _standard_input(), given, whole)
        return
    if whole and os.path.isfile(path) and (size := os.stat(path).st_size) > given.file:
        raise InputError("limit", f"{shown(path)}: has {size:,} bytes, {given.beyond('file', size)}")
    with open(file_name(path), "rb") as file:
        yield from _lines(path, file, given, whole)


def _lines(path: str | Path, stream: BinaryIO, limits: Limits, whole: bool) -> Iterator[bytes]:
    left = limits.file
    with _named(path):
        while True:
            # readline, not iteration: nothing may wait for a read-ahead buffer to fill.
            line, size = _next_line(stream, limits, left if whole else None)
            if not line:
                return
            left -= size
            if whole and left < 0:
                raise InputError("limit", f"{shown(path)}: has more bytes, {limits.beyond('file', None)}")
            yield line


def decode_lines(lines: Iterable[bytes]) -> Iterator[str]:
    r"""Yield lines as text, without a byte order mark.

    Bytes that are not UTF-8 come out as escapes such as ``\xff``: no number or key has those, so the
    line is then refused with its number, like any other bad line.
    """
    for number, line in enumerate(lines):
        text = line.decode("utf-8", errors="backslashreplace")
        text = text.removeprefix("\ufeff") if number == 0 else text
        if isinstance(line, _LongBytes):
            long = LongLine(text)
            long.expected = line.expected
            text = long
        yield text


def check_target(path: str | Path) -> None:
    """Refuse an output that cannot be written, before any work is done for it."""
    if str(path) == STANDARD:
        return
    target = Path(path)
    if target.is_dir():
        raise InputError("value", f"{path}: is a folder, expected a file name")
    if target.exists() and not target.is_file():
        return  # a device or pipe is written in place
    if not target.parent.is_dir():
        raise InputError("missing", f"{path}: folder {target.parent} does not exist; make it first")
    if not os.access(target.parent, os.W_OK):
        raise InputError("failed", f"{path}: folder {target.parent} cannot be written to")


def put(path: str | Path, content: str | bytes | Iterable[bytes]) -> None:
    """Write a file whole or not at all; ``"-"`` is standard output."""
    data = content.encode() if isinstance(content, str) else content
    if str(path) == STANDARD:
        sys.stdout.flush()
        for piece in pieces_of(data):
            left = memoryview(piece)
            while left:  # with PYTHONUNBUFFERED one call may write a part only
                left = left[sys.stdout.buffer.write(left) :]
        sys.stdout.buffer.flush()
        return
    check_target(path)
    write_whole(path, data)
