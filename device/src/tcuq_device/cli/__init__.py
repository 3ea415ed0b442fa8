"""`tcuq device`: boards, and what monitors cost on them, counted under emulation."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from tcuq.cli.common import answer, note
from tcuq.cli.parser import declare, declare_group

from .cost import add as add_cost
from .emit import add as add_emit
from .importing import add as add_import
from .importing import add_outputs
from .shared import expect_graph

if TYPE_CHECKING:
    from tcuq.cli.parser import Subparsers

DEFAULT_BOARD = "stm32l432kc"


def add(subparsers: Subparsers) -> None:
    """Declare the command."""
    actions = declare_group(
        subparsers,
        "device",
        None,
        "tcuq device cost monitor.json",
        "tcuq device import model.tflite -o model.npz",
        about="No board is needed: cost and build run under emulation. They need arm-none-eabi-gcc "
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
        f"{each.name:<13} {each.title:<28} {each.core:<11} {each.flash_bytes // 1024:>5} KB flash "
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
