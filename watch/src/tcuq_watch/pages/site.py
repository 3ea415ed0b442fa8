"""What the server of the pages answers, and to whom; every answer has the same safe headers."""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import json
import secrets
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route, Router
from starlette.types import Message, Receive, Scope, Send

from tcuq.base.errors import InputError, one_line

from .feed import Feed
from .live_page import live_page

PAGES = 48
"""Pages that follow the feed at a time; the other connections stay free for everything else."""

BODY = 4096
"""Bytes of a request's body at most."""

PAUSE, BEAT = 0.05, 5.0
"""Seconds between two messages to a page, and until a quiet page hears that the server is there."""

NOTHING = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
SAFE = {
    "Content-Security-Policy": NOTHING,
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


@dataclass(frozen=True)
class View:
    """One more page of the server, at `/name`, with its data as JSON at `/name/data`."""

    name: str  # letters, digits and hyphens
    title: str
    html: Callable[[], tuple[str, str]]  # with its content security policy
    data: Callable[[str], dict[str, Any]]  # of what is asked for with `?find=`, "" for nothing

    def __post_init__(self) -> None:
        taken = ("feed", "about", "mark", "metrics")
        if not self.name.replace("-", "").isalnum() or not self.name.isascii() or self.name in taken:
            raise InputError(
                "value", f"name of a view is {self.name!r}, expected letters and digits, not {taken}"
            )

    def page(self, _: Request) -> Response:
        """Answer with the page."""
        return _page(*self.html())

    def answer(self, request: Request) -> Response:
        """Answer with data."""
        return _json(self.data(request.query_params.get("find", "")))


def as_json(value: Any) -> str:
    """Return JSON that every browser reads: numbers that are not finite become null."""
    try:
        return json.dumps(value, allow_nan=False)
    except ValueError:
        return json.dumps(json.loads(json.dumps(value), parse_constant=lambda _: None))


def _plain(status: int, text: str, **headers: str) -> Response:
    return Response(f"{text}\n".encode("utf-8", "replace"), status, headers, "text/plain")


def _json(value: Any, status: int = 200) -> Response:
    return Response(as_json(value), status, media_type="application/json")


def _page(html: str, policy: str) -> Response:
    unframed = {"Content-Security-Policy": f"{policy}; frame-ancestors 'none'"}
    return Response(html.encode("utf-8", "replace"), 200, unframed, "text/html")


def _event(kind: str, value: Any = None) -> str:
    return f"event: {kind}\ndata: {as_json(value or {})}\n\n"


def _same(given: str, expected: str, encoding: str = "utf-8") -> bool:
    """Compare in a time that tells nothing about where two secrets differ."""
    return secrets.compare_digest(given.encode(encoding, "replace"), expected.encode())


def _is_whole(value: object) -> bool:
    """Tell whether a value from JSON is a whole number from 0 on that a browser can hold."""
    return type(value) is int and 0 <= value < 2**53


class Site:
    """Answers requests; all run in the one thread of the server, slow work beside it."""

    def __init__(
        self,
        feed: Feed | None,
        token: str | None,
        port: int,
        mark: Callable[[int, int | None], str] | None,
        metrics: Callable[[], str] | None,
        views: Sequence[View],
    ) -> None:
        self.feed, self.token, self.port, self.views = feed, token, port, views
        self.closing, self.following = False, 0
        self.marks = mark is not None and feed is not None and not feed.about.get("read_only")
        self.mark = mark
        self._working, self._marking = asyncio.Lock(), asyncio.Lock()
        self.cookie = f"tcuq_{port}"  # browsers share cookies between the ports of a machine
        self.secret = hashlib.sha256(f"tcuq live {token}".encode()).hexdigest()  # no token lies in a browser
        get: dict[str, Callable[[Request], Any]] = {"/about": self._about, "/favicon.ico": self._nothing}
        if metrics is not None:
            prometheus = "text/plain; version=0.0.4; charset=utf-8"
            get["/metrics"] = self._slow(lambda _: Response(metrics(), media_type=prometheus))
        if feed is not None:
            get |= {"/": self._live_page, "/feed": self._follow}
        for view in views:
            get |= {f"/{view.name}": self._slow(view.page), f"/{view.name}/data": self._slow(view.answer)}
        if "/" not in get:
            get["/"] = get[f"/{views[0].name}"]
        routes = [Route(path, answer, methods=["GET"]) for path, answer in get.items()]
        routes.append(Route("/mark", self._mark, methods=["POST"]))
        self._router = Router(routes, redirect_slashes=False, default=self._nowhere)

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
            await _plain(500, one_line(f"{type(error).__name__}: {error}"))(scope, receive, send_safe)

    async def _refusal(self, request: Request) -> Response | None:
        """Check who asks: the page that asks, the name that was used, and the token."""
        headers = request.headers
        # Pages of others may link here, but not fetch from here, not even without seeing what they get.
        foreign = headers.get("sec-fetch-site", "none") not in ("none", "same-origin")
        if foreign and headers.get("sec-fetch-mode") != "navigate":
            return _plain(403, "the request does not come from the page of this server")
        if self.token is None:
            # A foreign name that was made to lead here would let its pages read ours.
            if is_local(_name_in(headers.get("host", ""))):
                return None
            return _plain(421, "the name in the address is not this machine's: open http://127.0.0.1")
        given = request.query_params.get("token", "")
        if given and _same(given, self.token):
            welcome = _page(WELCOME, "default-src 'none'; base-uri 'none'; form-action 'none'")
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
        return _plain(401, needed, **{"WWW-Authenticate": "Bearer"})

    @staticmethod
    async def _nowhere(scope: Scope, receive: Receive, send: Send) -> None:
        await _plain(404, f"there is nothing at {scope['path'][:80]}")(scope, receive, send)

    async def _nothing(self, _: Request) -> Response:
        return Response(status_code=204)

    async def _about(self, _: Request) -> Response:
        views = [{"name": view.name, "title": view.title} for view in self.views]
        about = self.feed.about if self.feed is not None else {}
        return _json({**about, "views": views, "marks": self.marks})

    async def _live_page(self, _: Request) -> Response:
        return _page(*live_page(tuple((view.name, view.title) for view in self.views)))

    def _slow(self, work: Callable[[Request], Response]) -> Callable[[Request], Any]:
        """Return an endpoint that works in another thread; one at a time, however many pages are open."""

        async def answer(request: Request) -> Response:
            async with self._working:
                return await run_in_threadpool(work, request)

        return answer

    async def _mark(self, request: Request) -> Response:
        length = request.headers.get("content-length", "")
        if not length.isdecimal() or int(length) > BODY:
            given = length[:20] or "missing"
            return _json({"error": f"Content-Length is {given}, expected at most {BODY} bytes"}, 413)
        body = await request.body()
        if not self._same_origin(request):
            return _json({"error": "the request does not come from the page of this server"}, 403)
        if self.mark is None or not self.marks:
            return _json({"error": "this page is read-only: it takes no marks"}, 403)
        try:
            asked = json.loads(body)
            step, label = asked["step"], asked["label"]
        except (ValueError, KeyError, TypeError, RecursionError):
            expected = 'a mark is not readable, expected {"step": number, "label": number or null}'
            return _json({"error": expected}, 400)
        if not _is_whole(step) or not (label is None or _is_whole(label)):
            return _json({"error": "step or label is no whole number from 0 on"}, 400)
        try:
            async with self._marking:
                return _json({"text": await run_in_threadpool(self.mark, step, label)})
        except (ValueError, OSError) as error:
            return _json({"error": str(error)}, 400)
        except Exception as error:
            return _json({"error": f"{type(error).__name__}: {error}"}, 500)

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
        return _Stream(self, request.headers.get("last-event-id") or request.query_params.get("after", ""))

    async def events(self, feed: Feed, seen: str) -> AsyncIterator[str]:
        """Give what is kept and then what comes, until the server or the feed is closed."""
        at, about, arrived, beat = feed.place(seen), None, -1, 0.0
        known = at is not None
        while not self.closing:
            ended = feed.closed  # before the steps are taken: those that came before the end are sent
            if about != feed.about:  # a device may name its classes late
                about = dict(feed.about)
                yield _event("hello", {**feed.hello(known), "marks": self.marks})
            if feed.arrived != arrived:
                part = feed.take(at)
                at, arrived = part.at, sum(part.at)
                yield f"event: part\nid: {feed.name(at)}\ndata: {part.message()}\n\n"
                beat = time.monotonic() + BEAT
            if ended:
                yield _event("end")
                return
            if time.monotonic() > beat:
                yield _event("beat")
                beat = time.monotonic() + BEAT
            await asyncio.sleep(PAUSE)


class _Stream(StreamingResponse):
    """The feed as server-sent events, for so many pages at a time."""

    def __init__(self, site: Site, seen: str) -> None:
        assert site.feed is not None
        super().__init__(site.events(site.feed, seen), media_type="text/event-stream")
        self._site = site

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._site.following >= PAGES:
            await _plain(503, "too many pages are open")(scope, receive, send)
            return
        self._site.following += 1
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._site.following -= 1


def _name_in(host: str) -> str:
    """Return the name in a Host header; any port is fine, as a tunnel has its own."""
    with suppress(ValueError):
        return urlsplit(f"//{host}").hostname or ""
    return ""


def is_local(name: str) -> bool:
    """Tell whether a name means this machine alone."""
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
