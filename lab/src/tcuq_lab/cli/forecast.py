"""How far the work is: a bar on a terminal, and a line now and then in a file."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tcuq.cli.common import note, progress

EVERY = 10.0
"""Seconds between lines."""


@contextmanager
def forecast(args: argparse.Namespace) -> Iterator[Callable[[int, int, str], None]]:
    """Give what is called with the work done, all of it, and a text; it shows a bar, or writes lines."""
    import sys

    if sys.stderr.isatty():
        with progress(args) as bar:
            yield bar
        return
    last = time.monotonic()

    def tell(done: int, total: int, text: str = "") -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= EVERY:
            last = now
            note(args, f"{done} of {total} {text}")

    yield tell
