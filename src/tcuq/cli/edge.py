"""Where the command meets the system: standard streams, and errors as one line. Imports next to nothing."""

from __future__ import annotations

import os
import sys


class UsageError(Exception):
    """The command line itself is wrong."""


def open_streams() -> None:
    """Give a process whose output or error stream is closed one that goes nowhere."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            # Stays open to the end, like the stream that it stands for.
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115


def complain(message: str) -> int:
    """Print an error as one line and return the exit status of bad input."""
    print(f"tcuq: {' '.join(message.split())}", file=sys.stderr)
    return 2


def bug(error: Exception) -> int:
    """Report an error that nobody foresaw as one line; raise it again where TCUQ_DEBUG=1 asks for that."""
    if os.environ.get("TCUQ_DEBUG") == "1":
        raise error
    return complain(f"this is a bug in tcuq, please report it: {type(error).__name__}: {error}")


def silence_stdout() -> None:
    """Send what is left in the buffer nowhere, so that leaving Python does not fail on it once more."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    except (OSError, ValueError):
        pass
