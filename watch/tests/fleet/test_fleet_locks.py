# SPDX-License-Identifier: MIT
"""One writer a folder of a fleet: forks, and systems with other locks or without any."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path
from typing import Any

import pytest
from forks import forked, needs_fork
from refusals import refused

from tcuq import Params
from tcuq_watch.fleet import Events, Fleet

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


@needs_fork
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fleet_is_not_used_in_a_fork(tmp_path: Path) -> None:
    with Fleet(Params(classes=3), tmp_path / "f") as fleet:
        event = Events(["d"], [0], [0], [[0.9, 0.05, 0.05]])
        for work in (lambda: fleet.take(event), fleet.flush, fleet.commit, lambda: fleet.refuse("bad line")):
            answer = forked(lambda work=work: str(work()))  # type: ignore[misc]
            assert answer.startswith("RuntimeError: fleet ") and "open it after a fork" in answer
        assert len(fleet.take(event)) == 1
    assert Fleet.open_read(tmp_path / "f").commit_number == 1
