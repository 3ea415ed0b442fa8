"""`tcuq export`: a monitor as a package for firmware."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..base.platforms import PLATFORMS
from .common import answer, need_files
from .parser import declare
from .words import expect_params, spoken

if TYPE_CHECKING:
    from .parser import Subparsers


def add(subparsers: Subparsers) -> None:
    """Declare the command."""
    parser = declare(
        subparsers,
        "export",
        "write a monitor as a package for firmware",
        "tcuq export monitor.json firmware/ --name door\n"
        "tcuq export monitor.json Door/ --name door --form arduino",
        command,
        "cc -std=c99 firmware/*.c -o try_door",
        about="Reads the parameter file of tcuq fit. Writes the integer core in C99, the parameters as a "
        "constant, an example and a self-check. README.md in FOLDER says how to build them.",
    )
    parser.add_argument("params", metavar="PARAMS", help="parameter file, from tcuq fit")
    parser.add_argument("folder", metavar="FOLDER", help="folder to write; made if it does not exist")
    parser.add_argument("--name", default="monitor", help="name of the C constant (default: monitor)")
    parser.add_argument(
        "--form",
        choices=PLATFORMS,
        default="c",
        metavar="FORM",
        help="; ".join(f"{name}: {about}" for name, about in PLATFORMS.items()) + " (default: c)",
    )
    parser.add_argument(
        "--logits-scale", type=float, metavar="X", help="add a softmax for int8 logits of this scale"
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
    expect_params(args.params)
    params = Params.load(args.params)
    projection = None if args.projection is None else load_projection(args.projection, params)
    with spoken():
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
