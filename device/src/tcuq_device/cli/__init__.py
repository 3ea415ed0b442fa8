"""`tcuq device`: boards, and what monitors cost on them, counted under emulation."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcuq.cli.common import answer, energy, note, print_json, progress, span
from tcuq.cli.parser import declare, declare_group
from tcuq.cli.process import UsageError, tell
from tcuq.cli.words import expect_graph

from .cost import add as add_cost
from .emit import add as add_emit
from .importing import add as add_import
from .importing import add_outputs

if TYPE_CHECKING:
    from tcuq.cli.parser import Subparsers

STORED = "bench/monitors.json"
"""Figures of stock monitors, in a checkout."""
DEFAULT_BOARD = "stm32l432kc"


def add(subparsers: Subparsers) -> None:
    """Declare the command."""
    actions = declare_group(
        subparsers,
        "device",
        "build firmware for microcontrollers and count its bytes and instructions",
        "tcuq device cost monitor.json",
        "tcuq device import model.tflite -o model.npz",
        about="No board is needed: cost, build and bench run under emulation. They need arm-none-eabi-gcc "
        "and qemu-system-arm.",
    )
    declare(
        actions,
        "boards",
        "list the boards, their memory and clocks",
        "tcuq device boards",
        list_boards,
        "tcuq device cost monitor.json --board stm32l432kc",
    )
    add_cost(actions)
    add_import(actions)
    add_outputs(actions)
    add_build(actions)
    add_emit(actions)
    bench = declare(
        actions,
        "bench",
        "measure stock monitors on boards and compare with stored figures",
        "tcuq device bench --board stm32l432kc --check",
        run_bench,
        "tcuq device cost monitor.json",
        about="For work on tcuq itself, in a checkout.",
    )
    option = bench.add_argument
    option(
        "--board",
        action="append",
        metavar="BOARD",
        help="measure this board; may be repeated (default: one board for each processor core)",
    )
    option("--stored", metavar="FILE", help=f"stored figures (default: {STORED}, in a checkout)")
    option("--check", action="store_true", help="exit 1 when a figure differs from the stored one")
    option("--write", action="store_true", help="show what changed, then overwrite the stored figures")


def add_build(actions: Subparsers) -> None:
    """Declare the action that builds."""
    built = declare(
        actions,
        "build",
        "build network and monitor for a board and print their bytes",
        "tcuq device build model.npz --params monitor.json --board stm32l432kc",
        build,
        "tcuq device emit model.npz monitor.json -o firmware --name door",
    )
    built.add_argument("graph", metavar="GRAPH", help="int8 graph (.npz), from tcuq device import")
    built.add_argument("--params", metavar="PARAMS", help="parameter file of the monitor (default: none)")
    built.add_argument(
        "--board", default=DEFAULT_BOARD, metavar="BOARD", help=f"board (default: {DEFAULT_BOARD})"
    )
    built.add_argument(
        "--out",
        metavar="FILE",
        help="image to write (.elf); it runs in the emulator, tcuq device emit is for the board itself",
    )


def list_boards(args: argparse.Namespace) -> int:
    """List the boards."""
    from ..boards import board, names

    found = [board(name) for name in names()]
    lines = [
        f"{each.name:<13} {each.title:<27} {each.core:<11} {each.flash_bytes // 1024:>5} KB flash "
        f"{each.ram_bytes // 1024:>4} KB RAM {each.clock_mhz:>4} MHz, counted on {each.emulated.machine}"
        + ("; emit" if each.chip else "")
        for each in found
    ]
    shown = [
        {"name": b.name, "title": b.title, "core": b.core, "flash": b.flash_bytes, "ram": b.ram_bytes}
        for b in found
    ]
    answer(args, {"boards": shown}, "\n".join(lines))
    return 0


def build(args: argparse.Namespace) -> int:
    """Build firmware; a model that is too large is refused with the bytes that it lacks."""
    import tempfile

    from tcuq.base.atomic_files import write_whole
    from tcuq.monitor.params import Params

    from ..boards import board
    from ..firmware.build import build as build_image
    from ..firmware.decision import Prediction, Rule, Watch
    from ..firmware.firmware import Firmware
    from ..firmware.stack import bound_of
    from ..graph.storage import load_graph

    expect_graph(args.graph)
    on = board(args.board)
    graph = load_graph(args.graph)
    given = Params.load(args.params) if args.params else None
    rule: Rule = Prediction() if given is None else Watch(given)
    if given is not None and given.features and "features" in graph.outputs:
        made = graph.tensors[graph.outputs["features"]]
        if (given.feature_zero_point, round(given.feature_scale / made.scale, 3)) != (made.zero, 1.0):
            note(
                args,
                f"{args.params} is for features of scale {given.feature_scale:g} and zero "
                f"{given.feature_zero_point}; {args.graph} gives {made.scale:g} and {made.zero}",
            )
    with tempfile.TemporaryDirectory() as folder:
        image = build_image(Firmware(graph.name, [graph], rule=rule), on, Path(folder) / "build")
        most = bound_of(image)
        if args.out:
            write_whole(args.out, image.path.read_bytes())
    sizes = image.sizes
    found = {
        "board": on.name,
        "flash": sizes.flash,
        "flash_limit": on.flash_bytes,
        "ram": sizes.ram,
        "ram_limit": on.ram_bytes,
        "arena": sizes.arena,
        "stack_reserved": on.stack_bytes,
        "stack_bound": most.bytes,
        "stack_path": [list(each) for each in most.path],
    }
    text = (
        f"{on.title}: flash {sizes.flash:,} of {on.flash_bytes:,} bytes, RAM {sizes.ram:,} of "
        f"{on.ram_bytes:,} (arena {sizes.arena:,}), beside {on.stack_bytes:,} for the stack, which takes at "
        f"most {most.bytes:,} (static bound)"
    )
    answer(args, found, text)
    return 0


def run_bench(args: argparse.Namespace) -> int:
    """Measure, and compare; store only when told to."""
    from ..boards import board
    from ..changes import keep
    from ..cost.bench import bench_monitors, goals
    from ..cost.stored import load

    for name in args.board or ():
        board(name)  # refused before anything is built
    path = Path(args.stored or STORED)
    if args.write and args.board:
        raise UsageError("--write stores the figures of all boards; leave --board out")
    if args.write and not path.parent.is_dir():
        raise UsageError(f"{path.parent} is no folder; --write needs one that exists, see --stored")
    if args.check and not path.exists():
        where = (
            "pass --stored FILE" if args.stored else "run this in a checkout of tcuq, or pass --stored FILE"
        )
        raise UsageError(f"{path} does not exist, so there is nothing to check against: {where}")
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
        keep(path, found, args.write, lambda line: note(args, line), part=bool(args.board))
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
        f"{'board':<12} {'monitor':<27} {'level':<5} {'flash':>6} {'RAM':>5} {'instructions a step':>24} "
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
