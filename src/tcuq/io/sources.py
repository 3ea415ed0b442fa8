"""Where bytes come from and go to: files by extension, standard input and output."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import BinaryIO

from ..base.atomic_files import pieces_of, write_whole
from ..base.errors import InputError, wrong_value
from ..base.limits import Limits, file_name, limits_given, read_limited, up_to

Lines = Generator[tuple[int, str], None, None]

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


def check_length(text: str) -> None:
    """Refuse a line that is too long to be a step."""
    if isinstance(text, LongLine):
        begin = f"it begins with {str(text)!r}"
        raise InputError("limit", f"the line is too long to be one step, {text.expected}; {begin}")


def read_lines(path: str | Path, limits: Limits | None = None, whole: bool = False) -> Lines:
    """Yield lines and their numbers as they arrive, or `whole`, no more than a file may have."""
    # Bytes that are not UTF-8 become escapes, which no number or key has: the line is then a bad one.
    given, standard = limits_given(limits), str(path) == STANDARD
    if whole and not standard and os.path.isfile(path) and (size := os.stat(path).st_size) > given.file:
        raise InputError("limit", f"{shown(path)}: has {size:,} bytes, {given.beyond('file', size)}")
    with _named(path), nullcontext(_standard_input()) if standard else open(file_name(path), "rb") as stream:
        number, left = 0, given.file
        # readline, not iteration: nothing may wait for a read-ahead buffer to fill.
        while line := stream.readline(given.line + 1):
            number, size, long = number + 1, len(line), len(line) > given.line and not line.endswith(b"\n")
            # A device such as /dev/zero never ends its line, of which no more than the beginning is held.
            while long and (rest := stream.readline(1 << 20)):
                size += len(rest)
                if rest.endswith(b"\n") or (whole and size > left):
                    break
            left -= size
            if whole and left < 0:
                raise InputError("limit", f"{shown(path)}: has more bytes, {given.beyond('file', None)}")
            text = (line[:40] if long else line).decode("utf-8", errors="backslashreplace")
            text = text.removeprefix("\ufeff") if number == 1 else text
            if long:
                text = LongLine(text)
                text.expected = given.beyond("line", size)
            yield number, text


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
