# SPDX-License-Identifier: MIT
"""One writer a folder of a fleet, on systems with other locks or without any."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path
from typing import Any

import pytest
from refusals import refused

from tcuq import Params
from tcuq_watch.fleet import Fleet

fcntl = pytest.importorskip("fcntl")


def test_a_file_system_without_locks_is_not_taken_for_a_second_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flock(*args: Any) -> None:
        raise OSError(errno.ENOTSUP, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", flock)
    with refused("unsupported"):
        Fleet(Params(classes=3), tmp_path / "f")


@pytest.mark.parametrize("name", ["decisions", "fleet.sqlite", "fleet.sqlite-wal", "LOCK"])
def test_a_link_in_the_folder_of_a_fleet_destroys_nothing_elsewhere(tmp_path: Path, name: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "theirs").write_text("kept")
    for folder in (tmp_path / "old", tmp_path / "new"):
        folder.mkdir()
        if folder.name == "old":
            Fleet(Params(classes=3), folder).close()
            place = folder / name
            shutil.rmtree(place) if place.is_dir() else place.unlink(missing_ok=True)
        (folder / name).symlink_to(outside if name == "decisions" else outside / "theirs")
        with refused("unsupported"):
            Fleet(Params(classes=3), folder)
        assert [each.name for each in outside.iterdir()] == ["theirs"]
        assert (outside / "theirs").read_text() == "kept"
