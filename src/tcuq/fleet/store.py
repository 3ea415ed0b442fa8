"""Files of a fleet: each whole or not there at all, and a HEAD that names those that count.

A commit writes new files, waits until the disk has them, and then replaces HEAD by renaming. Files that no
HEAD names are removed afterwards, or at the next opening.
"""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.whole_files import sync_folder

FORMAT = "tcuq fleet"
LAYOUT = 1
HEAD, LOCK = "HEAD", "LOCK"
STATE, DECISIONS, VERSIONS = "state", "decisions", "versions"
PART = ".part"
"""End of the name of a file that is being written."""

BUFFER = 1 << 20


def point(what: str, path: Path) -> None:
    """Do nothing, before every change of the disk; tests replace it by a crash or a full disk."""


class _Watched(io.FileIO):
    """A file whose every write is announced."""

    def write(self, data: Any) -> int:
        point("write", Path(str(self.name)))
        return super().write(data)


class _Stream:
    """A file that is written from its beginning to its end, without a step back."""

    def __init__(self, file: Any) -> None:
        self.write, self.flush = file.write, file.flush


def make_folders(folder: Path) -> None:
    """Make the folder of a fleet, and those in it, where they are not there."""
    missing = [each for each in (folder, *folder.parents) if not each.is_dir()][::-1]
    missing += [
        each for each in (folder / name for name in (STATE, DECISIONS, VERSIONS)) if not each.is_dir()
    ]
    for each in missing:
        point("mkdir", each)
        each.mkdir(exist_ok=True)
    for parent in dict.fromkeys(each.parent for each in missing):
        synced(parent)


def synced(folder: Path) -> None:
    """Wait until the disk has the names in a folder."""
    point("sync", folder)
    sync_folder(folder)


def _written(path: Path, fill: Any) -> int:
    part = path.with_name(path.name + PART)
    point("open", part)
    with io.BufferedWriter(_Watched(part, "wb"), BUFFER) as file:
        fill(file)
        file.flush()
        point("sync", part)
        os.fsync(file.fileno())
        size = file.tell()
    point("rename", part)
    os.replace(part, path)
    return size


def write_bytes(path: Path, content: bytes) -> int:
    """Write a file whole; the disk has it, but perhaps not yet its name. Return its bytes."""
    return _written(path, lambda file: file.write(content))


def write_arrays(path: Path, arrays: Mapping[str, npt.NDArray[Any]]) -> int:
    """Write arrays whole, as `numpy.load` reads them: each with a CRC, none pickled. Return the bytes."""

    def fill(file: Any) -> None:
        stream: Any = _Stream(file)
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
            for name, array in arrays.items():
                with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, np.ascontiguousarray(array), allow_pickle=False)

    return _written(path, fill)


def read_arrays(path: Path, size: int | None = None) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of a file; one that is damaged is refused in one line."""
    found = path.stat().st_size
    if size is not None and found != size:
        raise ValueError(f"{path} is damaged: it has {found} bytes, expected {size}")
    try:
        with np.load(path, allow_pickle=False) as content:
            return {name: content[name] for name in content.files}
    except (ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(f"{path} is damaged: {str(error).splitlines()[0]}") from None


def packed(texts: Sequence[str]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """Return texts as the bytes of their UTF-8, one after the other, and the end of each."""
    whole = "".join(texts).encode()
    lengths: Any = map(len, texts)
    if not whole.isascii():
        lengths = [len(text.encode()) for text in texts]
    ends = np.cumsum(np.fromiter(lengths, np.int64, len(texts)))
    return np.frombuffer(whole, dtype=np.uint8), ends


def unpacked(content: npt.NDArray[np.uint8], ends: npt.NDArray[np.int64]) -> list[str]:
    """Return the texts that `packed` was given."""
    whole, places = content.tobytes(), ends.tolist()
    if whole.isascii():
        text = whole.decode("ascii")
        return [text[a:b] for a, b in zip([0, *places], places, strict=False)]
    return [whole[a:b].decode() for a, b in zip([0, *places], places, strict=False)]


def remove(path: Path) -> None:
    """Remove a file that nobody needs; one that stays is removed at the next opening."""
    point("remove", path)
    with contextlib.suppress(OSError):
        path.unlink()


def write_head(folder: Path, head: Mapping[str, Any]) -> None:
    """Replace HEAD: from here on its files count. The disk must have them by now."""
    line = json.dumps({"format": FORMAT, "layout": LAYOUT, **head}, allow_nan=False).encode()
    write_bytes(folder / HEAD, line + f"\n{zlib.crc32(line):08x}\n".encode())
    synced(folder)


def read_head(folder: Path) -> dict[str, Any] | None:
    """Return what HEAD says, None for a folder without one."""
    path = folder / HEAD
    try:
        line, _, rest = path.read_bytes().partition(b"\n")
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        head = json.loads(line)
        known = head["format"] == FORMAT
    except (ValueError, KeyError, TypeError):
        raise ValueError(f"{path} is damaged or not of a fleet") from None
    if not known:
        raise ValueError(f"{path} is of {head['format']!r}, expected {FORMAT!r}")
    if head["layout"] != LAYOUT:
        raise ValueError(
            f"{path} has layout {head['layout']}, expected {LAYOUT}; use the release that wrote it"
        )
    if rest.strip() != f"{zlib.crc32(line):08x}".encode():
        raise ValueError(f"{path} is damaged: its checksum is another")
    return dict(head)


def check_new(folder: Path) -> None:
    """Refuse a folder without HEAD that holds other things than an opening that was cut short leaves."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file, expected a folder")
    own = {STATE, DECISIONS, VERSIONS, LOCK, HEAD + PART}
    others = sorted(each.name for each in folder.iterdir() if each.name not in own) if folder.is_dir() else []
    if others:
        raise ValueError(f"{folder} holds {others[0]!r} and no fleet, expected an empty folder or a fleet's")


def locked(folder: Path) -> Any:
    """Return a file that keeps other writers out until it is closed, or this process ends."""
    path = folder / LOCK
    file = open(path, "a+b")  # noqa: SIM115
    try:
        _lock(file)
    except OSError as error:
        if error.errno not in (errno.EAGAIN, errno.EACCES):
            file.close()
            raise ValueError(
                f"{folder} cannot be locked ({error.strerror}), expected a file system that keeps locks"
            ) from None
        file.seek(0)
        owner = file.read(20).decode(errors="replace").strip() or "?"
        file.close()
        raise ValueError(
            f"{folder} is in use by process {owner}, expected one writer; open it with read_only=True to look"
        ) from None
    file.truncate(0)
    file.write(str(os.getpid()).encode())
    file.flush()
    return file


def _lock(file: Any) -> None:
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        windows: Any = msvcrt
        file.seek(1 << 20)  # beyond the number of the process, which others read
        windows.locking(file.fileno(), windows.LK_NBLCK, 1)
        return
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def clean(folder: Path, named: set[str], last: int) -> None:
    """Remove what no HEAD names: files of a commit that was cut short, or that a later one replaced."""
    for name in (STATE, DECISIONS, VERSIONS):
        for path in sorted((folder / name).iterdir()):
            mine = f"{name}/{path.name}" in named
            decided = name == DECISIONS and path.suffix == ".npz" and path.stem.isdigit()
            if not mine and not (decided and int(path.stem) <= last):
                remove(path)
    if (folder / (HEAD + PART)).exists():
        remove(folder / (HEAD + PART))
