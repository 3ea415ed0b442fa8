"""Interrupts for programs under test, also where the tests themselves were started to ignore them."""

import signal


def heed_interrupts() -> None:
    """Let the new process end at an interrupt: a shell starts background jobs with interrupts ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
