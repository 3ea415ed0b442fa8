"""Files that are written whole: what reaches the disk, and in which order."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from tcuq.base.whole_files import sync_folder, write_whole


def recorded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record what is synced and renamed, by kind."""
    calls: list[str] = []
    fsync, replace = os.fsync, os.replace

    def record_fsync(handle: int) -> None:
        kind = "folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else f"{os.fstat(handle).st_size} bytes"
        calls.append(f"sync {kind}")
        fsync(handle)

    def record_replace(*args: object) -> None:
        calls.append("rename")
        replace(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "fsync", record_fsync)
    monkeypatch.setattr(os, "replace", record_replace)
    return calls


def test_content_is_on_the_disk_before_the_name_and_the_name_before_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = recorded(monkeypatch)
    write_whole(tmp_path / "a", b"12345")
    assert calls == ["sync 5 bytes", "rename", "sync folder"]
    assert os.listdir(tmp_path) == ["a"]


def test_a_system_whose_folders_cannot_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    true_open = os.open

    def no_folders(path: str, flags: int, *more: int, **named: int) -> int:
        if os.path.isdir(path):
            raise PermissionError(errno.EACCES, "Permission denied")
        return true_open(path, flags, *more, **named)

    monkeypatch.setattr(os, "open", no_folders)
    write_whole(tmp_path / "a", "new")
    assert (tmp_path / "a").read_text() == "new"


@pytest.mark.parametrize(("number", "raised"), [(errno.EINVAL, False), (errno.EIO, True)])
def test_a_folder_that_cannot_be_synced_is_no_error_but_a_broken_disk_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, raised: bool
) -> None:
    def fail(handle: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fail)
    if raised:
        with pytest.raises(OSError, match="error"):
            sync_folder(tmp_path)
    else:
        sync_folder(tmp_path)


@pytest.mark.parametrize("failing", ["fsync", "replace", "chmod"])
def test_what_fails_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    (tmp_path / "a").write_text("old")

    def fail(*args: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, failing, fail)
    with pytest.raises(OSError, match="No space left") as error:
        write_whole(tmp_path / "a", "new")
    assert error.value.filename == str(tmp_path / "a")
    assert os.listdir(tmp_path) == ["a"] and (tmp_path / "a").read_text() == "old"
