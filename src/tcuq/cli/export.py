"""`tcuq export` and `tcuq inspect`: a monitor as a package for firmware, and what its files hold."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from ..base.errors import InputError, located
from ..export.generated import PLATFORMS, RUNTIMES
from .common import answer, need_files, print_json
from .parser import declare
from .process import UsageError
from .words import expect_params, spoken

if TYPE_CHECKING:
    from .parser import Subparsers


def add(subparsers: Subparsers) -> None:
    """Declare the command."""
    parser = declare(
        subparsers,
        "export",
        None,
        "tcuq export monitor.json firmware/ --name door\n"
        "tcuq export monitor.json Door/ --name door --form arduino",
        command,
        "cc -std=c99 firmware/*.c -o try_door",
        about="Reads the parameter file of tcuq fit. Writes the integer core in C99, the parameters as a "
        "constant, an example and a self-check. README.md in FOLDER says how to build them.",
    )
    add = parser.add_argument
    add("params", metavar="PARAMS", help="parameter file, from tcuq fit")
    add("folder", metavar="FOLDER", help="folder to write; created if it does not exist")
    add("--name", default="monitor", metavar="NAME", help="name of the C constant (default: monitor)")
    forms = "; ".join(f"{name}: {about}" for name, about in PLATFORMS.items())
    add("--form", choices=PLATFORMS, default="c", metavar="FORM", help=f"{forms} (default: c)")
    add("--logits-scale", type=float, metavar="X", help="add a softmax for int8 logits of this scale")
    wide = "add a projection of wide features: NPZ with matrix, scale, zero_point and perhaps offset"
    add("--projection", metavar="FILE", help=wide)
    glue = f"add a header that runs the network and the monitor: {', '.join(RUNTIMES)}"
    add("--glue", choices=RUNTIMES, metavar="RUNTIME", help=glue)
    forced = "replace existing files, all at once; your own files stay"
    add("--force", action="store_true", help=forced)


def command(args: argparse.Namespace) -> int:
    """Write the package."""
    from ..export import FORMS, export, load_projection
    from ..export.contents import Contents
    from ..monitor.params import Params

    need_files(args, "PARAMS", "FOLDER", "--projection")
    expect_params(args.params)
    params = Params.load(args.params)
    projection = None if args.projection is None else load_projection(args.projection, params)
    with spoken(args, "fit"):
        more = (args.logits_scale, projection, args.glue)
        files = export(params, args.folder, args.name, args.force, args.form, *more)
    contents = Contents(params, args.name, *more)
    hints = FORMS[args.form].hints(contents, args.folder)
    mask = f"0x{params.integers()['signals']:03X}u"
    facts = {"files": list(map(str, files)), "name": args.name, "form": args.form, "signals_mask": mask}
    answer(args, facts, "\n".join([*map(str, files), *hints]))
    return 0


def add_inspect(subparsers: Subparsers) -> None:
    """Declare the command."""
    parser = declare(
        subparsers,
        "inspect",
        None,
        "tcuq inspect monitor.json",
        run_inspect,
        "tcuq export monitor.json firmware/ --name door",
        about="Prints signals, rates, bounds, and the bytes and instructions that the monitor takes on a "
        "device.",
    )
    parser.add_argument("file", metavar="FILE", help="parameter file (JSON) or saved state")
    edited = "FILE is a parameter file that you edited: check it and write it back with a fresh checksum"
    parser.add_argument("--seal", action="store_true", help=edited)


def run_inspect(args: argparse.Namespace) -> int:
    """Describe the file."""
    from ..base.limits import read_limited
    from ..monitor.params import Params
    from ..report.describe import describe_params, describe_state, render

    need_files(args, "FILE")
    if os.path.isdir(args.file):
        raise UsageError(f"{args.file}: is a folder, expected a parameter file or a saved state")
    content = read_limited(args.file)
    if content[:4] == b"TCUQ":
        if args.seal:
            raise UsageError(f"--seal is for a parameter file; {args.file} is a saved state")
        with located(args.file):
            facts = describe_state(content)
    elif content.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{":
        params = Params.load(args.file, sealed=not args.seal)
        if args.seal:
            params.save(args.file)
        facts = describe_params(params)
    else:
        kinds = "a parameter file (JSON, from tcuq fit) nor a saved state (from tcuq run --state-out)"
        raise InputError("value", f"{args.file}: is neither {kinds}")
    if args.json:
        print_json({"file": args.file, **facts})
    else:
        print(render(facts))
    return 0
