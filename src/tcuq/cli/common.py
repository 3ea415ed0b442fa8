"""What the commands share: options, messages, a progress bar, JSON on standard output."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from ..log import Log

    Subparsers = argparse._SubParsersAction["Parser"]


class UsageError(Exception):
    """The command line itself is wrong."""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, like every other error of the command."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing the usage and leaving."""
        raise UsageError(f"{message} (see {self.prog} --help)")


def declare(subparsers: Subparsers, name: str, help: str, example: str, command: Any) -> Parser:
    """Add a subcommand with the options that all have.

    Parameters
    ----------
    subparsers : action
    name : str
    help : str
        One line.
    example : str
        One command line.
    command : callable
        Takes the parsed arguments, returns the exit status.
    """
    parser = subparsers.add_parser(
        name, help=help, description=f"{help[0].upper()}{help[1:]}.", epilog=f"example:\n  {example}"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON on standard output")
    parser.add_argument(
        "--quiet", action="store_true", help="print nothing but errors and what was asked for"
    )
    parser.set_defaults(command=command)
    return parser


def complain(message: str) -> int:
    """Print an error as one line and return the exit status of bad input."""
    print(f"tcuq: {' '.join(message.split())}", file=sys.stderr)
    return 2


def note(args: argparse.Namespace, message: str) -> None:
    """Print a remark that is not the result."""
    if not args.quiet:
        print(f"tcuq: {' '.join(message.split())}", file=sys.stderr)


def answer(args: argparse.Namespace, found: dict[str, Any], text: str) -> None:
    """Print the result of a command, as JSON or for people."""
    if args.json:
        print_json(found)
    elif not args.quiet:
        print(text)


def print_json(found: dict[str, Any]) -> None:
    """Print an object as JSON on standard output."""
    print(json.dumps(found, indent=2, default=_plain, allow_nan=False))


def _plain(value: Any) -> Any:
    """Turn what numpy and pathlib give into what JSON has."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if hasattr(value, "keys"):
        return dict(value)
    return str(value)


def silence_stdout() -> None:
    """Send what is left in the buffer nowhere, so that leaving Python does not fail on it once more."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    except (OSError, ValueError):
        pass


class Progress:
    """A bar on standard error; silent when that is no terminal.

    Parameters
    ----------
    quiet : bool
    """

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
            print(f"\r{line:<{len(self._shown)}}", end="", file=sys.stderr, flush=True)
            self._shown = line

    def close(self) -> None:
        """Take the bar away."""
        if self._shown:
            print(f"\r{'':<{len(self._shown)}}\r", end="", file=sys.stderr, flush=True)
            self._shown = ""


@contextmanager
def progress(args: argparse.Namespace) -> Iterator[Progress]:
    """Give a progress bar that is taken away at the end, whatever happens."""
    bar = Progress(args.quiet or args.json)
    try:
        yield bar
    finally:
        bar.close()


@contextmanager
def about(path: str) -> Iterator[None]:
    """Put the name of a file in front of what is said about its content."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from None


def read_state_file(path: str) -> bytes:
    """Return the bytes of a saved state."""
    return Path(path).read_bytes()


def check_fits(log: Log, where: str, classes: int, features: int, needed: bool) -> None:
    """Refuse a log of another shape than the parameters have.

    Parameters
    ----------
    log : Log
    where : str
        Name of the log in messages.
    classes, features : int
        Of the parameters.
    needed : bool
        Whether a signal reads features.
    """
    if log.classes != classes:
        raise ValueError(f"{where}: has {log.classes} classes; {classes} are accepted, as the parameters say")
    if features and (needed or log.features is not None) and log.width != features:
        raise ValueError(f"{where}: has {log.width} features; {features} are accepted, as the parameters say")


def comma_list(kind: Callable[[str], Any]) -> Callable[[str], tuple[Any, ...]]:
    """Return a reader of values parted by commas.

    Examples
    --------
    >>> comma_list(int)("1,2,4")
    (1, 2, 4)
    """

    def read(text: str) -> tuple[Any, ...]:
        try:
            return tuple(kind(part) for part in text.split(","))
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r}; numbers parted by commas are accepted") from None

    return read


def given(args: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Return the options that were given, so that defaults stay with the function that has them."""
    return {name: getattr(args, name) for name in names if getattr(args, name) is not None}
