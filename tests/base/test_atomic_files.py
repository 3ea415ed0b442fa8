"""Files that are written whole: what reaches the disk, and in which order."""

from __future__ import annotations

import errno
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tcuq.base import atomic_files
from tcuq.base.atomic_files import make_folder, sync_folder, write_whole


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


def test_what_a_killed_process_left_is_removed_and_what_another_writes_is_not(tmp_path: Path) -> None:
    target = tmp_path / "a"
    handle, part = atomic_files._part(target, 0o600)
    os.write(handle, b"half")
    write_whole(target, "meanwhile")  # by another process: the first one holds its lock
    assert sorted(os.listdir(tmp_path)) == sorted(["a", os.path.basename(part)])
    os.close(handle)  # as a kill does
    os.chmod(part, 0o444)
    write_whole(target, "new")
    assert os.listdir(tmp_path) == ["a"] and target.read_text() == "new"


@pytest.mark.skipif(os.name == "nt", reason="an open file cannot be removed there")
def test_what_several_killed_processes_left_is_removed(tmp_path: Path) -> None:
    target = tmp_path / "a"
    parts = [atomic_files._part(target, 0o600) for _ in range(4)]  # all at once
    assert len({part for _, part in parts}) == 4
    for handle, _ in parts[1:]:
        os.close(handle)  # as a kill does
    write_whole(target, "meanwhile")
    assert sorted(os.listdir(tmp_path)) == sorted([os.path.basename(parts[0][1]), "a"])
    os.close(parts[0][0])
    write_whole(target, "new")
    assert os.listdir(tmp_path) == ["a"] and target.read_text() == "new"


def test_a_link_in_the_place_of_the_hidden_file_is_not_followed(tmp_path: Path) -> None:
    target, other = tmp_path / "a", tmp_path / "other"
    other.write_text("mine")
    handle, part = atomic_files._part(target, 0o600)
    os.close(handle)
    os.unlink(part)
    os.symlink(other, part)
    write_whole(target, "new")
    assert target.read_text() == "new" and other.read_text() == "mine"


def test_permissions_are_those_of_the_old_file_or_as_the_system_says(tmp_path: Path) -> None:
    mask = os.umask(0o027)
    try:
        write_whole(tmp_path / "a", "new")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640
    (tmp_path / "a").chmod(0o604)
    write_whole(tmp_path / "a", "newer")
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o604


def test_many_who_write_one_file_at_once(tmp_path: Path) -> None:
    def write(number: int) -> None:
        for _ in range(20):
            write_whole(tmp_path / "a", f"{number}" * 5000)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(write, range(6)))
    text = (tmp_path / "a").read_text()
    assert len(text) == 5000 and len(set(text)) == 1 and os.listdir(tmp_path) == ["a"]


def test_folders_around_a_new_one_are_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[Path] = []
    monkeypatch.setattr(atomic_files, "sync_folder", synced.append)
    make_folder(tmp_path / "a" / "b")
    assert synced == [tmp_path, tmp_path / "a"]
    make_folder(tmp_path / "a" / "b")
    assert len(synced) == 2
