"""A lock of threads that never waits."""

from __future__ import annotations

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
