"""`tcuq-lab results`: the pages of results from result files."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from tcuq.cli.common import answer, declare

if TYPE_CHECKING:
    from tcuq.cli.common import Subparsers


def add(subparsers: Subparsers) -> None:
    """Declare the command."""
    parser = declare(
        subparsers,
        "results",
        "write the pages of results from what 'tcuq-lab reproduce --write' left",
        "tcuq-lab results",
        results,
    )
    option = parser.add_argument
    option("--results", metavar="DIR", help="folder of result files (default: lab/results of the checkout)")
    option("--out", metavar="DIR", help="folder of the pages (default: docs of the checkout)")
    option("--check", action="store_true", help="write nothing; exit 1 when the pages there are other ones")


def results(args: argparse.Namespace) -> int:
    """Write the pages, or compare them with those that are there."""
    from ..home import folder
    from ..pages import build_pages, write_pages

    source, out = folder(args.results, "results"), folder(args.out, "../docs").resolve()

    if not args.check:
        paths = write_pages(source, out)
        answer(args, {"written": paths}, "\n".join(f"wrote {path}" for path in paths))
        return 0
    stale = []
    for name, text in build_pages(source).items():
        path = out / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(path)
    shown = "\n".join(f"{path} is not what the results give; run tcuq-lab results" for path in stale)
    answer(args, {"stale": stale}, shown or "the pages are what the results give")
    return int(bool(stale))
