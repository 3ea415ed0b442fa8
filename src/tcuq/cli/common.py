"""What the commands share: options, messages, a progress bar, JSON on standard output."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..base.errors import located
from .process import UsageError, tell, tell_line
from .words import spoken

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..io.decisions import Decisions
    from ..log.log import Log
    from ..monitor.params import Params
    from .parser import Parser

FORMATS = ("csv", "jsonl", "npz", "parquet", "arrow")
"""As `tcuq.io.FORMATS`, which takes longer to import than a help page may."""


class Skipped:
    """Counts bad lines and keeps the first message; a stream that never ends must not fill the memory."""

    def __init__(self) -> None:
        self.count, self.first = 0, ""

    def __call__(self, message: str) -> None:
        """Take the message of a bad line."""
        self.first = self.first or message
        self.count += 1

    def __str__(self) -> str:
        lines = "line" if self.count == 1 else "lines"
        return f"skipped {self.count} bad {lines}; the first: {self.first}"


def note(args: argparse.Namespace, message: str) -> None:
    """Print a remark that is not the result."""
    if not args.quiet:
        tell_line(args.program, message)


def answer(args: argparse.Namespace, result: dict[str, Any], text: str) -> None:
    """Print the result of a command, as JSON or for people."""
    if args.json:
        print_json(result)
    elif not args.quiet:
        print(text, flush=True)  # before notes, in a pipe as well


def print_json(result: dict[str, Any]) -> None:
    """Print an object as JSON on standard output."""
    print(json.dumps(result, indent=2, default=_plain, allow_nan=False))


def _plain(value: Any) -> Any:
    """Turn what numpy and pathlib give into what JSON has."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if hasattr(value, "keys"):
        return dict(value)
    return str(value)


class Progress:
    """A bar on standard error; silent when that is not a terminal."""

    def __init__(self, quiet: bool) -> None:
        self._on = not quiet and sys.stderr.isatty()
        self._shown = ""

    def __call__(self, done: int, total: int, text: str = "") -> None:
        """Show how far the work is."""
        if not self._on:
            return
        filled = 24 * done // max(1, total)
        line = f"[{'#' * filled}{'.' * (24 - filled)}] {done}/{total} {text}"[:100]
        if line != self._shown:
            tell(f"\r{line:<{len(self._shown)}}", end="")
            self._shown = line

    def close(self) -> None:
        """Take the bar away."""
        if self._shown:
            tell(f"\r{'':<{len(self._shown)}}\r", end="")
            self._shown = ""


@contextmanager
def progress(args: argparse.Namespace) -> Iterator[Progress]:
    """Give a progress bar that is taken away at the end, whatever happens."""
    bar = Progress(args.quiet or args.json)
    try:
        yield bar
    finally:
        bar.close()


def check_named(args: argparse.Namespace, decisions: Decisions, params: Params) -> None:
    """Refuse a decision log of other parameters; say where a log does not name its own."""
    with located(args.decisions):
        decisions.check_params(params)
    if decisions.fingerprint is None:
        note(args, f"{args.decisions}: does not name its parameters, which may be others than {args.params}")


def need_files(args: argparse.Namespace, *names: str) -> None:
    """Refuse ``-`` where a file is meant and neither standard input nor output can stand for it."""
    for name in names:
        if _is_standard(args, name):
            raise UsageError(f"{name} is '-'; a file name is needed")


def one_input(args: argparse.Namespace, *names: str) -> None:
    """Refuse standard input for more than one thing; names are as for `need_files`."""
    taken = [name for name in names if _is_standard(args, name)]
    if len(taken) > 1:
        raise UsageError(f"{' and '.join(taken)} are both '-'; standard input can be read only once")


def keep_apart(read: Mapping[str, str | None], written: Mapping[str, str | None]) -> None:
    """Refuse to write over what is read, or two things to one place."""
    taken = {os.path.realpath(path): name for name, path in read.items() if path not in (None, "-")}
    for name, path in written.items():
        if path is None or path == "-" or (os.path.exists(path) and not os.path.isfile(path)):
            continue
        other = taken.setdefault(os.path.realpath(path), name)
        if other != name:
            raise UsageError(f"{name} and {other} are both {path!r}; one would be lost")


def _is_standard(args: argparse.Namespace, name: str) -> bool:
    return bool(getattr(args, name.strip("-").replace("-", "_").lower()) == "-")


def read_run_log(args: argparse.Namespace, params: Params | None = None) -> Log:
    """Read the input of a run again; bad lines are skipped, as only a run that skips them goes on."""
    from ..io import read_log

    bad = Skipped()
    with spoken(args, "fit"):
        log = read_log(args.log, None, bad, params, **logits_given(args))
    if bad.count:
        note(args, str(bad))
    return log


def add_logits_options(parser: Parser, what: str) -> None:
    """Declare that what stands for posteriors in a log may be logits."""
    add = parser.add_argument
    add("--logits", action="store_true", help=f"{what} holds logits, not probabilities: apply softmax")
    add("--logits-scale", type=float, metavar="X", help="scale of int8 logits, with --logits")


def add_run_length(add: Callable[..., Any]) -> None:
    """Declare how rare false alarms are to be."""
    rare = "mean number of clean steps between false alarms (default: 10000)"
    add("--run-length", type=int, metavar="N", help=rare)


def logits_given(args: argparse.Namespace) -> dict[str, Any]:
    """Return how `read_log` is told of logits."""
    if args.logits_scale is not None and not args.logits:
        raise UsageError("--logits-scale is given without --logits; pass both for int8 logits")
    return {"logits": args.logits, "logits_scale": args.logits_scale}


def odd_posteriors(args: argparse.Namespace, where: str, probs: npt.NDArray[Any]) -> list[str]:
    """Return, and print, what is odd about the posteriors of a live stream: a list of one note or none."""
    from ..log.quantize import mass_note

    odd = mass_note(probs)
    if odd is None:
        return []
    text = f"{where}: {odd}" + ("" if args.logits else " (pass --logits with --logits-scale)")
    note(args, text)
    return [text]


def comma_list(kind: Callable[[str], Any]) -> Callable[[str], tuple[Any, ...]]:
    """Return a reader of values separated by commas."""

    def read(text: str) -> tuple[Any, ...]:
        try:
            return tuple(kind(part) for part in text.split(","))
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r}, expected numbers separated by commas") from None

    return read


def given(args: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Return the options that were given, so that defaults stay with the function that has them."""
    return {name: getattr(args, name) for name in names if getattr(args, name) is not None}
