"""Writing files whole or not at all, and the lock of an open file, which never waits."""

from __future__ import annotations

import errno
import os
import stat
import zlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

_ATTEMPTS = 20  # times that a name is tried which others take at the same time
_WRITERS = 4  # processes that may write one file at once, so that what any of them leaves is found
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


def write_whole(path: str | Path, content: str | bytes | Iterable[bytes], links: bool = True) -> None:
    """Write a file so that a reader sees all of it or the previous one, whatever fails in between."""
    # A loss of power, or an error among the pieces, leaves the old file or the new one. An `OSError` names
    # the target, whichever file of the way failed. Without `links` a symbolic link is replaced by the file.
    target = Path(path)
    data = content.encode() if isinstance(content, str) else content
    try:
        if not links:
            _replace(target, data)
        elif target.exists() and not target.is_file():  # a plain file in its place would destroy a device
            with target.open("wb") as file:
                file.writelines(pieces_of(data))
        else:
            _replace(target.resolve(), data)  # a link stays a link to the new content
    except RuntimeError:  # what resolve() says to a loop of links before Python 3.13
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path)) from None
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from None


def pieces_of(data: bytes | Iterable[bytes]) -> Iterable[bytes]:
    """Return bytes as the pieces that they are written in."""
    return [data] if isinstance(data, bytes) else data


def write_synced(handle: int, data: bytes | Iterable[bytes], close: bool = True) -> None:
    """Write bytes to an open file, wait until the disk has them, and close it."""
    with os.fdopen(handle, "wb", closefd=close) as file:
        file.writelines(pieces_of(data))
        file.flush()
        os.fsync(file.fileno())


def sync_folder(path: str | Path) -> None:
    """Wait until the disk has the names in a folder; nothing where folders cannot be opened (Windows)."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except PermissionError:
        return
    try:
        os.fsync(handle)
    except OSError as error:
        # File systems that keep no folders of their own say so in one of these ways.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF, errno.EACCES):
            raise
    finally:
        os.close(handle)


def make_folder(path: str | Path) -> None:
    """Make a folder, and those around it, where they are missing; the disk has them when this returns."""
    folder = Path(path)
    missing = [each for each in (folder, *folder.parents) if not each.is_dir()]
    if missing:
        folder.mkdir(parents=True, exist_ok=True)
    for each in reversed(missing):
        sync_folder(each.parent)


def _replace(target: Path, data: bytes | Iterable[bytes]) -> None:
    # A file that is replaced keeps its permissions; those of a new one are for the system to say.
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
    handle, part = _part(target, 0o666 if mode is None else 0o600)
    try:
        write_synced(handle, data, close=False)
        if mode is not None:
            os.chmod(part, mode)
        if os.name == "nt":  # an open file cannot be renamed there
            os.close(handle)
            handle = -1
        os.replace(part, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(part)
        raise
    finally:
        if handle >= 0:
            with suppress(OSError):  # the disk has the content, or the error is known by now
                os.close(handle)
    sync_folder(target.parent)


def _part(target: Path, mode: int) -> tuple[int, str]:
    """Return a new file beside the target, open and locked, and its path."""
    # The names are the same each time, so that the next process finds what a killed one left, and removes it.
    # Who writes holds a lock. Another one that writes the same file meanwhile takes the next name.
    first = os.path.join(target.parent, f".tcuq.{zlib.crc32(os.fsencode(target.name)):08x}")
    places = [first, *(f"{first}.{number}" for number in range(1, _WRITERS))]
    for number, place in enumerate(places):
        handle = _new(place, mode)
        if handle is not None:
            for other in places[number + 1 :]:
                if os.path.lexists(other):
                    _left_behind(other)
            return handle, place
    place = f"{first}.{os.urandom(8).hex()}"
    return os.open(place, _FLAGS, mode), place


def _new(place: str, mode: int) -> int | None:
    """Return a new file, open and locked; None where another process writes one of that name."""
    for _ in range(_ATTEMPTS):
        try:
            handle = os.open(place, _FLAGS, mode)
        except FileExistsError:
            if not _left_behind(place):
                return None
            continue
        if lock_file(handle) is not False and _is_still(handle, place):
            return handle
        os.close(handle)  # another process took it for one that was left behind
    return None


def _left_behind(place: str) -> bool:
    """Remove a file that a killed process left; tell whether its name is free now."""
    if os.name == "nt":  # a file that someone writes cannot be removed there
        with suppress(OSError):
            os.unlink(place)
        return not os.path.lexists(place)
    for access in (os.O_RDWR, os.O_RDONLY):  # some locks need the first, some files forbid it
        try:
            handle = os.open(place, access | os.O_NOFOLLOW | os.O_NONBLOCK)
        except FileNotFoundError:
            return True
        except OSError:
            continue
        try:
            if lock_file(handle) and _is_still(handle, place):
                os.unlink(place)
        except OSError:
            return False
        finally:
            os.close(handle)
        return not os.path.lexists(place)
    return False


def _is_still(handle: int, place: str) -> bool:
    """Tell whether a name still stands for an open file."""
    try:
        return os.path.samestat(os.fstat(handle), os.lstat(place))
    except OSError:
        return False


def lock_file(handle: int, shared: bool = False) -> bool | None:
    """Take the lock of an open file; tell whether that was possible, None where there are no locks."""
    try:
        import fcntl
    except ImportError:  # Windows
        return None
    try:
        fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError as error:
        return False if error.errno in (errno.EAGAIN, errno.EACCES) else None
    return True
