# SPDX-License-Identifier: MIT
"""One session a folder, on systems with locks and without."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from live_runs import PARAMS
from refusals import refused

from tcuq_watch.live.folder import Folder, check_free

fcntl = pytest.importorskip("fcntl")


def test_a_system_without_locks_watches_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def flock(*args: Any) -> None:
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))

    with monkeypatch.context() as patch:
        patch.setattr(fcntl, "flock", flock)
        Folder(tmp_path / "no locks", PARAMS).close()
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "fcntl", None)  # Windows
        Folder(tmp_path / "windows", PARAMS).close()


def test_a_folder_is_found_in_use_before_anything_is_opened(tmp_path: Path) -> None:
    check_free(tmp_path)  # nobody was there yet
    folder = Folder(tmp_path, PARAMS)
    with refused("busy"):
        check_free(tmp_path)
    folder.close()
    check_free(tmp_path)


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with refused("value"):
        Folder(tmp_path / "file", PARAMS)
    with refused("failed"):
        Folder(tmp_path / "file" / "inner", PARAMS)


@pytest.mark.parametrize(
    "name", [".lock", "received.jsonl", "decisions.jsonl", "marks.jsonl", "session.json"]
)
def test_a_link_in_the_folder_of_a_session_destroys_nothing_elsewhere(tmp_path: Path, name: str) -> None:
    """A journal cut half a line off the file behind a link."""
    (tmp_path / "theirs").write_text("kept")
    (tmp_path / "live").mkdir()
    (tmp_path / "live" / name).symlink_to(tmp_path / "theirs")
    with refused("unsupported"):
        Folder(tmp_path / "live", PARAMS)
    assert (tmp_path / "theirs").read_text() == "kept"


def test_links_that_come_later_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "theirs").write_text("kept")
    folder = Folder(tmp_path / "live", PARAMS)
    (tmp_path / "live" / "session.json").symlink_to(tmp_path / "theirs")
    folder.save(folder.saved, b"")
    folder.close()
    assert (tmp_path / "theirs").read_text() == "kept"
    assert not (tmp_path / "live" / "session.json").is_symlink()
