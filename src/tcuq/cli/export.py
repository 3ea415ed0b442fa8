"""`tcuq export`: a monitor as C source."""

from __future__ import annotations

import argparse
import shlex
from typing import TYPE_CHECKING

from .common import answer, declare, need_files

if TYPE_CHECKING:
    from .common import Subparsers


def add(subparsers: Subparsers) -> None:
    """Declare the command."""
    example = "tcuq export monitor.json firmware/ --name camera_monitor"
    parser = declare(subparsers, "export", "write a monitor as C source for a device", example, command)
    parser.add_argument("params", metavar="PARAMS", help="parameter file")
    parser.add_argument("folder", metavar="FOLDER", help="where to write; made when it does not exist")
    parser.add_argument(
        "--name", default="monitor", metavar="N", help="name of the C constant (default: monitor)"
    )
    parser.add_argument("--force", action="store_true", help="replace files that are there already")


def command(args: argparse.Namespace) -> int:
    """Write the C source."""
    from ..export import export
    from ..params import Params

    need_files(args, "PARAMS", "FOLDER")
    params = Params.load(args.params)
    files = export(params, args.folder, args.name, args.force)
    mask = f"0x{params.integers()['signals']:03X}u"
    text = "\n".join(
        [
            *map(str, files),
            f"try it: cd {shlex.quote(args.folder)} && cc -std=c99 main.c {args.name}.c tcuq.c",
            f"smaller: compile tcuq.c with -DTCUQ_SIGNALS={mask}",
        ]
    )
    answer(args, {"files": [str(file) for file in files], "name": args.name, "signals_mask": mask}, text)
    return 0
