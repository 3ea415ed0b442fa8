"""`tcuq export`: a monitor as a package for firmware."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..base.platforms import PLATFORMS
from .common import answer, declare, need_files

if TYPE_CHECKING:
    from .common import Subparsers


def add(subparsers: Subparsers) -> None:
    """Declare the command."""
    example = "tcuq export monitor.json firmware/ --name camera_monitor"
    parser = declare(subparsers, "export", "write a monitor as a package for firmware", example, command)
    parser.add_argument("params", metavar="PARAMS", help="parameter file")
    parser.add_argument("folder", metavar="FOLDER", help="where to write; made when it does not exist")
    parser.add_argument(
        "--name", default="monitor", metavar="N", help="name of the C constant (default: monitor)"
    )
    parser.add_argument(
        "--form",
        choices=PLATFORMS,
        default="c",
        metavar="F",
        help="; ".join(f"{name}: {about}" for name, about in PLATFORMS.items()) + " (default: c)",
    )
    parser.add_argument(
        "--logits-scale", type=float, metavar="S", help="add a softmax for int8 logits of this scale"
    )
    parser.add_argument(
        "--projection",
        metavar="FILE",
        help="add a projection of wide features: NPZ with matrix, scale, zero_point and perhaps offset",
    )
    parser.add_argument(
        "--force",
        action="store_true",
        help="replace files that are there already, all at once; your own files stay",
    )


def command(args: argparse.Namespace) -> int:
    """Write the package."""
    from ..export import FORMS, export, load_projection
    from ..export.contents import Contents
    from ..monitor.params import Params

    need_files(args, "PARAMS", "FOLDER", "--projection")
    params = Params.load(args.params)
    projection = None if args.projection is None else load_projection(args.projection, params)
    files = export(params, args.folder, args.name, args.force, args.form, args.logits_scale, projection)
    contents = Contents(params, args.name, args.logits_scale, projection)
    hints = FORMS[args.form].hints(contents, args.folder)
    found = {
        "files": [str(file) for file in files],
        "name": args.name,
        "form": args.form,
        "signals_mask": f"0x{params.integers()['signals']:03X}u",
    }
    answer(args, found, "\n".join([*map(str, files), *hints]))
    return 0
