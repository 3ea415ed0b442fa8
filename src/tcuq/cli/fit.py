"""`tcuq fit`: parameters from a development log."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from .common import answer, comma_list, declare, given, note, odd_posteriors, one_input, progress
from .edge import UsageError

if TYPE_CHECKING:
    from ..monitor.log import Log
    from ..monitor.params import Params
    from .common import Parser, Subparsers


def level(text: str) -> float | str:
    """Read a level: a number, or the word "budget"."""
    if text == "budget":
        return text
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}; a number or budget is accepted") from None


def add_shared(parser: Parser) -> None:
    """Add the options that `fit` and `tune` share."""
    parser.add_argument(
        "log", metavar="LOG", help="development log: .csv, .npz, .jsonl, or - for standard input"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="PARAMS",
        required=True,
        help="parameter file to write (JSON), or - to print it",
    )
    parser.add_argument("--format", choices=("csv", "jsonl", "npz"), help="format of LOG, over its extension")
    parser.add_argument("--clean", metavar="LOG", help="another log, of clean data only")
    parser.add_argument("--budget", type=float, metavar="X", help="largest share of abstentions, 0 to 1")
    parser.add_argument("--burst", type=int, metavar="N", help="abstentions that may come at once")
    parser.add_argument(
        "--run-length", type=int, metavar="N", help="clean steps between false alarms, on average"
    )
    parser.add_argument("--nonnegative", action="store_const", const=True, help="no coefficient below 0")
    parser.add_argument("--l2", type=float, metavar="X", help="strength of the penalty on coefficients")
    parser.add_argument("--warmup", type=int, metavar="N", help="steps that never abstain")
    parser.add_argument("--seed", type=int, metavar="N", help="of the random numbers")
    parser.add_argument("--feature-scale", type=float, metavar="X", help="of int8 features")
    parser.add_argument("--feature-zero-point", type=int, metavar="N", help="of int8 features")
    parser.add_argument("--posterior-only", action="store_true", help="leave the features out")


SHARED = (
    "budget",
    "burst",
    "run_length",
    "nonnegative",
    "l2",
    "warmup",
    "seed",
    "feature_scale",
    "feature_zero_point",
)


def read_inputs(args: argparse.Namespace) -> tuple[Log, dict[str, Any], list[str]]:
    """Return the log, the shared options that were given (the clean log read), and notes on both."""
    from ..io import read_log
    from ..io.sources import check_target, shown

    one_input(args, "LOG", "--clean")
    if args.output == "-" and args.json:
        raise UsageError("-o - prints the parameters on standard output, where --json prints the result")
    check_target(args.output)
    log = read_log(args.log, args.format)
    notes = odd_posteriors(args, shown(args.log), log.probs)
    options = given(args, *SHARED)
    if args.posterior_only:
        options["use_features"] = False
    if args.clean is not None:
        options["clean"] = read_log(args.clean)
        notes += odd_posteriors(args, shown(args.clean), options["clean"].probs)
    return log, options, notes


def give(args: argparse.Namespace, params: Params, found: dict[str, Any], text: str) -> None:
    """Write the parameters and tell the findings; where the former go to standard output, aside."""
    from ..io.sources import put

    put(args.output, params.to_json())
    if args.output == "-":
        for line in text.splitlines():
            note(args, line)
    else:
        answer(args, {"params": args.output, **found}, text)


def add(subparsers: Subparsers) -> None:
    """Declare the command."""
    example = "tcuq fit dev.csv -o monitor.json --profile extended --budget 0.1"
    parser = declare(subparsers, "fit", "fit a monitor to a development log", example, command)
    add_shared(parser)
    parser.add_argument("--profile", choices=("paper", "extended"), help="which signals")
    parser.add_argument("--signals", type=comma_list(str), metavar="NAME,NAME,...", help="these signals")
    parser.add_argument("--lags", type=comma_list(int), metavar="N,N,...", help="steps to look back, 1 to 64")
    parser.add_argument("--lag-weights", type=comma_list(float), metavar="X,X,...", help="one for each lag")
    parser.add_argument(
        "--window", type=int, metavar="N", help="longest lag allowed; sets the default warm-up"
    )
    parser.add_argument("--blend", type=float, metavar="X", help="share of uncertainty in risk, 0 to 1")
    parser.add_argument("--anchor", choices=("confidence", "belief"), help="what else risk leans on")
    parser.add_argument(
        "--calibrate",
        action=argparse.BooleanOptionalAction,
        help="make uncertainty read as a probability of error",
    )
    parser.add_argument(
        "--evidence",
        action="store_const",
        const=True,
        help="the alarm sums how much likelier a step is on degraded input; LOG needs labels and shifted",
    )
    parser.add_argument(
        "--evidence-clip", type=float, metavar="X", help="most that one step adds to that sum"
    )
    parser.add_argument("--doubt-mix", type=float, metavar="X", help="share of confidence in doubt, 0 to 1")
    parser.add_argument("--level", type=level, metavar="X|budget", help="share of steps to flag")


def command(args: argparse.Namespace) -> int:
    """Fit and write the parameters."""
    if args.level == "budget" and args.budget is not None and not 0.001 <= args.budget <= 0.999:
        raise UsageError(
            f"--level budget flags as often as the budget allows; --budget is {args.budget:g}, "
            "0.001 to 0.999 is accepted with it"
        )
    log, options, notes = read_inputs(args)
    names = ("profile", "signals", "lags", "lag_weights", "window", "blend", "anchor", "calibrate")
    options |= given(args, *names, "doubt_mix", "level", "evidence", "evidence_clip")
    from ..fitting import fit, fit_findings

    with progress(args) as bar:
        bar(0, 1, "fitting")
        params = fit(log, **options)
    give(args, params, {"fit": params.notes.get("fit"), "notes": notes}, fit_findings(params))
    return 0
