"""`tcuq fleet labels`: which steps to have labeled, and what the labels say."""

from __future__ import annotations

import argparse
import csv
import io
from collections.abc import Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcuq.base.errors import InputError, placed
from tcuq.base.generated import csv_name, name_in_csv
from tcuq.cli.common import answer, note
from tcuq.cli.parser import declare
from tcuq.cli.process import UsageError

if TYPE_CHECKING:
    from tcuq.cli.parser import Subparsers

COLUMNS = ("device", "version", "boot", "seq", "time", "risk", "answer", "answer_name", "chance", "label")
"""Of the file of steps to label; `label` is empty, to be filled in."""

NAMES = ("device", "version", "answer_name")
"""Columns of text that others chose."""

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
    parser.add_argument("folder", metavar="DIR", help="folder of the fleet, from tcuq fleet run")
    parser.add_argument(
        "--day",
        metavar="DATE",
        help="steps of this day, such as 2026-11-30 (default: the last that is over)",
    )
    parser.add_argument("-o", "--output", metavar="ASK.csv", help="table to write (default: standard output)")
    parser.add_argument(
        "--tell", metavar="LABELS.csv", help="take in this table, its column `label` filled in"
    )


def command(args: argparse.Namespace) -> int:
    """Pick steps, or take in labels."""
    from tcuq.io.sources import check_target

    from ..fleet.requests import ask

    if args.tell is not None:
        if args.day is not None or args.output is not None:
            raise UsageError("--tell takes in labels; --day and -o belong to picking: leave them out")
        found = ask(args.folder, {"tell": read_labels(Path(args.tell))})
        answer(args, found, told_text(found))
        return 0
    if args.output is not None:
        check_target(args.output)
    day = None if args.day is None else _day(args.day)
    found = ask(args.folder, {"pick": day})
    rows = found["rows"]
    shown = str(EPOCH + timedelta(days=found["day"]))
    if not rows and not args.json:
        note(args, f"{args.folder}: there is nothing to label of {shown}; --day has the steps of another day")
    if args.json:
        answer(args, {**found, "day": shown}, "")
    elif args.output is None:
        print(asked_text(rows), end="")
    else:
        from tcuq.base.atomic_files import write_whole

        write_whole(args.output, asked_text(rows))
        answer(args, {}, f"wrote {args.output}: {len(rows):,} steps of {shown}; fill in its column `label`")
    return 0


def _day(text: str) -> int:
    try:
        return (date.fromisoformat(text) - EPOCH).days
    except ValueError:
        raise UsageError(f"--day is {text!r}, expected a date such as 2026-11-30") from None


def asked_text(rows: list[Mapping[str, Any]]) -> str:
    """Return steps to label as CSV."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for row in rows:
        risk = row.get("risk")
        names = {key: csv_name(str(row[key])) for key in NAMES if key in row}
        shown = f"{risk:.6f}" if isinstance(risk, float) else risk
        writer.writerow({**row, **names, "risk": shown, "label": ""})
    return text.getvalue()


def read_labels(path: Path) -> list[dict[str, Any]]:
    """Read the file with its labels filled in; a label may be a number or a name, empty for unknown."""
    from tcuq.base.limits import read_limited

    content = read_limited(path, "file")
    try:
        return _rows(path, content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise InputError("damaged", f"{path}: is no text, expected the file that was asked for") from None
    except csv.Error as error:
        raise placed(error, str(path)) from None


def _rows(path: Path, text: str) -> list[dict[str, Any]]:
    with io.StringIO(text, newline="") as file:
        reader = csv.DictReader(file)
        try:
            return _labels(reader, path)
        except csv.Error as error:
            raise InputError("damaged", f"{path}, line {reader.line_num + 1}: {error}") from None


def _labels(reader: csv.DictReader[str], path: Path) -> list[dict[str, Any]]:
    for name in ("device", "version", "boot", "seq", "label"):
        if name not in (reader.fieldnames or ()):
            raise InputError(
                "missing",
                f"{path}: column {name!r} is missing, expected those of the file that was asked for",
            )
    rows = []
    for row in reader:
        try:
            place = {key: int(row[key]) for key in ("boot", "seq")}
        except (TypeError, ValueError):
            raise InputError("value", f"{path}, line {reader.line_num}: boot or seq is no integer") from None
        names = {key: name_in_csv(row[key] or "") for key in ("device", "version")}
        label = name_in_csv((row["label"] or "").strip())
        rows.append({**names, **place, "label": label or None})
    return rows


def told_text(found: Mapping[str, Any]) -> str:
    """Return what came of labels, in words."""
    from tcuq.report.text import NBSP

    from ..verdicts.words import share

    said = f"took {found['told' if 'told' in found else 'used']:,} labels"
    for name, words in (
        ("used", "reached monitors"),
        ("unlabeled", "rows had none"),
        ("unknown", "were not asked for"),
        ("bad", "are no class"),
    ):
        if found.get(name):
            said += f", {found[name]:,} {words}"
    accuracy = found.get("accuracy") or {}
    if accuracy.get("estimate") is not None:
        low, high = accuracy["interval"]
        said += (
            f"; accuracy of accepted answers {share(accuracy['estimate'])}, {share(low)} to {share(high)} "
            f"with {share(accuracy['level'], 0)} confidence"
        )
    return said.replace(NBSP, " ")
