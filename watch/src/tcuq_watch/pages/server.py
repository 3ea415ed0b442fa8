"""The server of the pages: what it answers, and to whom; for this machine alone unless told otherwise."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import ipaddress
import json
import re
import secrets
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractContextManager, suppress
from typing import Any
from urllib.parse import quote

import h11
import uvicorn
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route, Router
from starlette.types import Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from tcuq.base.errors import InputError, one_line, wrong_value

from .feed import Feed
from .live_page import live_page

__all__ = ["Server", "serve"]

Page = Callable[[Mapping[str, str]], tuple[str, str]]
"""Takes what is asked for after the `?` and returns HTML and its content security policy."""

Mark = Callable[[Mapping[str, Any]], str]
"""Takes the label of a step, as JSON has it, and returns what to show; raises ValueError with one line."""

CONNECTIONS, PAGES, BODY = 96, 48, 4096
"""Connections at a time (more are turned away with status 503), pages of them that follow the feed, so that
the others stay free for everything else, and bytes of a request's body at most."""

REQUEST_SECONDS, SEND_SECONDS = 10.0, 30.0
"""A request has to arrive within the first, however slowly its bytes drip in. A page that takes nothing for
the second is let go; it comes back by itself and gets what it missed."""

PROBES = ("/health", "/ready")
"""Whether the process answers, and whether it does its work: for those who start it again."""

PAUSE, BEAT = 0.05, 5.0
"""Seconds between two messages to a page, and until a quiet page hears that the server is there."""

NOTHING = "default-src 'none'; base-uri 'none'; form-action 'none'"
UNFRAMED = "; frame-ancestors 'none'"
SAFE = {
    "Content-Security-Policy": NOTHING + UNFRAMED,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Connection": "close",
}
"""Headers of every answer; a page brings a policy of its own."""

# The browser goes on by itself: a redirect would count as coming from where the link stood, and a strict
# cookie is not sent then.
WELCOME = (
    '<!doctype html><meta http-equiv="refresh" content="0;url=/"><title>tcuq</title><a href="/">Go on</a>'
)


def _text(status: int, text: str, **headers: str) -> Response:
    return Response(f"{text}\n".encode("utf-8", "replace"), status, headers, "text/plain")


def _readiness(why: str) -> Response:
    return _text(503 if why else 200, why or "ready")


def _html(html: str, policy: str) -> Response:
    headers = {"Content-Security-Policy": policy + UNFRAMED}
    return Response(html.encode("utf-8", "replace"), 200, headers, "text/html")


def _same(secret: str, expected: str, encoding: str = "utf-8") -> bool:
    """Compare in a time that tells nothing about where two secrets differ."""
    return secrets.compare_digest(secret.encode(encoding, "replace"), expected.encode())


class Server(AbstractContextManager["Server"]):
    """A server that runs; `serve` starts it. Requests are answered in its one thread, slow work beside it."""

    def __init__(
        self,
        feed: Feed | None,
        page: Page | None,
        token: str | None,
        mark: Mark | None,
        metrics: Callable[[], str] | None,
        ready: Callable[[], str] | None,
        host: str,
        listener: socket.socket,
    ) -> None:
        self._feed, self._token, self._mark, self._host = feed, token, mark, host
        self._listener, self.port = listener, listener.getsockname()[1]
        self._closing, self._following, self._marking = False, 0, asyncio.Lock()
        self._cookie = f"tcuq_{self.port}"  # browsers share cookies between the ports of a machine
        self._secret = hashlib.sha256(f"tcuq live {token}".encode()).hexdigest()  # no token lies in a browser
        shown = page or (lambda _: live_page())
        routes = [
            Route("/", self._slow(lambda asked: _html(*shown(asked.query_params)))),
            Route("/favicon.ico", lambda _: Response(status_code=204)),
        ]
        if metrics is not None:
            prometheus = "text/plain; version=0.0.4; charset=utf-8"
            routes.append(Route("/metrics", self._slow(lambda _: Response(metrics(), media_type=prometheus))))
        self._probes = Router(
            [
                Route("/health", lambda _: _text(200, "ok")),
                Route("/ready", self._slow(lambda _: _readiness(ready() if ready else ""))),
            ]
        )
        if feed is not None:
            routes.append(Route("/feed", self._follow))
        if feed is not None or mark is not None:
            routes.append(Route("/mark", self._take_mark, methods=["POST"]))
        self._router = Router(routes, redirect_slashes=False)
        options: dict[str, Any] = {"loop": "asyncio", "interface": "asgi3", "ws": "none", "lifespan": "off"}
        options |= {"log_config": None, "log_level": "critical", "server_header": False}
        options["timeout_graceful_shutdown"] = 1
        self._server = _Stopping(uvicorn.Config(self._answer, http=_Connection, **options))
        self._thread = threading.Thread(target=self._server.run, args=([listener],), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """The link to open, with the token where there is one."""
        asked = f"?token={quote(self._token, safe='')}" if self._token else ""
        return f"http://{_named(self._host)}:{self.port}/{asked}"

    def close(self) -> None:
        """Stop: no more requests, and pages are let go."""
        self._closing = self._server.should_exit = True
        self._thread.join(2.0)
        self._listener.close()  # where it was stopped before it had begun

    def __exit__(self, *_: object) -> None:
        self.close()

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, always with the safe headers."""

        async def send_safe(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SAFE.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            answer: Any = self._probes  # they say nothing of what is watched, so they ask for no token
            if scope["path"] not in PROBES:
                answer = await self._refusal(Request(scope)) or self._router
            await answer(scope, receive, send_safe)
        except Exception as error:
            await _text(500, one_line(f"{type(error).__name__}: {error}"))(scope, receive, send_safe)

    async def _refusal(self, request: Request) -> Response | None:
        """Check who asks: the page that asks, the name that was used, and the token."""
        headers = request.headers
        # Pages of others may link here, but not fetch from here, not even without seeing what they get.
        foreign = headers.get("sec-fetch-site", "none") not in ("none", "same-origin")
        if foreign and headers.get("sec-fetch-mode") != "navigate":
            return _text(403, "the request does not come from the page of this server")
        if self._token is None:
            # A foreign name that was made to lead here would let its pages read ours. Any port is fine, as a
            # tunnel has its own.
            host = re.fullmatch(r"(\[[0-9a-f:.]+\]|[a-z0-9.-]+)(:[0-9]+)?", headers.get("host", "").lower())
            if host is not None and is_local(host[1].strip("[]")):  # no user before it, and no zone
                return None
            return _text(421, "the name in the address is not this machine's: open http://127.0.0.1")
        if _same(request.query_params.get("token", ""), self._token):
            welcome = _html(WELCOME, NOTHING)
            welcome.set_cookie(self._cookie, self._secret, httponly=True, samesite="strict")
            return welcome
        bearer = headers.get("authorization", "")
        # Headers are read as Latin-1, whatever was sent.
        if bearer.startswith("Bearer ") and _same(bearer[7:], self._token, "latin-1"):
            return None
        if _same(request.cookies.get(self._cookie, ""), self._secret):
            return None
        await asyncio.sleep(0.3)  # guessing takes its time
        needed = "a token is needed: open the link that was printed at the start"
        return _text(401, needed, **{"WWW-Authenticate": "Bearer"})

    def _slow(self, work: Callable[[Request], Response]) -> Callable[[Request], Any]:
        """Return an endpoint that works in another thread, one request at a time; others do not wait."""
        working = asyncio.Lock()

        async def answer(request: Request) -> Response:
            async with working:
                return await run_in_threadpool(work, request)

        return answer

    async def _take_mark(self, request: Request) -> Response:
        length = request.headers.get("content-length", "")
        # Beside chunks, a length says nothing about how much comes.
        if not length.isdecimal() or int(length) > BODY or "transfer-encoding" in request.headers:
            return _text(413, f"a mark is too long or has no Content-Length, expected at most {BODY} bytes")
        body = await request.body()
        if not self._same_origin(request):
            return _text(403, "the request does not come from the page of this server")
        if self._mark is None:
            return _text(403, "this page is read-only: it takes no marks")
        try:
            asked = json.loads(body)
            label, number = asked["label"], asked.get("step", asked.get("seq"))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return _text(400, 'a mark is not readable, expected {"step": number, "label": class or null}')
        if type(number) is not int or not 0 <= number < 2**53:
            return _text(400, "step is not a whole number from 0 on")
        if label is not None and not isinstance(label, (int, str)):
            return _text(400, "label is no class, expected a number or name, true, false or null")
        try:
            async with self._marking:
                return _text(200, await run_in_threadpool(self._mark, asked))
        except (ValueError, OSError) as error:
            return _text(400, str(error))

    @staticmethod
    def _same_origin(request: Request) -> bool:
        """Tell whether a page of this server asks: only its requests can carry the header and the type."""
        headers = request.headers
        kind, origin = headers.get("content-type", "").partition(";")[0].strip(), headers.get("origin")
        return (
            "x-tcuq" in headers
            and kind.lower() == "application/json"
            and headers.get("sec-fetch-site", "same-origin") == "same-origin"
            and (origin is None or origin.partition("://")[2] == headers.get("host", ""))
        )

    async def _follow(self, request: Request) -> Any:
        if self._following >= PAGES:
            return _text(503, "too many pages are open")
        seen = request.headers.get("last-event-id") or request.query_params.get("after", "")
        stream = StreamingResponse(self._events(seen), media_type="text/event-stream")

        async def answer(*channels: Any) -> None:
            self._following += 1  # before anything is waited for: pages that come at once all count
            try:
                await stream(*channels)
            finally:
                self._following -= 1

        return answer

    async def _events(self, seen: str) -> AsyncIterator[str]:
        """Give what is kept and then what comes, until the server or the feed is closed."""
        feed = self._feed
        assert feed is not None
        place, about, arrived, beat = feed.place(seen), None, None, 0.0
        while not self._closing:
            ended = feed.closed  # before the steps are taken: those that came before the end are sent
            if about != feed.about:  # a device may name its classes late
                about = dict(feed.about)
                hello = {**about, "marks": self._mark is not None}
                yield f"event: hello\ndata: {json.dumps(hello)}\n\n"
            if feed.arrived != arrived:
                arrived = feed.arrived
                place, message = feed.take(place)
                yield f"event: part\nid: {feed.name(place)}\ndata: {message}\n\n"
                beat = time.monotonic() + BEAT
            if ended:
                yield "event: end\ndata: {}\n\n"
                return
            if time.monotonic() > beat:
                yield "event: beat\ndata: {}\n\n"
                beat = time.monotonic() + BEAT
            await asyncio.sleep(PAUSE)


def is_local(name: str) -> bool:
    """Tell whether a name means this machine alone."""
    try:
        return name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


class _Connection(H11Protocol):
    """One request: turned away where there are too many, cut where it comes or is taken too slowly.

    No option of uvicorn limits how long a connection may ask for nothing: pyproject.toml bounds its version.
    """

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


class _Stopping(uvicorn.Server):
    """Waits for nobody when it stops: a page that takes nothing would hold it up."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await asyncio.sleep(2 * PAUSE)  # pages that follow are let go by then
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        await super().shutdown(sockets)


def serve(
    feed: Feed | None,
    *,
    host: str = "127.0.0.1",
    port: int = 8357,
    token: str | None = None,
    mark: Mark | None = None,
    metrics: Callable[[], str] | None = None,
    ready: Callable[[], str] | None = None,
    page: Page | None = None,
) -> Server:
    """Serve the live page of a feed, or another `page`, in a thread of its own.

    Other addresses than this machine's own need a `token`, asked of everyone who looks: once in the link,
    then as a cookie, or as `Authorization: Bearer`. `mark` takes the label of a step; without it the page has
    no marks. `metrics` returns the text of `/metrics`, `ready` why the work is not done now, "" where it is.

    >>> from urllib.request import urlopen
    >>> with serve(Feed({"title": "Door"}), port=0) as server, urlopen(server.url) as answer:
    ...     answer.status
    200
    """
    if not 0 <= port <= 65535:
        raise wrong_value("port", port, "0 to 65535")
    if not token and not is_local(host):
        raise wrong_value("host", host, "a token with it (TCUQ_TOKEN): others than this machine could look")
    return Server(feed, page, token or None, mark, metrics, ready, host, _listening(host, port))


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
