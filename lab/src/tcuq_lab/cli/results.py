"""`tcuq-lab results`: the pages of results from result files."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from tcuq.cli.common import answer, declare
from tcuq.cli.edge import UsageError

if TYPE_CHECKING:
    from tcuq.cli.common import Subparsers


def add(subparsers: Subparsers) -> None:
    """Declare the command."""
    parser = declare(
        subparsers,
        "results",
        "compare the results pages with the result files, or write them",
        "tcuq-lab results --write",
        results,
    )
    option = parser.add_argument
    option("--results", metavar="DIR", help="folder of result files (default: lab/results of the checkout)")
    option("--out", metavar="DIR", help="folder of the pages (default: docs of the checkout)")
    option("--write", action="store_true", help="write RESULTS.md and results.html, after showing changes")
    option("--check", action="store_true", help="exit with 1 if a page differs from the result files")


def results(args: argparse.Namespace) -> int:
    """Show what would change in the pages; write them if asked to."""
    from ..changes import update
    from ..home import folder
    from ..pages import build_pages
    from ..pages.build import HTML, MARKDOWN

    if args.write and args.check:
        raise UsageError("--write and --check exclude each other: --check writes nothing")
    source, out = folder(args.results, "results"), folder(args.out, "../docs")
    pages = {name: update(out / name, text) for name, text in build_pages(source).items()}
    # One line of the HTML page holds a whole table: its changes are those of the Markdown page.
    lines = [*pages[MARKDOWN].lines(), *pages[HTML].lines(most=0)[:1]]
    # The HTML page is not under version control: where there is none, none is out of date.
    stale = [
        each.path
        for name, each in pages.items()
        if each.state == "changed" or (each.state == "new" and name == MARKDOWN)
    ]
    if args.write:
        for each in pages.values():
            each.write()
        lines += [f"wrote {each.path}" for each in pages.values() if each.state != "same"]
    elif not stale:
        lines.append("the pages match the result files")
    else:
        lines.append("nothing written; run 'tcuq-lab results --write' to write the pages")
    found = {"stale": stale, "written": [each.path for each in pages.values()] if args.write else []}
    answer(args, found, "\n".join(lines))
    return int(bool(stale) and args.check)
