"""Writing files whole or not at all."""

from __future__ import annotations

import os
import tempfile
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
            _replace(target, data)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from None


def _replace(target: Path, data: bytes) -> None:
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        # mkstemp makes private files; give the usual permissions of a new file instead.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise
