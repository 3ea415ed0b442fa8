# SPDX-License-Identifier: MIT
"""True disks that are full or read-only, and folders that a user may not write to."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import pytest
from fault_cases import NEW, OLD
from faulty_files import run_forked, snapshot
from streams import int8_stream

from tcuq import Log
from tcuq.cli import main
from tcuq.io import write_log

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or os.geteuid() != 0,
    reason="mounting, and giving up rights, is for root",
)
COMMANDS = {
    "run": "run IN/params.json IN/log.npz -o OUT/d.csv",
    "export": "export IN/params.json OUT/tcuq_kws --name kws --force",
    "report": "report IN/d.csv -o OUT/d.html",
    "live": "live IN/params.json IN/events.jsonl --folder OUT/live --no-page",
    "fleet": "fleet run IN/params.json IN/events.jsonl --folder OUT/fleet",
}
ROOM = 24_576
"""Bytes of the disk: enough for what was there before, and for no new output but a folder of little."""


@pytest.fixture
def place() -> Iterator[Path]:
    """Give a folder that every user may look into."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chmod(folder, 0o755)
        here = Path(folder)
        (here / "in").mkdir()
        (here / "out").mkdir()
        NEW.save(here / "in" / "params.json")
        OLD.save(here / "in" / "old.json")
        write_log(here / "in" / "log.npz", Log(int8_stream(300, 4, 0)[0]))
        assert run(here, "run IN/params.json IN/log.npz -o IN/d.csv --quiet") == 0
        row = '{"device": "d", "boot": 0, "seq": 0, "probs": [0.25, 0.25, 0.25, 0.25]}\n'
        (here / "in" / "events.jsonl").write_text(row)
        yield here


def run(place: Path, text: str) -> int:
    return main(
        [each.replace("IN/", f"{place}/in/").replace("OUT/", f"{place}/out/") for each in text.split()]
    )


@pytest.fixture
def mounted(place: Path) -> Iterator[Path]:
    out = place / "out"
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={ROOM}", "tmpfs", str(out)], capture_output=True
    )
    if done.returncode != 0:
        pytest.skip("no disk can be mounted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(out)], check=True)


def refused(place: Path, name: str, words: str, before: Callable[[], None] = lambda: None) -> None:
    """Run a command in a process of its own; it says one line and leaves everything as it was."""
    old = snapshot(place / "out")

    def work() -> int:
        before()
        return run(place, COMMANDS[name] + " --quiet")

    found = run_forked(work, place / "nowhere")
    lines = found.printed.splitlines()
    assert found.status == 2 and len(lines) == 1, (found.status, found.printed)
    assert words in lines[0] and str(place / "out") in lines[0], found.printed
    assert snapshot(place / "out") == old


@pytest.mark.parametrize("name", ["run", "export", "report"])
def test_a_full_disk(name: str, mounted: Path) -> None:
    (mounted / "out" / "d.csv").write_text("old")
    (mounted / "out" / "filling").write_bytes(bytes(ROOM - 2 * 4096))
    refused(mounted, name, "No space left on device; free some space, or write elsewhere")


@pytest.mark.parametrize("name", COMMANDS)
def test_a_disk_that_is_read_only(name: str, mounted: Path) -> None:
    out = mounted / "out"
    (out / "d.csv").write_text("old")
    subprocess.run(["mount", "-o", "remount,ro", str(out)], check=True)
    refused(mounted, name, "ead-only file system" if name != "run" and name != "report" else "out")


@pytest.mark.parametrize("name", COMMANDS)
def test_a_folder_that_this_user_may_not_write_to(name: str, place: Path) -> None:
    (place / "out" / "d.csv").write_text("old")
    if name == "export":  # imports what this user may not read
        run(place, "export IN/params.json IN/tcuq_kws --name kws --quiet")
    if name in ("live", "fleet"):
        run(place, "fleet run IN/params.json IN/events.jsonl --folder IN/fleet --quiet")
        import_module("tcuq_watch.live.session")
    refused(place, name, "", lambda: os.setuid(65534))
