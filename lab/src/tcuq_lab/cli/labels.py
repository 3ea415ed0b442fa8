"""`tcuq-lab labels`: error control by labels that come late, and rivals, on the benchmark's streams."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from tcuq.cli.common import answer, note, progress
from tcuq.cli.parser import declare

if TYPE_CHECKING:
    from tcuq.cli.parser import Subparsers


def add(subparsers: Subparsers) -> None:
    """Declare the command."""
    parser = declare(
        subparsers,
        "labels",
        "measure error control by late labels on the streams of the benchmark",
        "tcuq-lab labels",
        labels,
        "tcuq-lab labels --write",
        about="Fits a monitor with max_error to each task of the benchmark, tells it labels of some steps "
        "late, and compares what it accepts with rivals, in about a minute, without a dataset. Exits with 1 "
        "where the figures differ from those stored.",
    )
    parser.add_argument(
        "--write", action="store_true", help="replace the stored figures and the table in docs"
    )


def labels(args: argparse.Namespace) -> int:
    """Measure, compare and, if asked to, store."""
    import json

    from tcuq.base.atomic_files import write_whole

    from ..benchmark.files import load
    from ..experiments.labels import on_page, run, table
    from ..home import home

    stored, page = home() / "results" / "late" / "labels.json", home().parent / "docs" / "LABELS.md"
    with progress(args) as bar:
        rows = run(load(home() / "benchmark"), bar)
    text = json.dumps({"command": "tcuq-lab labels --write", "rows": rows}, indent=0) + "\n"
    same = stored.exists() and stored.read_text(encoding="utf-8") == text
    if args.write:
        write_whole(stored, text)
        write_whole(page, on_page(page.read_text(encoding="utf-8"), table(rows)))
        note(args, f"wrote {stored} and {page}")
    answer(args, {"same": same, "rows": rows}, table(rows))
    return 0 if same or args.write else 1
