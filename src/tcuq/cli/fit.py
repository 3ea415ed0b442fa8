"""`tcuq fit`: parameters from a development log."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..base.errors import located
from . import common
from .common import answer, given, logits_given, note, progress
from .parser import declare
from .process import UsageError
from .words import expect_log, spoken

if TYPE_CHECKING:
    from ..log.log import Log
    from ..monitor.params import Params
    from .parser import Subparsers

PATIENCE = 2.0  # seconds after which a fit shows how far it is


def level(text: str) -> float | str:
    """Read a level: a number, or the word "budget"."""
    if text == "budget":
        return text
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}, expected a number or the word budget") from None


def max_error(text: str) -> tuple[float, int]:
    """Read a share of errors and, if it is there, how many steps late labels may come."""
    share, _, memory = text.partition(",")
    try:
        return float(share), int(memory or 0)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}, expected a share, or a share,steps") from None


def _keep_others(path: str) -> None:
    """Refuse to replace a file that neither is nor is called a parameter file: a model, a log, a picture."""
    if path == "-" or path.lower().endswith(".json") or not os.path.isfile(path):
        return
    with open(path, "rb") as file:
        start = file.read(64).lstrip()
    if start and not start.startswith(b"{"):
        raise UsageError(f"{path}: exists and is not a parameter file; remove it, or name another with -o")


def _read(args: argparse.Namespace) -> tuple[Log, Log | None]:
    """Return the log, and the clean log if there is one."""
    from ..io import read_log
    from ..io.sources import check_target, shown
    from ..log.quantize import refuse_logits

    common.one_input(args, "LOG", "--clean")
    if args.output == "-" and args.json:
        raise UsageError("-o - prints the parameters on standard output, where --json prints the result")
    check_target(args.output)
    common.keep_apart({"LOG": args.log, "--clean": args.clean}, {"PARAMS": args.output})
    _keep_others(args.output)
    options = logits_given(args)

    def read(path: str, format: str | None) -> Log:
        if format is None:
            expect_log(path)
        log = read_log(path, format, **options)
        with located(shown(path)):
            refuse_logits(log.probs)
        return log

    with spoken(args):
        log = read(args.log, args.format)
        return log, None if args.clean is None else read(args.clean, None)


def _give(args: argparse.Namespace, params: Params) -> None:
    """Write the parameters and tell the findings; where the former go to standard output, aside."""
    from ..fitting.words import in_words, notes_of
    from ..io.sources import put

    put(args.output, params.to_json())
    with spoken(args):
        text, notes = in_words(params, args.details), notes_of(params)
    if args.output == "-":
        for line in text.splitlines():
            note(args, line)
        return
    found = params.notes["fit"]
    answer(args, {"params": args.output, "fit": found, "notes": notes}, text)


def add(subparsers: Subparsers) -> None:
    """Declare the command."""
    parser = declare(
        subparsers,
        "fit",
        None,
        "tcuq fit dev.csv -o monitor.json --budget 0.1",
        command,
        "tcuq run monitor.json field.csv -o decisions.csv",
        about="Reads a log of your model's outputs, best with labels and with clean and degraded stretches; "
        "tcuq record makes one. Writes a parameter file, which tcuq run, live and export read, and prints "
        "in a few lines what the monitor gains.",
    )
    add = parser.add_argument
    add(
        "log",
        metavar="LOG",
        help="development log, .csv, .npz, .jsonl, .parquet or .arrow: the softmax outputs of your model "
        "(p0,p1,... in tables) and, if you have them, features (f0,f1,...), label (the true class), segment "
        "(a number for each stretch) and shifted (1 where the input is degraded); - reads standard input",
    )
    add("-o", "--output", metavar="PARAMS", required=True, help="parameter file to write (JSON); - prints it")
    add("--format", choices=common.FORMATS, help="format of LOG, if its extension does not say")
    common.add_logits_options(parser, "LOG (and the clean log)")
    add("--clean", metavar="LOG", help="a second log, of clean data only: it sets threshold and alarm")
    add("--force", action="store_true", help="fit even if labels are reversed or the model is at chance")
    add("--details", action="store_true", help="also say what each signal adds and what simple rules achieve")
    add = parser.add_argument_group("rates").add_argument
    add("--budget", type=float, metavar="X", help="largest share of abstentions, 0 to 1 (default: 0.15)")
    tied = "the word budget ties it to --budget (default: budget; with profile paper 0.1)"
    add("--level", type=level, metavar="X|budget", help=f"share of steps to flag; {tied}")
    add(
        "--max-error",
        type=max_error,
        metavar="X[,N]",
        help="for devices that receive labels up to N steps late (default: 16): largest share of wrong "
        "answers among labeled accepted steps, proved up to a constant; the device then abstains beyond the "
        "budget where that needs it",
    )
    common.add_run_length(add)
    add = parser.add_argument_group("features").add_argument
    add("--feature-scale", type=float, metavar="X", help="scale of int8 features, from your model")
    add("--feature-zero-point", type=int, metavar="N", help="zero point of int8 features, from your model")
    alone = "use the softmax outputs alone, not the features"
    add("--posterior-only", dest="use_features", action="store_false", help=alone)
    add = parser.add_argument_group("how the monitor is learned (the defaults are good)").add_argument
    paces = "standard learns the pace of the stream, paper is the published method (default: standard)"
    add("--profile", choices=("standard", "paper"), help=paces)
    add(
        "--alarm",
        choices=("sight", "risk", "proved"),
        help="what the alarm looks at; proved: a run length that holds without independence, at several "
        "times the delay (default: sight; with profile paper risk)",
    )
    add(
        "--baseline-inputs",
        type=int,
        metavar="N",
        help="first new inputs of a device that set the baseline of sight (default: 120; 0: none)",
    )


def patient(bar: Callable[[int, int, str], None]) -> Callable[[str, int, int], None]:
    """Return what `fit` tells its progress to: a fit that is done within `PATIENCE` shows no bar."""
    start = time.monotonic()

    def show(stage: str, done: int, total: int) -> None:
        if time.monotonic() - start >= PATIENCE:
            bar(done, total, stage)

    return show


def command(args: argparse.Namespace) -> int:
    """Fit and write the parameters."""
    if args.level == "budget" and args.budget is not None and not 0.001 <= args.budget <= 0.999:
        given_budget = f"--budget is {args.budget:g}, expected 0.001 to 0.999 with it"
        raise UsageError(f"--level budget flags as often as the budget allows; {given_budget}")
    log, clean = _read(args)
    from ..fitting import FitOptions, fit

    keywords = given(args, "budget", "level", "run_length", "profile", "alarm")
    more = given(args, "feature_scale", "feature_zero_point", "baseline_inputs")
    more["max_error"], more["feedback"] = args.max_error or (None, 0)
    with progress(args) as bar, spoken(args):
        options = FitOptions(use_features=args.use_features, **more)
        params = fit(log, clean=clean, options=options, force=args.force, progress=patient(bar), **keywords)
    _give(args, params)
    return 0
