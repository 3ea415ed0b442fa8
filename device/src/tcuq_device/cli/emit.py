"""`tcuq device emit`: a network and its monitor as C files that can be compiled, flashed and fed."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcuq.cli.common import answer, need_files, note
from tcuq.cli.parser import declare
from tcuq.cli.words import spoken

from .shared import expect_graph

if TYPE_CHECKING:
    from tcuq.cli.parser import Subparsers


def add(actions: Subparsers) -> None:
    """Declare the command."""
    parser = declare(
        actions,
        "emit",
        "write network and monitor as one C package for a board",
        "tcuq device emit model.npz monitor.json -o firmware --name door",
        command,
        "cmake -S firmware -B build-board -DCMAKE_TOOLCHAIN_FILE=board/toolchain.cmake\n"
        "cmake --build build-board",
    )
    option = parser.add_argument
    option("graph", metavar="GRAPH", help="int8 graph (.npz), from tcuq device import")
    option("params", metavar="PARAMS", help="parameter file of the monitor, fitted to a log of this network")
    option("-o", "--out", required=True, metavar="FOLDER", help="folder to write; created if needed")
    option(
        "--name", default="app", metavar="NAME", help="first part of all names in the package (default: app)"
    )
    option(
        "--board",
        default="netduinoplus2",
        metavar="BOARD",
        help="board whose start-up code is included, or none (default: netduinoplus2)",
    )
    option("--force", action="store_true", help="replace existing files; your own files stay")


def command(args: argparse.Namespace) -> int:
    """Write the package and say what its image takes."""
    from tcuq.monitor.params import Params

    from ..emit.application import Application
    from ..emit.package import emit, flashed_board
    from ..graph.storage import load_graph

    need_files(args, "GRAPH", "PARAMS", "--out")
    expect_graph(args.graph, " (did you swap GRAPH and PARAMS?)" if args.params.endswith(".npz") else "")
    on = flashed_board(args.board)
    graph = load_graph(args.graph)
    application = Application(graph, Params.load(args.params), args.name)
    with spoken(args, "fit"):
        done = emit(application, args.out, on, args.force)
    found: dict[str, Any] = {"files": [str(file) for file in done.files], "name": args.name}
    found["board"] = None if on is None else on.name
    lines = [f"{len(done.files)} files in {args.out}; read {Path(args.out) / 'README.md'}"]
    if done.missing:
        note(args, f"not built, so sizes are unknown: {done.missing}")
    if done.figures is not None and on is not None:
        sizes, stack = done.figures.sizes, done.figures.stack
        found |= {
            "flash": sizes.flash,
            "flash_limit": on.flash_bytes,
            "ram": sizes.ram + on.stack_bytes,
            "ram_limit": on.ram_bytes,
            "arena": sizes.arena,
            "stack_reserved": on.stack_bytes,
            "stack_bound": stack.bytes,
            "stack_path": [list(each) for each in stack.path],
        }
        lines += [
            f"{on.title}: flash {sizes.flash:,} of {on.flash_bytes:,} bytes, RAM {found['ram']:,} of "
            f"{on.ram_bytes:,} (arena {sizes.arena:,}, stack {on.stack_bytes:,})",
            f"stack at most {stack.bytes:,} bytes (static bound)",
        ]
    folder = shlex.quote(args.out)
    lines.append(
        f"on a computer: cmake -S {folder} -B build && cmake --build build && ctest --test-dir build"
    )
    if on is not None:
        chain = "-DCMAKE_TOOLCHAIN_FILE=board/toolchain.cmake"
        lines.append(f"for the board: cmake -S {folder} -B build-board {chain} && cmake --build build-board")
    answer(args, found, "\n".join(lines))
    return 0
