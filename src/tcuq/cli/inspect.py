"""`tcuq inspect`: what a parameter file or a saved state holds."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from ..base.errors import InputError
from .common import about, need_files, print_json
from .parser import declare
from .process import UsageError

if TYPE_CHECKING:
    from .parser import Subparsers


def add(subparsers: Subparsers) -> None:
    """Declare the command."""
    parser = declare(
        subparsers,
        "inspect",
        "show what a parameter file or a saved state holds, costs and guarantees",
        "tcuq inspect monitor.json",
        command,
        "tcuq export monitor.json firmware/ --name door",
        about="Prints signals, rates, bounds, and the bytes and instructions that the monitor takes on a "
        "device.",
    )
    parser.add_argument("file", metavar="FILE", help="parameter file (JSON) or saved state")
    edited = "FILE is a parameter file that you edited: check it and write it back with a fresh checksum"
    parser.add_argument("--seal", action="store_true", help=edited)


def command(args: argparse.Namespace) -> int:
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
        with about(args.file):
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
