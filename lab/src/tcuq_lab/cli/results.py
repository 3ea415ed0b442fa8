"""`tcuq-lab results`: the pages of results from result files."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from tcuq.cli.common import answer
from tcuq.cli.parser import declare
from tcuq.cli.process import UsageError

if TYPE_CHECKING:
    from tcuq.cli.parser import Subparsers

WIDEST = 160
"""Characters that are shown of a changed line: a row of a table may have a thousand."""


def add(subparsers: Subparsers) -> None:
    """Declare the command."""
    parser = declare(
        subparsers,
        "results",
        "compare the results pages with the result files, or write them",
        "tcuq-lab results --check",
        results,
        "tcuq-lab results --write",
    )
    option = parser.add_argument
    option("--results", metavar="DIR", help="folder of result files (default: lab/results of the checkout)")
    option("--out", metavar="DIR", help="folder of the pages (default: docs of the checkout)")
    option("--write", action="store_true", help="write RESULTS.md, results/ and results.html")
    option("--check", action="store_true", help="exit 1 when a page differs from the result files")


def results(args: argparse.Namespace) -> int:
    """Show what would change in the pages; write them if asked to."""
    from ..changes import update
    from ..home import folder
    from ..pages import build_pages
    from ..pages.build import FOLDER, HTML

    if args.write and args.check:
        raise UsageError("--write and --check exclude each other: --check writes nothing")
    source, out = folder(args.results, "results"), folder(args.out, "../docs")
    if not source.is_dir():
        raise UsageError(f"{source}: no such folder")
    pages = {name: update(out / name, text) for name, text in build_pages(source).items()}
    # A page of an experiment that is gone, or of a part that is no longer needed.
    left = [path for path in _pages(out / FOLDER) if f"{FOLDER}/{path.name}" not in pages]
    # All figures of the HTML page are in one line: its changes are those of the others.
    lines = [
        line
        for name, each in pages.items()
        if each.state != "same"
        for line in (each.lines(most=0)[:1] if name == HTML else each.lines())
    ]
    lines = [_short(line) for line in lines]
    lines += [f"{path}: no result file" for path in left]
    # The HTML page is not under version control: where there is none, none is out of date.
    stale = [
        each.path
        for name, each in pages.items()
        if each.state == "changed" or (each.state == "new" and name != HTML)
    ] + left
    if args.write:
        for each in pages.values():
            each.path.parent.mkdir(exist_ok=True)
            each.write()
        for path in left:
            path.unlink()
        lines += [f"wrote {each.path}" for each in pages.values() if each.state != "same"]
        lines += [f"removed {path}" for path in left]
    elif stale:
        lines.append("nothing written; run 'tcuq-lab results --write' to write the pages")
    if not stale:
        lines.append("the pages match the result files")
    found = {"stale": stale, "written": [each.path for each in pages.values()] if args.write else []}
    answer(args, found, "\n".join(lines))
    return int(bool(stale) and args.check)


def _short(line: str) -> str:
    """Return a changed line with what differs in it, where all of it is too long to show."""
    if len(line) <= WIDEST:
        return line
    old, arrow, new = line.partition(" -> ")
    place, colon, old = old.partition(": ")
    if not arrow or not colon:
        return f"{line[: WIDEST - 3]}..."
    room = (WIDEST - len(place) - len(": ... -> ......")) // 2
    same = next((at for at, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), 0)
    begin = max(0, same - room // 3)
    return f"{place}: ...{old[begin : begin + room]} -> ...{new[begin : begin + room]}..."


def _pages(folder: Path) -> list[Path]:
    """Return the pages and plots that lie in a folder."""
    return sorted(path for path in folder.glob("*") if path.suffix in (".md", ".svg"))
