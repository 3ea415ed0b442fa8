"""The server behind the live page: the standard library's, for this machine alone unless told otherwise."""

from __future__ import annotations

import errno
import hashlib
import ipaddress
import socket
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import ThreadingHTTPServer
from socketserver import TCPServer
from typing import Any
from urllib.parse import quote

from tcuq.base.errors import InputError, wrong_value

from .feed import Feed
from .handler import Handler

CONNECTIONS = 96
"""Connections at a time; more are turned away with status 503."""

PAGES = 48
"""Pages that follow the feed at a time; the other connections stay free for everything else."""

REQUEST_SECONDS = 10.0
"""A request has to arrive within this time, however slowly its bytes drip in."""


@dataclass(frozen=True)
class View:
    """One more page of the server, at `/name`, with its data at `/name/data`.

    Scripts run only if the page's own content security policy, a `<meta>` before them, names their hashes:
    the server sends that policy as a header and adds that no page may frame it.
    """

    name: str  # letters, digits and hyphens
    title: str
    html: Callable[[], str]
    data: Callable[[], dict[str, Any]]  # returns what `/name/data` gives as JSON

    def __post_init__(self) -> None:
        taken = ("feed", "about", "mark", "metrics")
        if not self.name.replace("-", "").isalnum() or not self.name.isascii() or self.name in taken:
            raise InputError(
                "value", f"name of a view is {self.name!r}, expected letters and digits, not {taken}"
            )


@dataclass
class Site:
    """What the handlers of all requests share."""

    feed: Feed | None
    token: str | None
    port: int
    mark: Callable[[int, int | None], str] | None
    metrics: Callable[[], str] | None
    views: tuple[View, ...]
    closing: threading.Event = field(default_factory=threading.Event)
    pages: threading.BoundedSemaphore = field(default_factory=lambda: threading.BoundedSemaphore(PAGES))
    working: threading.Lock = field(default_factory=threading.Lock)
    marking: threading.Lock = field(default_factory=threading.Lock)

    @property
    def cookie(self) -> tuple[str, str]:
        """Name and value of the cookie: a digest, so that any token fits and none lies in a browser.

        Browsers share cookies between the ports of a machine, so each port has a name of its own.
        """
        return f"tcuq_{self.port}", hashlib.sha256(f"tcuq live {self.token}".encode()).hexdigest()


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    # On Windows the option would let two programs share a port.
    allow_reuse_address = sys.platform != "win32"
    request_queue_size = 64

    def __init__(self, address: tuple[str, int], family: int) -> None:
        self.address_family = socket.AddressFamily(family)
        self.site: Site
        self._open: dict[socket.socket, float] = {}
        self._lock = threading.Lock()
        super().__init__(address, Handler)

    def server_bind(self) -> None:
        # The parent looks up the machine's full name, which can take seconds without a network.
        TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            full = len(self._open) >= CONNECTIONS
            if not full:
                self._open[request] = time.monotonic() + REQUEST_SECONDS
        if not full:
            super().process_request(request, client_address)
            return
        with suppress(OSError):
            request.settimeout(1.0)
            request.sendall(
                b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
            )
        self.shutdown_request(request)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.pop(request, None)
        super().shutdown_request(request)

    def arrived(self, request: socket.socket) -> None:
        """Note that a request was read whole: its answer may take as long as it needs."""
        with self._lock:
            if request in self._open:
                self._open[request] = float("inf")

    def service_actions(self) -> None:
        now = time.monotonic()
        with self._lock:
            late = [request for request, limit in self._open.items() if limit < now]
        self._cut(late)

    def cut_all(self) -> None:
        """End all connections."""
        with self._lock:
            left = list(self._open)
        self._cut(left)

    def idle(self) -> bool:
        """Tell whether no connection is left."""
        with self._lock:
            return not self._open

    @staticmethod
    def _cut(requests: list[socket.socket]) -> None:
        for request in requests:
            with suppress(OSError):
                request.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):  # a connection that broke is the other side's business
            print(f"live page: {type(error).__name__}: {error}", file=sys.stderr)


class Server:
    """A server that runs; `serve` starts it."""

    def __init__(self, listener: _Listener, host: str) -> None:
        self._listener = listener
        self._host = host
        self._thread = threading.Thread(
            target=listener.serve_forever, kwargs={"poll_interval": 0.1}, name="live page", daemon=True
        )
        self._thread.start()

    @property
    def port(self) -> int:
        """The port that it listens at."""
        return self._listener.site.port

    @property
    def url(self) -> str:
        """The link to open, with the token where there is one."""
        token, name = self._listener.site.token, _named(self._host)
        return f"http://{name}:{self.port}/" + (f"?token={quote(token, safe='')}" if token else "")

    def close(self) -> None:
        """Stop: no more requests, and pages are let go."""
        if self._listener.site.closing.is_set():
            return
        self._listener.site.closing.set()
        self._listener.shutdown()
        self._thread.join()
        self._listener.server_close()
        self._listener.cut_all()
        limit = time.monotonic() + 2.0
        while not self._listener.idle() and time.monotonic() < limit:
            time.sleep(0.01)

    def __enter__(self) -> Server:
        return self

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
    views: Sequence[View] = (),
) -> Server:
    """Serve the live page of a feed, in threads of its own.

    Parameters
    ----------
    feed : Feed or None
        None where there are only views; the first one is then the start page.
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
    views : sequence of View
        Pages beside the live one.

    Returns
    -------
    Server

    Examples
    --------
    >>> from urllib.request import urlopen
    >>> with serve(Feed({"title": "Door"}), port=0) as server, urlopen(server.url) as answer:
    ...     answer.status
    200
    """
    if feed is None and not views:
        raise InputError("missing", "feed is None, expected a Feed or at least one view")
    if not 0 <= port <= 65535:
        raise wrong_value("port", port, "0 to 65535")
    if token is not None and not token:
        raise InputError("missing", "token is empty, expected some characters")
    if token is None and not _is_local(host):
        raise wrong_value("host", host, "a token with it (TCUQ_TOKEN): others than this machine could look")
    listener = _bound(host, port)
    listener.site = Site(feed, token, int(listener.server_address[1]), mark, metrics, tuple(views))
    return Server(listener, host)


def _bound(host: str, port: int) -> _Listener:
    try:
        family, *_, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        return _Listener((str(address[0]), port), family)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise InputError(
                "busy",
                f"port {port} of {host} is taken by another program: stop that, or choose another port "
                "(0 takes any that is free)",
            ) from None
        raise InputError(
            "failed", f"cannot listen at port {port} of {host}: {error.strerror or error}"
        ) from None


def _is_local(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _named(host: str) -> str:
    """Return an address that a browser can open: for one that means all, that of this machine."""
    if host in ("0.0.0.0", "::", ""):
        with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            # Sends nothing: it asks which address the machine would use to go out.
            probe.connect(("192.0.2.1", 9))
            return str(probe.getsockname()[0])
        return socket.gethostname()
    return f"[{host}]" if ":" in host else host
