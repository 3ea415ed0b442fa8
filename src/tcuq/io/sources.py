"""Where bytes come from and go to: files by extension, standard input and output."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from ..base.whole_files import write_whole

FORMATS = ("csv", "jsonl", "npz")
"""Names of the formats that are read and written."""

STANDARD = "-"
"""Stands for standard input or output."""

_EXTENSIONS = {".csv": "csv", ".npz": "npz", ".jsonl": "jsonl", ".ndjson": "jsonl"}


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
    >>> format_of("log.txt")
    Traceback (most recent call last):
    ...
    ValueError: log.txt: extension '.txt' is unknown; .csv, .npz, .jsonl or .ndjson is accepted
    """
    if chosen is not None:
        if chosen not in FORMATS:
            raise ValueError(f"format is {chosen!r}; one of {', '.join(FORMATS)} is accepted")
        return chosen
    if str(path) == STANDARD:
        return "jsonl"
    extension = Path(path).suffix.lower()
    if extension not in _EXTENSIONS:
        raise ValueError(
            f"{path}: extension {extension!r} is unknown; .csv, .npz, .jsonl or .ndjson is accepted"
        )
    return _EXTENSIONS[extension]


def shown(path: str | Path) -> str:
    """Return a path as it stands in messages.

    Examples
    --------
    >>> shown("-"), shown(Path("a") / "log.csv")
    ('standard input', 'a/log.csv')
    """
    return "standard input" if str(path) == STANDARD else Path(path).as_posix()


def at_line(where: str, line: int, message: str) -> str:
    """Return a message that names the line it is about.

    Examples
    --------
    >>> at_line("log.csv", 3, "a value is missing")
    'log.csv, line 3: a value is missing'
    """
    return f"{where}, line {line}: {message}"


def _standard_input() -> BinaryIO:
    if sys.stdin is None:
        raise ValueError("standard input is closed")
    return sys.stdin.buffer


@contextmanager
def _named(path: str | Path) -> Iterator[None]:
    """Make an error of reading name what was read."""
    try:
        yield
    except OSError as error:
        raise type(error)(error.errno, error.strerror, shown(path)) from None


def read_bytes(path: str | Path) -> bytes:
    """Return all bytes of a file or of standard input."""
    with _named(path):
        return _standard_input().read() if str(path) == STANDARD else Path(path).read_bytes()


def read_lines(path: str | Path) -> Iterator[bytes]:
    """Yield lines as they arrive, so that a live pipe is answered at once."""
    if str(path) == STANDARD:
        stream = _standard_input()
        while True:
            with _named(path):
                # readline, not iteration: nothing may wait for a read-ahead buffer to fill.
                line = stream.readline()
            if not line:
                return
            yield line
    with open(path, "rb") as file:
        while True:
            with _named(path):
                line = file.readline()
            if not line:
                return
            yield line


def decode_lines(lines: Iterable[bytes]) -> Iterator[str]:
    r"""Yield lines as text, without a byte order mark.

    Bytes that are not UTF-8 come out as escapes such as ``\xff``: no number or key has those, so the
    line is then refused with its number, like any other bad line.

    Examples
    --------
    >>> list(decode_lines([b"p0,p1", b"0.5,\xff"]))
    ['p0,p1', '0.5,\\xff']
    """
    for number, line in enumerate(lines):
        text = line.decode("utf-8", errors="backslashreplace")
        yield text.removeprefix("\ufeff") if number == 0 else text


def check_target(path: str | Path) -> None:
    """Refuse an output that cannot be written, before any work is done for it."""
    if str(path) == STANDARD:
        return
    target = Path(path)
    if target.is_dir():
        raise ValueError(f"{path}: is a folder; a file name is needed")
    if target.exists() and not target.is_file():
        return  # a device or pipe is written in place
    if not target.parent.is_dir():
        raise ValueError(f"{path}: folder {target.parent} does not exist")
    if not os.access(target.parent, os.W_OK):
        raise ValueError(f"{path}: folder {target.parent} cannot be written to")


def put(path: str | Path, content: str | bytes) -> None:
    """Write a file whole or not at all; ``"-"`` is standard output.

    Parameters
    ----------
    path : path
    content : str or bytes
    """
    data = content.encode() if isinstance(content, str) else content
    if str(path) == STANDARD:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    check_target(path)
    write_whole(path, data)
