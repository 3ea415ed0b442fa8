"""Locks that never wait: of threads, and of processes that use one file."""

from __future__ import annotations

import errno
from threading import Lock
from typing import Any


class NonBlockingLock:
    """A lock that never waits. A copy, or one that was pickled, is free."""

    def __init__(self, what: str) -> None:
        self.what = what
        self._lock = Lock()

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            used = f"{self.what} is in use by another thread, or was when this process was forked"
            raise RuntimeError(f"{used}; give each thread and process one of its own")

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[Any, ...]:
        return NonBlockingLock, (self.what,)


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
