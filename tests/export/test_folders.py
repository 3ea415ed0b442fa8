"""Folders that are replaced whole; tests/faults kills and fails every single file operation of it."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest
from refusals import refused

from tcuq.export import folders
from tcuq.export.folders import recover, write_folder

OLD = {"README.md": "old", "src/a.c": "old a", "src/b.c": "old b"}
NEW = {"README.md": "new", "src/a.c": "new a", "src/b.c": "new b", "src/deep/c.c": "new c"}
MINE = {"mine.txt": "mine", "src/mine.c": "mine", "notes/deep/x": "mine"}


def fill(folder: Path, texts: dict[str, str]) -> None:
    for file, text in texts.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text)


def content(folder: Path) -> dict[str, str]:
    return {
        file.relative_to(folder).as_posix(): file.read_text() for file in folder.rglob("*") if file.is_file()
    }


def no_exchange(one: Path, two: Path) -> None:
    raise OSError(errno.ENOSYS, "Function not implemented")


def test_what_others_put_there_stays_as_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    fill(folder, OLD | MINE)
    (folder / "link").symlink_to("../elsewhere")
    (folder / "mine.txt").chmod(0o640)
    (folder / "empty").mkdir(mode=0o700)
    same = (folder / "mine.txt").stat()
    write_folder(folder, NEW)
    after = (folder / "mine.txt").stat()
    assert (after.st_ino, after.st_mode, after.st_mtime_ns) == (same.st_ino, same.st_mode, same.st_mtime_ns)
    assert after.st_nlink == 1
    assert os.readlink(folder / "link") == "../elsewhere"
    assert (folder / "empty").stat().st_mode & 0o777 == 0o700


def test_a_system_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path / "c", OLD | MINE)

    def no_link(*args: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_link)
    write_folder(tmp_path / "c", NEW)
    assert content(tmp_path / "c") == NEW | MINE


def test_a_link_to_a_folder_stays_a_link(tmp_path: Path) -> None:
    fill(tmp_path / "true", OLD)
    (tmp_path / "c").symlink_to("true")
    write_folder(tmp_path / "c", NEW)
    assert (tmp_path / "c").is_symlink() and content(tmp_path / "true") == NEW
    assert sorted(os.listdir(tmp_path)) == ["c", "true"]


def test_folders_that_others_hold_on_to_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path / "c", OLD)
    for here in ("c", "c/src"):
        monkeypatch.chdir(tmp_path / here)
        with refused("unsupported"):
            write_folder(tmp_path / "c", NEW)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os.path, "ismount", lambda path: True)
    with refused("unsupported"):
        write_folder(tmp_path / "c", NEW)
    assert content(tmp_path / "c") == OLD and os.listdir(tmp_path) == ["c"]


def test_a_pipe_cannot_be_taken_along(tmp_path: Path) -> None:
    fill(tmp_path / "c", OLD)
    os.mkfifo(tmp_path / "c" / "pipe")
    with refused("unsupported"):
        write_folder(tmp_path / "c", NEW)
    assert os.listdir(tmp_path) == ["c"] and (tmp_path / "c" / "README.md").read_text() == "old"


def test_two_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path / "c", OLD)
    true, messages = folders.exchange, []

    def meanwhile(one: Path, two: Path) -> None:
        with refused("busy") as error:
            write_folder(tmp_path / "c", OLD)
        messages.append(error.value)
        true(one, two)

    monkeypatch.setattr(folders, "exchange", meanwhile)
    write_folder(tmp_path / "c", NEW)
    assert len(messages) == 1 and content(tmp_path / "c") == NEW and os.listdir(tmp_path) == ["c"]


def interrupted_after_the_first_rename(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    true, count = os.rename, [0]

    def rename(*args: Any) -> None:
        true(*args)
        count[0] += 1
        if count[0] == 1:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(folders, "exchange", no_exchange)
        patch.setattr(os, "rename", rename)
        with pytest.raises(KeyboardInterrupt):
            write_folder(target, NEW)


def test_an_interrupt_between_two_renames_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "out"
    fill(target, OLD | MINE)
    interrupted_after_the_first_rename(target, monkeypatch)
    assert content(target) == OLD | MINE and os.listdir(tmp_path) == ["out"]


def test_a_folder_that_cannot_be_put_back_is_kept_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, shop = tmp_path / "out", tmp_path / ".out.tcuq-export"
    fill(shop / "old", OLD | MINE)
    fill(shop / "new", NEW)

    def denied(*args: Any) -> None:
        raise OSError(errno.EACCES, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", denied)
        with refused("failed"):
            recover(target)
    assert content(shop / "old") == OLD | MINE
    # Made again by someone before the next export: which one is right is not for us to say.
    target.mkdir()
    with refused("exists"):
        write_folder(target, NEW)
    assert content(shop / "old") == OLD | MINE and content(target) == {}
    target.rmdir()
    recover(target)
    assert content(target) == OLD | MINE and os.listdir(tmp_path) == ["out"]


@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write anywhere")
def test_folders_that_are_read_only_do_not_block_the_next_export(tmp_path: Path) -> None:
    target = tmp_path / "out"
    fill(target, OLD | MINE)
    for inner in ("src", "notes"):
        (target / inner).chmod(0o555)
    for _ in range(3):
        write_folder(target, NEW)
        assert content(target) == NEW | MINE and os.listdir(tmp_path) == ["out"]
        assert (target / "src").stat().st_mode & 0o777 == 0o555
    for inner in ("src", "notes"):
        (target / inner).chmod(0o755)
