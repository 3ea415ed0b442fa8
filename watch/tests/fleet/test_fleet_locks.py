# SPDX-License-Identifier: MIT
"""One writer a folder of a fleet, on systems with other locks or without any."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from refusals import refused

from tcuq import Params
from tcuq_watch.fleet import Fleet, store

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
        with refused("busy", "folder"):
            store.locked(tmp_path)


def test_a_file_system_without_locks_is_not_taken_for_a_second_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flock(*args: Any) -> None:
        raise OSError(errno.ENOTSUP, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", flock)
    with refused("unsupported"):
        store.locked(tmp_path)


@pytest.mark.parametrize("name", ["state", "decisions", "versions", "requests", "HEAD.part", "LOCK"])
def test_a_link_in_the_folder_of_a_fleet_destroys_nothing_elsewhere(tmp_path: Path, name: str) -> None:
    """`clean` emptied the folder behind a link, and the lock truncated the file behind one."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "theirs.npz").write_text("kept")
    for folder in (tmp_path / "old", *([tmp_path / "new"] if name != "requests" else [])):
        if folder.name == "old":
            Fleet(Params(classes=3), folder).close()
            place = folder / name
            if place.is_dir():
                shutil.rmtree(place)
            else:
                place.unlink(missing_ok=True)
        else:
            folder.mkdir()
        (folder / name).symlink_to(outside / "theirs.npz" if "." in name or name == "LOCK" else outside)
        with refused("unsupported"):
            Fleet(Params(classes=3), folder)
        assert [each.name for each in outside.iterdir()] == ["theirs.npz"]
        assert (outside / "theirs.npz").read_text() == "kept"


def test_links_that_come_later_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "theirs").write_text("kept")
    for name in ("a.part", store.LOCK):
        (tmp_path / name).symlink_to(tmp_path / "theirs")
    with pytest.raises(OSError):
        store.write_bytes(tmp_path / "a", b"new")
    with pytest.raises(OSError):
        store.locked(tmp_path)
    assert (tmp_path / "theirs").read_text() == "kept"
