"""What commands share: options as rows, and how far the work is."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tcuq.cli.common import comma_list, note, progress

if TYPE_CHECKING:
    from ..reproduce.recordings import Recordings
    from ..reproduce.run_size import RunSize

KINDS: Mapping[str, Any] = MappingProxyType(
    {
        "N": int,
        "M": float,
        "SHARE": float,
        "N,N": comma_list(int),
        "M,M": comma_list(float),
    }
)
"""Type of a value by what stands for it in the help; all else is text."""


def options(parser: Any, *rows: tuple[Any, ...], **more: Any) -> None:
    """Declare a row each; one whose value is named "" is a flag, `more` holds for all rows.

    What is not given is None, flags too, so that `tcuq.cli.common.given` leaves it out.
    """
    for name, value, said, *default in rows:
        about = f"{said} (default: {default[0]})" if default else said
        if not value:
            parser.add_argument(name, action="store_true", default=None, help=about, **more)
        else:
            rest = {"type": KINDS.get(value, str), "default": default[0] if default else None, **more}
            parser.add_argument(name, metavar=value, help=about, **rest)


def recordings_of(args: argparse.Namespace, setting: RunSize, *more: Any) -> Recordings:
    """Return what networks said, in the folders that --weights and --cache name."""
    from ..home import folder
    from ..reproduce.recordings import Recordings

    weights, cache = folder(args.weights, "weights"), folder(args.cache, "../out/reproduce")
    return Recordings(str(weights), str(cache), setting, *more)


EVERY = 10.0
"""Seconds between lines."""


@contextmanager
def forecast(args: argparse.Namespace) -> Iterator[Callable[[int, int, str], None]]:
    """Give what is called with the work done, all of it, and a text; it shows a bar, or writes lines."""
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
