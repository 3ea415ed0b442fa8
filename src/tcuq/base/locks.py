"""The lock of an open file, which never waits."""

from __future__ import annotations

import errno


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
