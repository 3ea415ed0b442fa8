"""`tcuq seal`: a fresh checksum for a parameter file that was edited by hand."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from .common import answer, declare, need_files

if TYPE_CHECKING:
    from .common import Subparsers


def add(subparsers: Subparsers) -> None:
    """Declare the command."""
    parser = declare(
        subparsers,
        "seal",
        "write a fresh checksum into a parameter file that you edited",
        "tcuq seal monitor.json",
        command,
        "tcuq inspect monitor.json",
    )
    parser.add_argument("file", metavar="FILE", help="parameter file; it is checked, then rewritten in place")


def command(args: argparse.Namespace) -> int:
    """Rewrite the file."""
    from ..monitor.params import Params

    need_files(args, "FILE")
    params = Params.load(args.file, sealed=False)
    params.save(Path(args.file))
    found = {"file": args.file, "checksum": params.to_dict()["checksum"], "fingerprint": params.fingerprint}
    answer(args, found, f"sealed {args.file}: parameters {params.fingerprint}")
    return 0
