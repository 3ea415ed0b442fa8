"""Where the command meets the system: standard streams, and errors as one line. Imports next to nothing."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # as in typing, which takes longer to import than all else here
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TextIO

    from .common import Parser


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
    """Print on standard error; where nobody listens there, that is no error."""
    try:
        print(text, end=end, file=sys.stderr, flush=True)
    except (OSError, ValueError):
        silence(sys.stderr)


def complain(command: str, message: str) -> int:
    """Print an error as one line and return the exit status of bad input."""
    tell(f"{command}: {' '.join(message.split())}")
    return 2


def bug(command: str, error: Exception) -> int:
    """Report an error that nobody foresaw as one line; raise it again where TCUQ_DEBUG=1 asks for that."""
    if os.environ.get("TCUQ_DEBUG") == "1":
        raise error
    return complain(command, f"this is a bug, please report it: {type(error).__name__}: {error}")


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

    Parameters
    ----------
    command : str
        Its name, which stands in front of every message.
    build_parser : callable
        Called after an interrupt can already be handled, because it imports the rest.
    argv : sequence of str, optional
        Arguments without the program's name; those of the process by default.

    Returns
    -------
    int
        0 on success, 1 when a check failed, 2 for bad input, 130 when interrupted, 128 + N when a live run
        was ended by signal N.
    """
    try:
        open_streams()
        args = build_parser().parse_args(argv)
        status: int = args.command(args)
        sys.stdout.flush()
        return status
    except SystemExit as stop:  # --help and --version end this way
        return stop.code if isinstance(stop.code, int) else 0
    except KeyboardInterrupt:
        silence(sys.stdout)
        return 130
    except Stopped as stop:
        silence(sys.stdout)
        return 128 + stop.number
    except BrokenPipeError:
        # The reader has seen enough (head, less): not an error.
        silence(sys.stdout)
        return 0
    except OSError as error:
        if error.filename is None:
            silence(sys.stdout)
        where = "standard output" if error.filename is None else error.filename
        return complain(command, f"{where}: {error.strerror or error}")
    except (UsageError, ValueError, TypeError, ImportError) as error:
        return complain(command, str(error))
    except MemoryError:
        return complain(command, "not enough memory for this input")
    except Exception as error:
        return bug(command, error)
