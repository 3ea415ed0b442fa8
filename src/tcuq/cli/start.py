"""`tcuq start` and `tcuq demo`: from a model and data to a judged monitor, a report and a package."""

from __future__ import annotations

import argparse
import os
import time
from typing import TYPE_CHECKING

from ..base.errors import InputError
from .common import add_run_length, answer, given, need_files, note, progress
from .parser import declare
from .record import add_recording_options, find_own_modules, recording_given
from .words import expect_model, spoken

if TYPE_CHECKING:
    from .parser import Subparsers


def add(subparsers: Subparsers) -> None:
    """Declare the command."""
    parser = declare(
        subparsers,
        "start",
        None,
        "tcuq start model.tflite data.npz -o monitor/\ntcuq start model.onnx pictures/ -o monitor/",
        command,
        "tcuq live monitor/monitor.json /dev/ttyUSB0@115200",
        about="Reads your model and examples, best with labels. Writes into FOLDER: report.html, which "
        "shows how the monitor does on examples that it was not fitted to; monitor.json, its parameters; "
        "firmware/, a package for your device; and README.md with the next steps.",
    )
    add_recording_options(parser, "--out", "FOLDER", "folder to write; created if it does not exist")
    option = parser.add_argument_group("monitor").add_argument
    option("--budget", type=float, metavar="X", help="largest share of abstentions, 0 to 1 (default: 0.15)")
    add_run_length(option)
    forced = "replace existing files, all at once, and continue even if the model is at chance"
    option("--force", action="store_true", help=forced)


def command(args: argparse.Namespace) -> int:
    """Do all of it."""
    from ..start import start

    need_files(args, "MODEL", "DATA", "--out")
    expect_model(args.model, args.data)
    options = recording_given(args) | given(args, "budget", "run_length")
    find_own_modules()
    begin = time.monotonic()
    with progress(args) as bar, spoken(args, "record", "fit"):
        figures = start(args.model, args.data, args.out, force=args.force, progress=bar, **options)
    figures["seconds"] = round(time.monotonic() - begin, 1)
    where = str(args.out).rstrip("/")
    files = f"{where}/: report.html, README.md, monitor.json, firmware/"
    done = f"Written to {files} ({figures['seconds']:.0f} s)"
    if args.quiet and not args.json:
        verdict = figures["verdict"]  # it is what the command is for
        print(f"{verdict['state']:<6}{verdict['why']}")
    answer(args, figures, "\n".join([*figures["lines"], done]))
    for each in figures["notes"]:
        note(args, each)
    return 0


def add_demo(subparsers: Subparsers) -> None:
    """Declare the command."""
    parser = declare(
        subparsers,
        "demo",
        None,
        "tcuq demo --out demo",
        run_demo,
        "tcuq fit demo/dev.npz -o monitor.json",
        about="Trains a small classifier of clothes, fits a monitor, shows both a day with five faults "
        "and writes logs, parameters, decisions and a report into one folder. Needs no data and no network.",
    )
    folder = "folder to write; created if it does not exist (default: tcuq-demo)"
    parser.add_argument("--out", metavar="FOLDER", default="tcuq-demo", help=folder)
    seed = "seed of the random numbers (default: the middle one of eight trainings)"
    parser.add_argument("--seed", type=int, default=None, metavar="N", help=seed)


def run_demo(args: argparse.Namespace) -> int:
    """Run the demonstration."""
    from importlib import import_module

    need_files(args, "--out")
    if os.path.exists(args.out) and not os.path.isdir(args.out):
        raise InputError("exists", f"{args.out}: is a file, expected a folder; name another one with --out")
    with progress(args) as bar:
        figures = dict(import_module("tcuq.demo").main(args.out, args.seed, bar))
    answer(args, figures, str(figures["text"]))
    return 0
