"""`tcuq fit`: parameters from a development log."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from .common import (
    FORMATS,
    add_logits_options,
    answer,
    comma_list,
    given,
    keep_apart,
    logits_given,
    note,
    one_input,
    progress,
)
from .edge import UsageError
from .parser import declare
from .words import expect_log, in_options, spoken

if TYPE_CHECKING:
    from ..monitor.log import Log
    from ..monitor.params import Params
    from .parser import Parser, Subparsers

PATIENCE = 2.0
"""Seconds after which a fit shows how far it is."""


def level(text: str) -> float | str:
    """Read a level: a number, or the word "budget"."""
    if text == "budget":
        return text
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}, expected a number or the word budget") from None


class Groups(NamedTuple):
    """Groups of options to which `fit` adds its own."""

    findings: argparse._ArgumentGroup
    learning: argparse._ArgumentGroup
    one_head: argparse._ArgumentGroup


def add_shared(parser: Parser) -> Groups:
    """Add the options that `fit` and `tune` share."""
    add = parser.add_argument
    add(
        "log",
        metavar="LOG",
        help="development log, .csv, .npz, .jsonl, .parquet or .arrow: the softmax outputs of your model "
        "(p0,p1,... in tables) and, if you have them, features (f0,f1,...), label (the true class), segment "
        "(a number for each stretch) and shifted (1 where the input is degraded); - reads standard input",
    )
    add("-o", "--output", metavar="PARAMS", required=True, help="parameter file to write (JSON); - prints it")
    add("--format", choices=FORMATS, help="format of LOG, if its extension does not say")
    add_logits_options(parser, "LOG (and the clean log)")
    add("--clean", metavar="LOG", help="a second log, of clean data only: it sets threshold and alarm")
    add = parser.add_argument_group("rates").add_argument
    add("--budget", type=float, metavar="X", help="largest share of abstentions, 0 to 1 (default: 0.15)")
    add(
        "--burst",
        type=int,
        metavar="N",
        help="abstentions allowed in a burst, on top of the budget (default: 8)",
    )
    add(
        "--run-length",
        type=int,
        metavar="N",
        help="mean number of clean steps between false alarms (default: 10000)",
    )
    add("--warmup", type=int, metavar="N", help="first steps, which never abstain (default: 4 x window)")
    add = parser.add_argument_group("features").add_argument
    add("--feature-scale", type=float, metavar="X", help="scale of int8 features, from your model")
    add("--feature-zero-point", type=int, metavar="N", help="zero point of int8 features, from your model")
    add("--posterior-only", action="store_true", help="use the softmax outputs alone, not the features")
    findings = parser.add_argument_group("findings")
    findings.add_argument(
        "--no-explain",
        action="store_const",
        const=False,
        dest="explain",
        help="do not measure what time and each signal add: several times faster",
    )
    learning = parser.add_argument_group("how the monitor is learned (the defaults are good)")
    add = learning.add_argument
    add(
        "--evidence",
        action="store_const",
        const=True,
        help="learn the alarm from degraded stretches, whatever else would be chosen; LOG needs label and "
        "shifted (default: profile standard learns it where that carries over to kinds of shift left out in "
        "turn, and says why if not; paper and extended sum risk)",
    )
    add(
        "--evidence-auto",
        action="store_const",
        const="auto",
        dest="evidence",
        help="as --evidence where LOG allows it, else an alarm on risk, with a note",
    )
    add(
        "--evidence-clip",
        type=float,
        metavar="X",
        help="most that one step adds to the evidence of the alarm, in nats "
        "(default: 3; without labels 2; with one head 4)",
    )
    add("--nonnegative", action="store_const", const=True, help="no coefficient below 0")
    add("--l2", type=float, metavar="X", help="strength of the penalty on coefficients (default: 1)")
    add("--seed", type=int, metavar="N", help="seed of the random numbers (default: 0)")
    add(
        "--keep-unused",
        action="store_const",
        const=False,
        dest="drop_unused",
        help="keep signals that end up with a coefficient of 0",
    )
    one_head = parser.add_argument_group("for monitors with one head (profiles paper and extended)")
    add = one_head.add_argument
    add(
        "--calibrate",
        action=argparse.BooleanOptionalAction,
        help="make uncertainty read as a probability of error (default: with profile extended)",
    )
    return Groups(findings, learning, one_head)


SHARED = (
    "budget",
    "burst",
    "run_length",
    "evidence",
    "evidence_clip",
    "calibrate",
    "nonnegative",
    "l2",
    "warmup",
    "seed",
    "feature_scale",
    "feature_zero_point",
    "explain",
    "drop_unused",
)


def _keep_others(path: str) -> None:
    """Refuse to replace a file that neither is nor is called a parameter file: a model, a log, a picture."""
    if path == "-" or path.lower().endswith(".json") or not os.path.isfile(path):
        return
    with open(path, "rb") as file:
        start = file.read(64).lstrip()
    if start and not start.startswith(b"{"):
        raise UsageError(f"{path}: exists and is no parameter file; remove it, or name another with -o")


def read_inputs(args: argparse.Namespace) -> tuple[Log, dict[str, Any]]:
    """Return the log and the shared options that were given, the clean log read."""
    from ..io import read_log
    from ..io.sources import check_target, shown
    from ..monitor.quantize import refuse_logits

    one_input(args, "LOG", "--clean")
    if args.output == "-" and args.json:
        raise UsageError("-o - prints the parameters on standard output, where --json prints the result")
    check_target(args.output)
    keep_apart({"LOG": args.log, "--clean": args.clean}, {"PARAMS": args.output})
    _keep_others(args.output)
    told = logits_given(args)

    def read(path: str, format: str | None) -> Log:
        if format is None:
            expect_log(path)
        log = read_log(path, format, **told)
        try:
            refuse_logits(log.probs)
        except ValueError as error:
            raise ValueError(f"{shown(path)}: {error}") from None
        return log

    with spoken():
        log = read(args.log, args.format)
        options = given(args, *SHARED)
        if args.posterior_only:
            options["use_features"] = False
        if args.clean is not None:
            options["clean"] = read(args.clean, None)
    return log, options


def give(args: argparse.Namespace, params: Params, part: str, text: str) -> None:
    """Write the parameters and tell the findings; where the former go to standard output, aside.

    Parameters
    ----------
    args : Namespace
    params : Params
    part : str
        Key of the notes that ``--json`` shows: ``"fit"`` or ``"tune"``.
    text : str
        The findings.
    """
    from ..io.sources import put

    put(args.output, params.to_json())
    text = in_options(text)
    if args.output == "-":
        for line in text.splitlines():
            note(args, line)
        return
    found = params.notes.get(part)
    notes = [in_options(each) for each in (params.notes.get("fit") or {}).get("warnings", ())]
    answer(args, {"params": args.output, part: found, "notes": notes}, text)


def add(subparsers: Subparsers) -> None:
    """Declare the command."""
    parser = declare(
        subparsers,
        "fit",
        "fit a monitor to a development log",
        "tcuq fit dev.csv -o monitor.json --budget 0.1",
        command,
        "tcuq run monitor.json field.csv -o decisions.csv",
        about="Reads a log of your model's outputs, best with labels and with clean and degraded stretches; "
        "tcuq record makes one. Writes a parameter file, which tcuq run, live and export read, and prints "
        "in a few lines what the monitor gains.",
    )
    groups = add_shared(parser)
    groups.findings.add_argument(
        "--details", action="store_true", help="say also what each signal adds and what simple rules reach"
    )
    option = groups.learning.add_argument
    option(
        "--profile",
        choices=("standard", "paper", "extended"),
        help="set of signals: standard learns the pace of the stream, paper is the published method, "
        "extended that of release 0.1 (default: standard)",
    )
    option(
        "--about",
        choices=("answer", "prediction"),
        help="whose errors are learned: those of the class to act on, or of the top class of this posterior "
        "(default: answer, where there is one)",
    )
    option(
        "--class-mix",
        action="store_const",
        const=True,
        help="correct beliefs by how often classes come in LOG; only if they come as often in the field",
    )
    option(
        "--alarm",
        choices=("evidence", "risk", "proved"),
        help="what the alarm sums; proved: a run length that holds without independence, at several times "
        "the delay (default: evidence)",
    )
    option = parser.add_argument_group("signals and risk (for experts)").add_argument
    option(
        "--signals",
        type=comma_list(str),
        metavar="NAME,NAME,...",
        help="these signals instead of a profile; tcuq inspect lists those of a parameter file",
    )
    option(
        "--risk-signals",
        type=comma_list(str),
        metavar="NAME,NAME,...",
        help="those of the signals that the uncertainty weighs; the others serve --evidence alone",
    )
    option(
        "--lags", type=comma_list(int), metavar="N,N,...", help="steps to look back, 1 to 64 (default: 1,2,4)"
    )
    option("--lag-weights", type=comma_list(float), metavar="X,X,...", help="one weight for each lag")
    option(
        "--window",
        type=int,
        metavar="N",
        help="longest lag allowed; sets the default warm-up (default: 16)",
    )
    option("--blend", type=float, metavar="X", help="share of uncertainty in risk, 0 to 1 (default: 0.7)")
    option(
        "--anchor",
        choices=("confidence", "belief"),
        help="what the rest of risk reads (default: belief where the signals allow it)",
    )
    option("--doubt-mix", type=float, metavar="X", help="share of confidence in doubt, 0 to 1 (default: 0.5)")
    option(
        "--level",
        type=level,
        metavar="X|budget",
        help="share of steps to flag; the word budget ties it to --budget "
        "(default: budget; with one head 0.1)",
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
        raise UsageError(
            f"--level budget flags as often as the budget allows; --budget is {args.budget:g}, "
            "expected 0.001 to 0.999 with it"
        )
    log, options = read_inputs(args)
    names = ("profile", "signals", "risk_signals", "lags", "lag_weights", "window", "blend", "anchor")
    options |= given(args, *names, "doubt_mix", "level", "about", "class_mix", "alarm")
    from ..fitting import fit, fit_findings

    with progress(args) as bar, spoken():
        params = fit(log, progress=patient(bar), **options)
    give(args, params, "fit", fit_findings(params, args.details))
    return 0
