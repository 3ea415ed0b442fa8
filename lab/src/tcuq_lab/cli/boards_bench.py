"""`tcuq-lab boards bench`: stock monitors on boards, compared with stored figures."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tcuq.cli.common import note, print_json, progress
from tcuq.cli.parser import declare
from tcuq.cli.process import UsageError, tell
from tcuq_device.cli.shared import energy, span

from .options import options

if TYPE_CHECKING:
    from tcuq.cli.parser import Subparsers

STORED = "../bench/monitors.json"
"""Figures of stock monitors, from the folder `lab` of a checkout."""


def add(actions: Subparsers) -> None:
    """Declare the action."""
    parser = declare(
        actions,
        "bench",
        "measure stock monitors on boards and compare with stored figures",
        "tcuq-lab boards bench --board stm32l432kc --check",
        run_bench,
        "tcuq device cost monitor.json",
    )
    board = "measure this board; may be repeated (default: one board for each processor core)"
    options(parser, ("--board", "BOARD", board), action="append")
    options(
        parser,
        ("--stored", "FILE", "stored figures (default: bench/monitors.json of the checkout)"),
        ("--check", "", "exit 1 when a figure differs from the stored one"),
        ("--write", "", "show what changed, then overwrite the stored figures"),
    )


def run_bench(args: argparse.Namespace) -> int:
    """Measure, and compare; store only when told to."""
    from tcuq_device.boards import board

    from ..boards.bench import bench_monitors, goals
    from ..boards.stored import load
    from ..changes import put
    from ..home import folder

    for name in args.board or ():
        board(name)  # refused before anything is built
    path = folder(args.stored, STORED)
    if args.write and args.board:
        raise UsageError("--write stores the figures of all boards; leave --board out")
    if args.write and not path.parent.is_dir():
        raise UsageError(f"{path.parent} is no folder; --write needs one that exists, see --stored")
    if args.check and not path.exists():
        raise UsageError(f"{path} does not exist, so there is nothing to check against: pass --stored FILE")
    stored = load(path) if args.check else None
    with progress(args) as bar:
        found = bench_monitors(args.board, progress=bar)
    found["goals"] = goals(found)
    if args.json:
        print_json(found)
    elif not args.quiet:
        print(render(found))
    said: list[str] = []
    if stored is not None and stored["compiler"] != found["compiler"]:
        note(args, f"not compared: {path} is of {stored['compiler']}, this is {found['compiler']}")
    elif stored is not None:
        said = stale(stored["measured"], found["measured"])
        for line in said:
            tell(f"{args.program}: stale: {line}")
    if args.write or not args.check:
        text = json.dumps(found, indent=1, allow_nan=False) + "\n"
        put(path, text, args.write, lambda line: note(args, line), part=bool(args.board))
    return 1 if said else 0


def stale(stored: Sequence[Mapping[str, Any]], found: Sequence[Mapping[str, Any]]) -> list[str]:
    """Name the monitors whose stored figures are not those just measured."""

    def named(entry: Mapping[str, Any]) -> str:
        return f"{entry['board']}, {entry['name']}, {entry['level']}"

    def figures(entry: Mapping[str, Any]) -> str:
        more, counts = entry["overhead"], entry["step"]["instructions"]
        return f"{more['flash']:,} bytes of flash, {more['ram']:,} of RAM, {counts['mean']:,.1f} instructions"

    known = {named(each): each for each in stored}
    said = []
    for each in found:
        old = known.get(named(each))
        if old is None:
            said.append(f"{named(each)}: not stored")
        elif old != each:
            said.append(f"{named(each)}: {figures(old)} stored, {figures(each)} now")
    return said


def render(found: Mapping[str, Any]) -> str:
    """Return the figures of monitors as a table for people."""
    lines = [
        f"{found['compiler']}; {found['emulator']}",
        "flash and RAM: what a monitor adds to a firmware with a network; instructions: counted; "
        "cycles and energy: estimates without wait states",
        f"{'board':<12} {'monitor':<27} {'level':<5} {'flash':>6} {'RAM':>5} {'instructions per step':>24} "
        f"{'cycles':>15} {'microjoules':>12}",
    ]
    for entry in found["measured"]:
        more, step = entry["overhead"], entry["step"]
        counts = step["instructions"]
        mean = f"{counts['mean']:,.0f} ({counts['least']:,}-{counts['most']:,})"
        cycles = step["cycles"] or {}
        lines.append(
            f"{entry['board']:<12} {entry['name']:<27} {entry['level']:<5} {more['flash']:>6,} "
            f"{more['ram']:>5,} {mean:>24} {span([cycles.get('least'), cycles.get('most')], ',.0f'):>15} "
            f"{span(*energy(cycles.get('microjoules', [None, None]))):>12}"
        )
    for held in found["goals"]:
        words = [
            f"{name} {value:,.0f} of {most:,}{'' if value <= most else ' MISSED'}"
            for name, (value, most) in ((name, held[name]) for name in ("flash", "ram", "instructions"))
        ]
        lines.append(f"goals of {held['name']} on stm32l432kc at {held['level']}: {', '.join(words)}")
    return "\n".join(lines)
