"""Where the command meets the system: standard streams, and errors as one line. Imports next to nothing."""

from __future__ import annotations

import errno
import os
import sys
import warnings

TYPE_CHECKING = False  # as in typing, which takes longer to import than all else here
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, TextIO

    from .parser import Parser


SIGPIPE = 13  # on POSIX systems; Windows has no such signal, and its status is the same
MOST = 1 << 20  # characters of a line, which those that write it keep far shorter

_REMEDIES = {
    errno.ENOSPC: "; free some space, or write elsewhere",
    errno.EROFS: "; write elsewhere",
    errno.EIO: "; the disk fails: look after it, and write elsewhere",
}


class UsageError(Exception):
    """The command line itself is wrong."""


class Stopped(BaseException):
    """A signal asked the process to end; what must be saved is saved on the way out."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def open_streams() -> None:
    """Give a process whose output or error stream is closed one that goes nowhere."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            # Stays open to the end, like the stream that it stands for.
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
        elif hasattr(getattr(sys, name), "reconfigure"):
            # A file name that the terminal cannot show must not end the work.
            getattr(sys, name).reconfigure(errors="backslashreplace")


def tell(text: str, end: str = "\n") -> None:
    """Print on standard error; where nobody listens there, that is not an error."""
    try:
        print(text, end=end, file=sys.stderr, flush=True)
    except (OSError, ValueError):
        silence(sys.stderr)


def tell_line(command: str, message: str) -> None:
    """Print a message as one line on standard error; control characters in it never reach the terminal."""
    from ..base.errors import one_line

    tell(one_line(f"{command}: {' '.join(message.split())}", MOST))


def complain(command: str, message: str) -> int:
    """Print an error as one line and return the exit status of bad input."""
    tell_line(command, message)
    return 2


def bug(command: str, error: Exception) -> int:
    """Report an error that nobody foresaw as one line; raise it again where TCUQ_DEBUG=1 asks for that."""
    if os.environ.get("TCUQ_DEBUG") == "1":
        raise error
    return complain(command, f"this is a bug, please report it: {type(error).__name__}: {error}")


def notes_as_lines(command: str, quiet: bool) -> None:
    """Print what the library warns users of as notes of one line each, without the place in its code."""
    shown = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
        if not issubclass(category, UserWarning):
            shown(message, category, *rest, **more)
        elif not quiet:
            tell_line(command, str(message))

    warnings.showwarning = show
    if not sys.warnoptions:  # -W, and PYTHONWARNINGS, go first
        warnings.simplefilter("always", UserWarning)


def silence(stream: TextIO) -> None:
    """Send what is left in a stream's buffer nowhere, so that leaving Python does not fail on it."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
    except (OSError, ValueError):
        pass


def run_command(command: str, build_parser: Callable[[], Parser], argv: Sequence[str] | None) -> int:
    """Run a command line and turn every way it can end into an exit status.

    0 on success, 1 when a check failed, 2 for bad input, 128 + N when signal N ended the work: 130 for an
    interrupt, 141 for a reader of standard output that closed its end, as tools of POSIX systems end there.
    The parser is built after an interrupt can already be handled, because that imports the rest.
    """
    try:
        open_streams()
        args = build_parser().parse_args(argv)
        with warnings.catch_warnings():
            notes_as_lines(command, getattr(args, "quiet", False))
            status: int = args.command(args)
        sys.stdout.flush()
        return status
    except SystemExit as stop:  # --help and --version end this way
        if stop.code is None or isinstance(stop.code, int):
            return stop.code or 0
        complain(command, str(stop.code))
        return 1
    except KeyboardInterrupt:
        silence(sys.stdout)
        return 130
    except Stopped as stop:
        silence(sys.stdout)
        return 128 + stop.number
    except BrokenPipeError as error:
        if error.filename is not None:  # a pipe that was named as an output, not standard output
            return complain(command, f"{error.filename}: {error.strerror}")
        # The reader has seen enough (head, less): nothing to complain about, yet not all was written.
        silence(sys.stdout)
        return 128 + SIGPIPE
    except OSError as error:
        if error.filename is None:
            silence(sys.stdout)
        where = "standard output" if error.filename is None else error.filename
        return complain(command, f"{where}: {error.strerror or error}{_REMEDIES.get(error.errno or 0, '')}")
    except (UsageError, ValueError, TypeError, ImportError) as error:
        return complain(command, str(error))
    except MemoryError:
        return complain(command, "not enough memory for this input")
    except Exception as error:
        return bug(command, error)
