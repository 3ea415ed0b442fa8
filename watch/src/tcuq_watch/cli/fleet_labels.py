"""`tcuq fleet labels`: which steps to have labeled, and what the labels say."""

from __future__ import annotations

import argparse
import csv
import io
from collections.abc import Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcuq.base.errors import InputError
from tcuq.cli.common import answer, note
from tcuq.cli.parser import declare
from tcuq.cli.process import UsageError
from tcuq.io.rows import csv_name, name_in_csv

if TYPE_CHECKING:
    from tcuq.cli.parser import Subparsers

COLUMNS = ("device", "version", "boot", "seq", "time", "risk", "answer", "answer_name", "chance", "label")
"""Of the file of steps to label; `label` is empty, to be filled in."""

EPOCH = date(1970, 1, 1)


def add(actions: Subparsers) -> None:
    """Declare the command."""
    parser = declare(
        actions,
        "labels",
        "pick steps to have labeled, and take in the labels",
        "tcuq fleet labels fleet -o ask.csv",
        command,
        then="tcuq fleet labels fleet --tell ask.csv",
        about="Writes a table of steps for people to label. Fill in its column `label`, then hand the file "
        "back with --tell: tcuq fleet status then shows the true accuracy, with an interval.",
    )
    option = parser.add_argument
    option("folder", metavar="DIR", help="folder of the fleet, from tcuq fleet run")
    option("--day", metavar="DATE", help="steps of a day such as 2026-11-30 (default: the last that is over)")
    option("-o", "--output", metavar="ASK.csv", help="table to write (default: standard output)")
    option("--tell", metavar="LABELS.csv", help="take in this table, its column `label` filled in")


def command(args: argparse.Namespace) -> int:
    """Pick steps, or take in labels."""
    from tcuq.base.atomic_files import write_whole
    from tcuq.io.sources import check_target

    from ..fleet.requests import ask

    if args.tell is not None:
        if args.day is not None or args.output is not None:
            raise UsageError("--tell takes in labels; --day and -o belong to picking: leave them out")
        counts = ask(args.folder, {"tell": read_labels(Path(args.tell))})
        answer(args, counts, told_text(counts))
        return 0
    if args.output is not None:
        check_target(args.output)
    try:
        wanted = None if args.day is None else (date.fromisoformat(args.day) - EPOCH).days
    except ValueError:
        raise UsageError(f"--day is {args.day!r}, expected a date such as 2026-11-30") from None
    picked = ask(args.folder, {"pick": wanted})
    rows, day = picked["rows"], str(EPOCH + timedelta(days=picked["day"]))
    if not rows:
        note(args, f"{args.folder}: there is nothing to label of {day}; --day has the steps of another day")
    if args.json:
        answer(args, {"day": day, "rows": rows}, "")
    elif args.output is None:
        print(asked_text(rows), end="")
    else:
        write_whole(args.output, asked_text(rows))
        answer(args, {}, f"wrote {args.output}: {len(rows):,} steps of {day}; fill in its column `label`")
    return 0


def asked_text(rows: list[Mapping[str, Any]]) -> str:
    """Return steps to label as CSV."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        names = {key: csv_name(row[key]) for key in ("device", "version", "answer_name")}
        writer.writerow({**row, **names, "risk": f"{row['risk']:.6f}", "label": ""})
    return text.getvalue()


def read_labels(path: Path) -> list[dict[str, Any]]:
    """Read the file with its labels filled in; a label may be a number or a name, empty for unknown."""
    from tcuq.base.limits import read_limited

    try:
        text = read_limited(path, "file").decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("damaged", f"{path}: is not text, expected the file that was asked for") from None
    reader = csv.DictReader(io.StringIO(text, newline=""))
    try:
        missing = {"device", "version", "boot", "seq", "label"}.difference(reader.fieldnames or ())
        rows = [] if missing else list(map(_label, reader))
    except csv.Error as error:
        raise InputError("damaged", f"{path}, line {reader.line_num + 1}: {error}") from None
    except ValueError:
        raise InputError("value", f"{path}, line {reader.line_num}: boot or seq is not an integer") from None
    if missing:
        expected = "expected those of the file that was asked for"
        raise InputError("missing", f"{path}: column {min(missing)!r} is missing, {expected}")
    return rows


def _label(row: Mapping[str, str | None]) -> dict[str, Any]:
    names = {key: name_in_csv(row[key] or "") for key in ("device", "version")}
    label = name_in_csv((row["label"] or "").strip())
    return {**names, "boot": int(row["boot"] or ""), "seq": int(row["seq"] or ""), "label": label or None}


def told_text(counts: Mapping[str, Any]) -> str:
    """Return what came of labels, in words."""
    from tcuq.report.text import NBSP, plural

    from ..verdicts.words import accuracy, promised

    text = f"took {plural(max(counts.get(kind, 0) for kind in ('told', 'used', 'kept')), 'label')}"
    words = {
        "used": "reached monitors",
        "unlabeled": "rows had none",
        "unknown": "were not asked for",
        "bad": "are not a class",
    }
    text += "".join(f", {counts[name]:,} {word}" for name, word in words.items() if counts.get(name))
    if "accuracy" in counts:
        text += f"; {accuracy(counts['accuracy'])}"
    text += "".join(f"; {promised(row)}" for row in counts.get("promises", ()))
    return text.replace(NBSP, " ")
