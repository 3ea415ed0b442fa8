# SPDX-License-Identifier: MIT
"""Work that writes files, small enough to be run again and again: one of each way in which tcuq writes.

All commands write files by `write_whole` and folders by `write_folder`; a live session and a fleet go on with
what they kept.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streams import int8_stream

from tcuq import Log, Params
from tcuq.cli import main
from tcuq.cli.process import run_command
from tcuq.export.folders import write_folder
from tcuq.io import write_log

OLD = Params(classes=4, level=0.3, warmup=4)
NEW = Params(classes=4, level=0.2, warmup=4)


@dataclass
class Case:
    """Some work that writes into the folder `out` of a place."""

    name: str
    prepare: Callable[[Path], None]  # fills `in`; and `out`, with what is there before
    work: Callable[[Path], int]  # returns an exit status
    parts: tuple[str, ...] = ("",)  # outputs that are whole by themselves, in the order of writing
    command: bool = True  # errors are printed as one line, not raised


def _base(place: Path, **old: bytes) -> None:
    for name in ("in", "out"):
        (place / name).mkdir(parents=True)
    NEW.save(place / "in" / "params.json")
    write_log(place / "in" / "log.npz", Log(int8_stream(60, 4, 0)[0]))
    for name, data in old.items():
        (place / "out" / name.replace("_", ".")).write_bytes(data)


def _argv(place: Path, text: str) -> list[str]:
    return [each.replace("IN/", f"{place}/in/").replace("OUT/", f"{place}/out/") for each in text.split()]


def function(name: str, work: Callable[[Path], Any], prepare: Callable[[Path], None]) -> Case:
    """Return a function of the library as a case."""

    def done(place: Path) -> int:
        work(place)
        return 0

    return Case(name, prepare, done, command=False)


def _exported(place: Path) -> None:
    _base(place)
    OLD.save(place / "in" / "old.json")
    assert main(_argv(place, "export IN/old.json OUT/tcuq_kws --name kws --quiet")) == 0
    (place / "out" / "tcuq_kws" / "mine.txt").write_text("mine")


TREE = {"README.md": "old", "src/a.c": "old a", "src/b.c": "old b"}
NEW_TREE = {"README.md": "new", "src/a.c": "new a", "src/b.c": "new b", "src/deep/c.c": "new c"}
MINE = {"mine.txt": "mine", "src/mine.c": "mine", "notes/deep/x": "mine"}


def _tree(place: Path) -> None:
    for name in ("in", "out"):
        (place / name).mkdir(parents=True)
    for file, text in (TREE | MINE).items():
        (place / "out" / "c" / file).parent.mkdir(parents=True, exist_ok=True)
        (place / "out" / "c" / file).write_text(text)
    (place / "out" / "c" / "link").symlink_to("../elsewhere")


def all_cases() -> list[Case]:
    """Return a command with two outputs, a function, and a folder that replaces another."""
    text = "run IN/params.json IN/log.npz -o OUT/d.csv --state-out OUT/s.bin --quiet"
    made = "export IN/params.json OUT/tcuq_kws --name kws --force --quiet"
    return [
        Case(
            "run with a state",
            lambda place: _base(place, d_csv=b"old", s_bin=b"old"),
            lambda place: main(_argv(place, text)),
            parts=("d.csv", "s.bin"),
        ),
        function(
            "Params.save",
            lambda place: NEW.save(place / "out" / "p.json"),
            lambda place: _base(place, p_json=b"old"),
        ),
        Case("export", _exported, lambda place: main(_argv(place, made))),
    ]


def folder_cases() -> list[Case]:
    """Return a folder that is replaced whole, and one that is new."""

    def write(place: Path) -> None:
        write_folder(place / "out" / "c", NEW_TREE)

    return [function("a folder", write, _tree), function("a new folder", write, _base)]


def as_command(work: Callable[[], None]) -> int:
    """Run a function as a command is run: errors are one line."""

    def done(args: object) -> int:
        work()
        return 0

    class One:
        def parse_args(self, argv: object) -> argparse.Namespace:
            return argparse.Namespace(command=done, quiet=True)

    made: Any = One
    return run_command("tcuq", made, [])


@dataclass
class Kept:
    """Work that goes on with what a folder holds; it is done again after a fault, from the same inputs."""

    name: str
    prepare: Callable[[Path], None]
    work: Callable[[Path], int]
    look: Callable[[Path], Any]  # returns what the folder says; raises where it is damaged


def _events(place: Path, steps: int = 8) -> None:
    probs, _ = int8_stream(4 * steps, 4, 0)
    rows = []
    for seq in range(steps):
        for device in range(3):
            when = 20_000 * 86_400 + 60.0 * seq + device
            some = ((probs[3 * seq + device].astype(int) + 128) / 256).tolist()
            rows.append({"device": f"d{device}", "boot": 0, "seq": seq, "time": when, "probs": some})
    (place / "in" / "events.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def _fleet_begun(place: Path) -> None:
    _base(place)
    _events(place)
    lines = (place / "in" / "events.jsonl").read_text().splitlines(keepends=True)
    (place / "in" / "events.jsonl").write_text("".join(lines[:9]))
    assert _fleet(place) == 0
    (place / "in" / "events.jsonl").write_text("".join(lines))


def _fleet(place: Path) -> int:
    options = "--folder OUT/fleet --batch 8 --labels-per-day 5 --quiet"
    return main(_argv(place, f"fleet run IN/params.json IN/events.jsonl {options}"))


def _fleet_look(place: Path) -> Any:
    from fleet_runs import outcome

    return outcome(place / "out" / "fleet")


def kept_cases() -> list[Kept]:
    """Return what goes on where it was: a fleet, of one device or many."""
    return [Kept("fleet run", _fleet_begun, _fleet, _fleet_look)]
