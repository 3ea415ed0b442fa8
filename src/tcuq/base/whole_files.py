"""Writing files whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


def write_whole(path: str | Path, content: str | bytes) -> None:
    """Write a file so that a reader sees all of it or the previous one, whatever fails in between.

    A device or pipe is written in place: replacing it by a plain file would destroy it.

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


def _replace(target: Path, data: bytes) -> None:
    import tempfile  # takes as long to import as the rest of the package's small modules together

    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=".tcuq.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, _mode(target))
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def _mode(target: Path) -> int:
    """Return the permissions of the file that is replaced, or those of a new file."""
    if target.exists():
        return stat.S_IMODE(target.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
