"""Writing files whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


def write_whole(path: str | Path, content: str | bytes) -> None:
    """Write a file so that a reader sees all of it or the previous one, whatever fails in between.

    The content is on the disk before it takes the name, and the name is before this returns: a loss of
    power leaves the old file or the new one, not an empty one. A device or pipe is written in place:
    replacing it by a plain file would destroy it.

    Parameters
    ----------
    path : path
        Target; its folder must exist.
    content : str or bytes
        Text is written as UTF-8.

    Raises
    ------
    OSError
        Naming the target, whichever file of the way failed.
    """
    target = Path(path)
    data = content.encode() if isinstance(content, str) else content
    try:
        if target.exists() and not target.is_file():
            target.write_bytes(data)
        else:
            _replace(target.resolve(), data)  # a link stays a link to the new content
    except RuntimeError:  # what resolve() says to a loop of links before Python 3.13
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path)) from None
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from None


def write_synced(handle: int, data: bytes) -> None:
    """Write bytes to an open file, wait until the disk has them, and close it."""
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(path: str | Path) -> None:
    """Wait until the disk has the names in a folder; nothing where folders cannot be opened (Windows)."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError as error:
        # File systems that keep no folders of their own say so in one of these ways.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF, errno.EACCES):
            raise
    finally:
        os.close(handle)


def _replace(target: Path, data: bytes) -> None:
    import tempfile  # takes as long to import as the rest of the package's small modules together

    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=".tcuq.")
    try:
        write_synced(handle, data)
        os.chmod(temporary, _mode(target))
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise
    sync_folder(target.parent)


def _mode(target: Path) -> int:
    """Return the permissions of the file that is replaced, or those of a new file."""
    if target.exists():
        return stat.S_IMODE(target.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
