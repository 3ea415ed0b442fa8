"""What the server of the pages answers, and to whom; every answer has the same safe headers."""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import json
import secrets
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route, Router
from starlette.types import Message, Receive, Scope, Send

from tcuq.base.errors import one_line

from .feed import COLUMNS, Feed
from .live_page import live_page

Page = Callable[[str], tuple[str, str]]
"""Takes what is asked for with `?find=` and returns HTML and its content security policy."""

PAGES = 48
"""Pages that follow the feed at a time; the other connections stay free for everything else."""

BODY = 4096
"""Bytes of a request's body at most."""

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


def as_json(value: Any) -> str:
    """Return JSON that every browser reads: numbers that are not finite become null."""
    return json.dumps(json.loads(json.dumps(value), parse_constant=lambda _: None))


def _text(status: int, text: str, **headers: str) -> Response:
    return Response(f"{text}\n".encode("utf-8", "replace"), status, headers, "text/plain")


def _html(html: str, policy: str) -> Response:
    headers = {"Content-Security-Policy": policy + UNFRAMED}
    return Response(html.encode("utf-8", "replace"), 200, headers, "text/html")


def _same(secret: str, expected: str, encoding: str = "utf-8") -> bool:
    """Compare in a time that tells nothing about where two secrets differ."""
    return secrets.compare_digest(secret.encode(encoding, "replace"), expected.encode())


class Site:
    """Answers requests; all run in the one thread of the server, slow work beside it."""

    def __init__(
        self,
        feed: Feed | None,
        page: Page | None,
        token: str | None,
        port: int,
        mark: Callable[[int, int | None], str] | None,
        metrics: Callable[[], str] | None,
    ) -> None:
        self.feed, self.token, self.port, self.mark = feed, token, port, mark
        self.closing, self.following = False, 0
        self._working = asyncio.Lock()
        self.cookie = f"tcuq_{port}"  # browsers share cookies between the ports of a machine
        self.secret = hashlib.sha256(f"tcuq live {token}".encode()).hexdigest()  # no token lies in a browser
        shown = page or (lambda _: live_page())
        routes = [
            Route("/", self._slow(lambda asked: _html(*shown(asked.query_params.get("find", ""))))),
            Route("/favicon.ico", lambda _: Response(status_code=204)),
        ]
        if metrics is not None:
            prometheus = "text/plain; version=0.0.4; charset=utf-8"
            routes.append(Route("/metrics", self._slow(lambda _: Response(metrics(), media_type=prometheus))))
        if feed is not None:
            routes += [Route("/feed", self._follow), Route("/mark", self._mark, methods=["POST"])]
        self._router = Router(routes, redirect_slashes=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, always with the safe headers."""

        async def send_safe(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SAFE.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
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
        if self.token is None:
            # A foreign name that was made to lead here would let its pages read ours. Any port is fine, as a
            # tunnel has its own.
            with suppress(ValueError):
                if is_local(urlsplit(f"//{headers.get('host', '')}").hostname or ""):
                    return None
            return _text(421, "the name in the address is not this machine's: open http://127.0.0.1")
        if _same(request.query_params.get("token", ""), self.token):
            welcome = _html(WELCOME, NOTHING)
            welcome.set_cookie(self.cookie, self.secret, httponly=True, samesite="strict")
            return welcome
        bearer = headers.get("authorization", "")
        # Headers are read as Latin-1, whatever was sent.
        if bearer.startswith("Bearer ") and _same(bearer[7:], self.token, "latin-1"):
            return None
        if _same(request.cookies.get(self.cookie, ""), self.secret):
            return None
        await asyncio.sleep(0.3)  # guessing takes its time
        needed = "a token is needed: open the link that was printed at the start"
        return _text(401, needed, **{"WWW-Authenticate": "Bearer"})

    def _slow(self, work: Callable[[Request], Response]) -> Callable[[Request], Any]:
        """Return an endpoint that works in another thread; one at a time, however many pages are open."""

        async def answer(request: Request) -> Response:
            async with self._working:
                return await run_in_threadpool(work, request)

        return answer

    async def _mark(self, request: Request) -> Response:
        length = request.headers.get("content-length", "")
        if not length.isdecimal() or int(length) > BODY:
            shown = length[:20] or "missing"
            return _text(413, f"Content-Length is {shown}, expected at most {BODY} bytes")
        body = await request.body()
        if not self._same_origin(request):
            return _text(403, "the request does not come from the page of this server")
        if self.mark is None:
            return _text(403, "this page is read-only: it takes no marks")
        try:
            asked = json.loads(body)
            step, label = asked["step"], asked["label"]
        except (ValueError, KeyError, TypeError, RecursionError):
            return _text(400, 'a mark is not readable, expected {"step": number, "label": number or null}')
        if not all(type(n) is int and 0 <= n < 2**53 for n in (step, 0 if label is None else label)):
            return _text(400, "step or label is no whole number from 0 on")
        try:
            async with self._working:
                return _text(200, await run_in_threadpool(self.mark, step, label))
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

    async def _follow(self, request: Request) -> Response:
        if self.following >= PAGES:
            return _text(503, "too many pages are open")
        seen = request.headers.get("last-event-id") or request.query_params.get("after", "")
        return StreamingResponse(self._events(seen), media_type="text/event-stream")

    async def _events(self, seen: str) -> AsyncIterator[str]:
        """Give what is kept and then what comes, until the server or the feed is closed."""
        feed = self.feed
        assert feed is not None
        place, about, arrived, beat = feed.place(seen), None, None, 0.0
        self.following += 1
        try:
            while not self.closing:
                ended = feed.closed  # before the steps are taken: those that came before the end are sent
                if about != feed.about:  # a device may name its classes late
                    about = dict(feed.about)
                    hello = {**about, "marks": self.mark is not None, "columns": list(COLUMNS.items())}
                    yield f"event: hello\ndata: {as_json(hello)}\n\n"
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
        finally:
            self.following -= 1


def is_local(name: str) -> bool:
    """Tell whether a name means this machine alone."""
    try:
        return name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
