# SPDX-License-Identifier: MIT
"""One writer a folder of a fleet, on systems with other locks or without any."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tcuq.fleet import store

fcntl = pytest.importorskip("fcntl")


class Windows:
    """What `msvcrt` does to a byte of a file: one process holds it, another is refused."""

    LK_NBLCK = 2

    def __init__(self) -> None:
        self.held: list[tuple[int, int]] = []

    def locking(self, handle: int, mode: int, count: int) -> None:
        assert mode == self.LK_NBLCK
        if self.held:
            raise OSError(errno.EACCES, "Permission denied")
        self.held.append((os.lseek(handle, 0, os.SEEK_CUR), count))


def test_the_lock_of_windows_lies_beyond_what_others_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    windows = Windows()
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", windows)
    with store.locked(tmp_path):
        assert windows.held == [(1 << 20, 1)]
        assert (tmp_path / store.LOCK).read_bytes() == str(os.getpid()).encode()
        with pytest.raises(ValueError, match=rf"in use by process {os.getpid()}, expected one writer"):
            store.locked(tmp_path)


def test_a_file_system_without_locks_is_not_taken_for_a_second_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flock(*args: Any) -> None:
        raise OSError(errno.ENOTSUP, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(ValueError, match=r"cannot be locked \(Operation not supported\), expected a file s"):
        store.locked(tmp_path)


def test_a_lock_that_names_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = SimpleNamespace(flock=None, LOCK_EX=2, LOCK_NB=4)

    def flock(*args: Any) -> None:
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    held.flock = flock
    monkeypatch.setitem(sys.modules, "fcntl", held)
    with pytest.raises(ValueError, match=r"in use by process \?, expected one writer"):
        store.locked(tmp_path)
