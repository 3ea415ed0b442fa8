"""The server of the pages: uvicorn in one thread, for this machine alone unless told otherwise."""

from __future__ import annotations

import asyncio
import errno
import socket
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from urllib.parse import quote

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from tcuq.base.errors import InputError, wrong_value

from .feed import Feed
from .site import SAFE, Page, Site, is_local

__all__ = ["Server", "serve"]

CONNECTIONS = 96
"""Connections at a time; more are turned away with status 503."""

REQUEST_SECONDS = 10.0
"""A request has to arrive within this time, however slowly its bytes drip in."""

SEND_SECONDS = 30.0
"""A page that takes nothing for so long is let go; it comes back by itself and gets what it missed."""


class _Connection(H11Protocol):
    """One request: turned away where there are too many, cut where it comes or is taken too slowly."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > CONNECTIONS:
            self._turn_away("503 Service Unavailable", "too many connections")
        else:
            self._cut_after(REQUEST_SECONDS)

    def _cut_after(self, seconds: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if seconds is None else self.loop.call_later(seconds, self.transport.abort)

    def handle_events(self) -> None:
        super().handle_events()
        if self.conn.their_state in (h11.DONE, h11.MUST_CLOSE, h11.CLOSED):
            self._cut_after(None)  # it was read whole: the answer may take as long as it needs

    def pause_writing(self) -> None:
        super().pause_writing()
        self._cut_after(SEND_SECONDS)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._cut_after(None)

    def connection_lost(self, exc: Exception | None) -> None:
        self._cut_after(None)
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Answer a request that could not be read, unless an answer has begun."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self._turn_away("400 Bad Request", msg)
        else:
            self.transport.abort()

    def _turn_away(self, status: str, why: str) -> None:
        headers = {"Content-Type": "text/plain; charset=utf-8", "Content-Length": str(len(why) + 1), **SAFE}
        lines = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in headers.items()), "", why]
        self.transport.write("\r\n".join(lines).encode() + b"\n")
        self.transport.close()


class Server(AbstractContextManager["Server"]):
    """A server that runs; `serve` starts it."""

    def __init__(self, site: Site, listener: socket.socket, host: str) -> None:
        self._site, self._listener, self._host = site, listener, host
        self.port = site.port
        config = uvicorn.Config(
            site,
            loop="asyncio",
            http=_Connection,
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="critical",
            server_header=False,
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([listener],), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """The link to open, with the token where there is one."""
        token = self._site.token
        asked = f"?token={quote(token, safe='')}" if token else ""
        return f"http://{_named(self._host)}:{self.port}/{asked}"

    def close(self) -> None:
        """Stop: no more requests, and pages are let go."""
        self._site.closing = self._server.should_exit = True
        self._thread.join(2.0)
        self._listener.close()  # where it was stopped before it had begun

    def __exit__(self, *_: object) -> None:
        self.close()


def serve(
    feed: Feed | None,
    *,
    host: str = "127.0.0.1",
    port: int = 8357,
    token: str | None = None,
    mark: Callable[[int, int | None], str] | None = None,
    metrics: Callable[[], str] | None = None,
    page: Page | None = None,
) -> Server:
    """Serve the live page of a feed, in a thread of its own.

    Parameters
    ----------
    feed : Feed or None
        None with another `page`.
    host : str
        Address to listen at. Other addresses than this machine's own need a token.
    port : int
        0 for any that is free.
    token : str, optional
        Asked of everyone who looks: once in the link, then as a cookie, or as `Authorization: Bearer`.
    mark : callable, optional
        Called with the number of a step that was wrong and its true class, or None where that is not known.
        Returns what to show, or raises ValueError with one line. Left out, the page has no marks.
    metrics : callable, optional
        Returns the text of `/metrics`.
    page : callable, optional
        Returns another page than the live one and its policy, for what is asked with `?find=`.

    Examples
    --------
    >>> from urllib.request import urlopen
    >>> with serve(Feed({"title": "Door"}), port=0) as server, urlopen(server.url) as answer:
    ...     answer.status
    200
    """
    if not 0 <= port <= 65535:
        raise wrong_value("port", port, "0 to 65535")
    if not token and not is_local(host):
        raise wrong_value("host", host, "a token with it (TCUQ_TOKEN): others than this machine could look")
    listener = _listening(host, port)
    return Server(Site(feed, page, token or None, listener.getsockname()[1], mark, metrics), listener, host)


def _listening(host: str, port: int) -> socket.socket:
    try:
        family, *_, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        both = family == socket.AF_INET6 and socket.has_dualstack_ipv6()
        return socket.create_server((address[0], port), family=family, backlog=64, dualstack_ipv6=both)
    except OSError as error:
        code, why = "failed", error.strerror or str(error)
        if error.errno == errno.EADDRINUSE:
            code, why = "busy", "another program has it; stop that, or choose another port (0: any free one)"
        raise InputError(code, f"cannot listen at port {port} of {host}: {why}") from None


def _named(host: str) -> str:
    """Return an address that a browser can open: for one that means all, that of this machine."""
    if host in ("0.0.0.0", "::", ""):
        with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            # Sends nothing: it asks which address the machine would use to go out.
            probe.connect(("192.0.2.1", 9))
            return str(probe.getsockname()[0])
        return socket.gethostname()
    return f"[{host}]" if ":" in host else host
