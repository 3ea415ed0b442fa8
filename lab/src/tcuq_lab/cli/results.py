"""`tcuq-lab results`: the pages of results from result files."""

from __future__ import annotations

import argparse

from tcuq.base.atomic_files import write_whole
from tcuq.cli.common import answer
from tcuq.cli.process import UsageError

from ..changes import update
from ..experiments.result_files import pack
from ..home import folder
from ..pages import FOLDER, README, build_pages, build_readme

WIDEST = 160
"""Characters that are shown of a changed line: a row of a table may have a thousand."""


def results(args: argparse.Namespace) -> int:
    """Show what would change in the pages; write them if asked to."""
    if args.check and (args.write or args.pack):
        raise UsageError("--check excludes --write and --pack: it writes nothing")
    source, out = folder(args.results, "results"), folder(args.out, "../docs")
    if not source.is_dir():
        raise UsageError(f"{source}: no such folder")
    lines = []
    for path in sorted(source.glob("*.json")) if args.pack else ():
        packed = pack(path)
        for place, text in packed.items():
            place.parent.mkdir(exist_ok=True)
            write_whole(place, text)
            lines.append(f"packed {place}")
        for old in path.with_suffix("").glob("*.csv") if packed else ():
            if old not in packed:  # of a task that is gone
                old.unlink()
    texts = {
        name: made if isinstance(made, str) else made.text(out / name)
        for name, made in build_pages(source).items()
    }
    if (out / README).exists():
        texts[README] = build_readme(source, (out / README).read_text(encoding="utf-8"))
    pages = {name: update((out / name).resolve(), text) for name, text in texts.items()}
    # A page of an earlier version.
    there = sorted(path for path in (out / FOLDER).glob("*") if path.suffix in (".md", ".svg", ".csv"))
    left = [path for path in there if f"{FOLDER}/{path.name}" not in pages]
    changed = [each for each in pages.values() if each.state != "same"]
    lines += [_short(line) for each in changed for line in each.lines()]
    lines += [f"{path}: no longer made" for path in left]
    stale = [each.path for each in changed] + left
    if args.write:
        for each in changed:
            each.path.parent.mkdir(exist_ok=True)
            each.write()
        for path in left:
            path.unlink()
        lines += [f"wrote {each.path}" for each in changed]
        lines += [f"removed {path}" for path in left]
    elif stale:
        lines.append("nothing written; run 'tcuq-lab results --write' to write the pages")
    if not stale:
        lines.append("the pages match the result files")
    found = {"stale": stale, "written": [each.path for each in pages.values()] if args.write else []}
    answer(args, found, "\n".join(lines))
    return int(bool(stale and args.check))


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
