# SPDX-License-Identifier: MIT
"""Folders that are replaced whole on systems that lack something: locks, an exchange, hard links."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from refusals import refused

from tcuq.export import folders
from tcuq.export.folders import exchange, write_folder

fcntl = pytest.importorskip("fcntl")


def failing(number: int) -> Callable[..., Any]:
    def fail(*args: object, **named: object) -> None:
        raise OSError(number, os.strerror(number))

    return fail


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    target = tmp_path / "c"
    target.mkdir()
    (target / "a").write_text("old")
    (target / "mine").write_text("mine")
    return target


def test_a_system_without_locks_writes_all_the_same(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "fcntl", None)  # Windows
        write_folder(folder, {"a": "new"})
    assert (folder / "a").read_text() == "new" and os.listdir(folder.parent) == ["c"]
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    with monkeypatch.context() as patch:
        patch.setattr(fcntl, "flock", failing(errno.ENOTSUP))
        write_folder(folder, {"a": "newer"})
    assert (folder / "a").read_text() == "newer" and os.listdir(folder.parent) == ["c"]
    assert not before or len(os.listdir("/proc/self/fd")) == before  # no handle is left open


def test_a_system_that_cannot_exchange_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "one").mkdir()
    with pytest.raises(OSError, match="No such file") as error:
        exchange(tmp_path / "one", tmp_path / "two")
    assert error.value.errno == errno.ENOENT
    monkeypatch.setattr(os, "name", "nt")
    with pytest.raises(OSError, match=os.strerror(errno.ENOSYS)) as error:
        exchange(tmp_path / "one", tmp_path / "two")
    assert error.value.errno == errno.ENOSYS


@pytest.mark.parametrize("where", ["exchange", "link"])
def test_a_broken_disk_is_no_missing_ability(
    where: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os if where == "link" else folders, where, failing(errno.EIO))
    with pytest.raises(OSError, match=os.strerror(errno.EIO)) as error:
        write_folder(folder, {"a": "new"})
    assert error.value.filename == str(folder)
    assert (folder / "a").read_text() == "old" and os.listdir(folder.parent) == ["c"]


def test_a_mount_point_inside_is_not_taken_along(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "disk").mkdir()
    monkeypatch.setattr(os.path, "ismount", lambda path: Path(path).name == "disk")
    with refused("unsupported"):
        write_folder(folder, {"a": "new"})
    assert (folder / "a").read_text() == "old" and os.listdir(folder.parent) == ["c"]


def test_a_link_in_the_place_of_a_new_file_is_replaced(folder: Path) -> None:
    (folder / "a").rename(folder.parent / "kept")
    (folder / "a").symlink_to("../kept")
    write_folder(folder, {"a": "new"})
    assert not (folder / "a").is_symlink() and (folder / "a").read_text() == "new"
    assert (folder.parent / "kept").read_text() == "old"
