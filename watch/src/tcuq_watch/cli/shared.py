"""What the commands share: options of a page, its server, and how signals end the work."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

    from ..pages.server import Server

PORT = 8357


def add_server_options(parser: Any, only: str = "") -> None:
    """Declare where a page is served; `only` is the option that these need."""
    option = parser.add_argument
    option("--port", type=int, default=PORT, metavar="N", help=f"{only}port of the page (default: {PORT})")
    option(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help=f"{only}its address (default: 127.0.0.1, this machine alone); another one needs a secret in the "
        "variable TCUQ_TOKEN, which the page then asks for",
    )


def serve_page(args: argparse.Namespace, feed: Any, **parts: Any) -> Server:
    """Serve a page as the options say."""
    from ..pages.server import serve

    token = os.environ.get("TCUQ_TOKEN") or None
    return serve(feed, host=args.host, port=args.port, token=token, **parts)


@contextmanager
def ended_by_signals(stop: Callable[[], Any] | None = None) -> Iterator[list[int]]:
    """Let the first signal end the work where that loses nothing, and the second at once.

    Gives a list that holds the first signal as soon as it has come.
    """
    asked: list[int] = []

    def handle(number: int, frame: Any) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)
        if stop is not None:
            stop()

    main = threading.current_thread() is threading.main_thread()
    names = [name for name in ("SIGINT", "SIGTERM", "SIGHUP") if main and hasattr(signal, name)]
    before = {name: signal.signal(getattr(signal, name), handle) for name in names}
    try:
        yield asked
    finally:
        for name, handler in before.items():
            signal.signal(getattr(signal, name), handler)
