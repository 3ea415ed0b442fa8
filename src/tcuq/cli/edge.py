"""Where the command meets the system: standard streams, and errors as one line. Imports next to nothing."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # as in typing, which takes longer to import than all else here
if TYPE_CHECKING:
    from typing import TextIO


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


def complain(message: str) -> int:
    """Print an error as one line and return the exit status of bad input."""
    tell(f"tcuq: {' '.join(message.split())}")
    return 2


def bug(error: Exception) -> int:
    """Report an error that nobody foresaw as one line; raise it again where TCUQ_DEBUG=1 asks for that."""
    if os.environ.get("TCUQ_DEBUG") == "1":
        raise error
    return complain(f"this is a bug in tcuq, please report it: {type(error).__name__}: {error}")


def silence(stream: TextIO) -> None:
    """Send what is left in a stream's buffer nowhere, so that leaving Python does not fail on it."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
    except (OSError, ValueError):
        pass
