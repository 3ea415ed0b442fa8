"""Requests to the live server: who may ask, what is answered, and the stream that a page follows."""

from __future__ import annotations

import ipaddress
import json
import math
import secrets
import time
from collections.abc import Callable
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from tcuq.base.errors import one_line

from .live_page import live_page, own_policy

if TYPE_CHECKING:
    from .server import Site, View


def as_json(value: Any) -> str:
    """Return JSON that every browser reads: numbers that are not finite become null."""
    try:
        return json.dumps(value, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(value))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def same(given: bytes, expected: str) -> bool:
    """Compare in a time that tells nothing about where two secrets differ."""
    return secrets.compare_digest(given, expected.encode())


def is_whole(value: object) -> bool:
    """Tell whether a value from JSON is a whole number from 0 on that a browser can hold."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53


def own_name(host: str) -> bool:
    """Tell whether a Host header names this machine by an address of its own.

    Any port is fine: a tunnel has its own.
    """
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


BODY = 4096
"""Bytes of a request's body at most."""

PAUSE = 0.05
"""Seconds between two messages to a page at least."""

BEAT = 5.0
"""Seconds after which a page hears that the server is there, when nothing else is told."""

WATCH = 0.2
"""Seconds after which a quiet stream looks whether the server stops."""

SEND_SECONDS = 30.0
"""A page that takes nothing for so long is let go; it comes back by itself and gets what it missed."""

HEADER = "X-Tcuq"
"""A header that marks must carry: a browser sends it for pages of this server alone."""

SAFE = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}
NOTHING = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

JSON, TEXT, HTML = "application/json", "text/plain; charset=utf-8", "text/html; charset=utf-8"

# The browser goes on by itself: a redirect would count as coming from where the link stood, and a strict
# cookie is not sent then.
WELCOME = (
    '<!doctype html><meta http-equiv="refresh" content="0;url=/"><title>tcuq</title><a href="/">Go on</a>'
)


class Handler(BaseHTTPRequestHandler):
    """Answers one request; each has a connection and a thread of its own."""

    protocol_version = "HTTP/1.1"
    timeout = 10.0
    server_version = "tcuq"
    sys_version = ""

    @property
    def site(self) -> Site:
        """What all requests share."""
        return self.server.site  # type: ignore[attr-defined, no-any-return]

    def do_GET(self) -> None:
        """Answer a page, data, or the stream."""
        self.close_connection = True
        self.server.arrived(self.connection)  # type: ignore[attr-defined]
        if not self._let_in():
            return
        path = self._url()[0]
        known: dict[str, Callable[[], None]] = {"/about": self._about, "/favicon.ico": self._nothing}
        if self.site.metrics is not None:
            known["/metrics"] = self._metrics
        if self.site.feed is not None:
            known |= {"/": self._page, "/feed": self._follow}
        for view in self.site.views:
            known[f"/{view.name}"] = lambda view=view: self._view(view)  # type: ignore[misc]
            known[f"/{view.name}/data"] = lambda view=view: self._view_data(view)  # type: ignore[misc]
        if "/" not in known:
            known["/"] = known[f"/{self.site.views[0].name}"]
        found = known.get(path)
        if found is None:
            self._answer(404, TEXT, f"there is nothing at {path[:80]}\n")
            return
        try:
            found()
        except OSError:
            raise  # the connection broke
        except Exception as error:
            self._answer(500, TEXT, f"{type(error).__name__}: {error}\n")

    def do_POST(self) -> None:
        """Take a mark."""
        self.close_connection = True
        body = self._body()
        self.server.arrived(self.connection)  # type: ignore[attr-defined]
        if body is None or not self._let_in():
            return
        if self._url()[0] != "/mark":
            self._answer(404, TEXT, "only /mark takes anything\n")
        elif not self._same_origin():
            self._refuse(403, "the request does not come from the page of this server")
        elif self.site.mark is None or (self.site.feed is not None and self.site.feed.about.get("read_only")):
            self._refuse(403, "this page is read-only: it takes no marks")
        else:
            self._mark(body)

    def _body(self) -> bytes | None:
        given = self.headers.get("Content-Length", "")
        if not (given.isascii() and given.isdecimal()) or int(given[:9]) > BODY or len(given) > 9:
            self._refuse(413, f"Content-Length is {given[:20] or 'missing'}, expected at most {BODY} bytes")
            return None
        body = self.rfile.read(int(given))
        return body if len(body) == int(given) else None

    def _mark(self, body: bytes) -> None:
        assert self.site.mark is not None
        try:
            asked = json.loads(body)
            step, label = asked["step"], asked["label"]
        except (ValueError, KeyError, TypeError, RecursionError):
            self._refuse(400, 'a mark is not readable, expected {"step": number, "label": number or null}')
            return
        if not is_whole(step) or not (label is None or is_whole(label)):
            self._refuse(400, "step or label is no whole number from 0 on")
            return
        try:
            with self.site.marking:
                shown = self.site.mark(step, label)
        except (ValueError, OSError) as error:
            self._refuse(400, str(error))
            return
        except Exception as error:
            self._refuse(500, f"{type(error).__name__}: {error}")
            return
        self._answer(200, JSON, as_json({"text": shown}))

    def _about(self) -> None:
        views = [{"name": view.name, "title": view.title} for view in self.site.views]
        about = self.site.feed.about if self.site.feed is not None else {}
        self._answer(200, JSON, as_json({**about, "views": views, "marks": self._marks()}))

    def _marks(self) -> bool:
        feed = self.site.feed
        return self.site.mark is not None and feed is not None and not feed.about.get("read_only")

    def _metrics(self) -> None:
        assert self.site.metrics is not None
        self._answer(200, "text/plain; version=0.0.4; charset=utf-8", self.site.metrics())

    def _nothing(self) -> None:
        self._answer(204, TEXT, "")

    def _page(self) -> None:
        html, policy = live_page([(view.name, view.title) for view in self.site.views])
        self._answer(200, HTML, html, policy)

    def _view(self, view: View) -> None:
        with self.site.working:
            html = view.html()
        self._answer(200, HTML, html, own_policy(html) or NOTHING)

    def _view_data(self, view: View) -> None:
        # One at a time: many open pages must not make the work of many.
        with self.site.working:
            data = as_json(view.data())
        self._answer(200, JSON, data)

    def _follow(self) -> None:
        """Send what is kept and then what comes, until the page goes away."""
        if not self.site.pages.acquire(blocking=False):
            self._answer(503, TEXT, "too many pages are open\n")
            return
        try:
            self._stream()
        finally:
            self.site.pages.release()

    def _stream(self) -> None:
        feed = self.site.feed
        assert feed is not None
        asked = self.headers.get("Last-Event-ID") or self._url()[1].get("after", [""])[0]
        at = feed.place(asked)
        self.connection.settimeout(SEND_SECONDS)
        self._head(200, "text/event-stream; charset=utf-8", NOTHING)
        self.end_headers()
        known, about = at is not None, dict(feed.about)
        self._event("hello", {**feed.hello(known), "marks": self._marks()})
        # The first answer is always given, so that a page knows that it has everything.
        first, beat = True, time.monotonic() + BEAT
        while not self.site.closing.is_set():
            part = feed.take(at)
            if about != feed.about:  # a device may name its classes late
                about = dict(feed.about)
                self._event("hello", {**feed.hello(known), "marks": self._marks()})
            if part or first:
                at, first = part.at, False
                self._send(f"event: part\nid: {feed.name(at)}\ndata: {part.message()}\n\n")
                beat = time.monotonic() + BEAT
            if feed.closed:
                self._event("end", {})
                return
            time.sleep(PAUSE)
            if not feed.wait(sum(part.at), WATCH) and time.monotonic() > beat:
                self._event("beat", {})
                beat = time.monotonic() + BEAT

    def _event(self, kind: str, told: dict[str, Any]) -> None:
        self._send(f"event: {kind}\ndata: {as_json(told)}\n\n")

    def _send(self, text: str) -> None:
        self.wfile.write(text.encode())

    def _let_in(self) -> bool:
        """Check who asks: the name that was used, and the token."""
        site = self.site
        # Pages of others may link here, but not fetch from here, not even without seeing what they get.
        foreign = self.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin")
        if foreign and self.headers.get("Sec-Fetch-Mode") != "navigate":
            self._answer(403, TEXT, "the request does not come from the page of this server\n")
            return False
        # A foreign name that was made to lead here would let its pages read ours; with a token they cannot.
        if site.token is None and not own_name(self.headers.get("Host", "")):
            self._answer(421, TEXT, "the name in the address is not this machine's: open http://127.0.0.1\n")
            return False
        if site.token is None:
            return True
        name, value = site.cookie
        given = self._url()[1].get("token", [""])[0]
        if given and same(given.encode("utf-8", "replace"), site.token):
            cookie = f"{name}={value}; Path=/; HttpOnly; SameSite=Strict"
            self._answer(200, HTML, WELCOME, NOTHING, {"Set-Cookie": cookie})
            return False
        bearer = self.headers.get("Authorization", "")
        # Headers are read as Latin-1, whatever was sent.
        if bearer.startswith("Bearer ") and same(bearer[7:].encode("latin-1", "replace"), site.token):
            return True
        if same(self._cookie(name).encode("utf-8", "replace"), value):
            return True
        time.sleep(0.3)  # guessing takes its time
        more = {"WWW-Authenticate": "Bearer"}
        self._answer(
            401, TEXT, "a token is needed: open the link that was printed at the start\n", NOTHING, more
        )
        return False

    def _url(self) -> tuple[str, dict[str, list[str]]]:
        try:
            url = urlsplit(self.path)
            return url.path, parse_qs(url.query)
        except ValueError:
            return "", {}

    def _cookie(self, name: str) -> str:
        try:
            found = SimpleCookie(self.headers.get("Cookie", "")).get(name)
        except CookieError:
            return ""
        return found.value if found is not None else ""

    def _same_origin(self) -> bool:
        if self.headers.get(HEADER) is None or self.headers.get_content_type() != JSON:
            return False
        if self.headers.get("Sec-Fetch-Site", "same-origin") != "same-origin":
            return False
        origin = self.headers.get("Origin")
        return origin is None or origin.partition("://")[2] == self.headers.get("Host", "")

    def _refuse(self, status: int, why: str) -> None:
        self._answer(status, JSON, as_json({"error": why}))

    def _answer(
        self, status: int, kind: str, text: str, policy: str = NOTHING, more: dict[str, str] | None = None
    ) -> None:
        body = text.encode("utf-8", "replace")
        self._head(status, kind, policy)
        for name, value in (more or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _head(self, status: int, kind: str, policy: str) -> None:
        # A request of version 0.9, or one that could not be read, would be answered without any header.
        self.request_version = self.protocol_version
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Security-Policy": policy, **SAFE}.items():
            self.send_header(name, value)
        self.send_header("Connection", "close")

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer a request that could not be read, in plain text."""
        self.close_connection = True
        self._answer(code, TEXT, f"{one_line(message or explain or 'not understood', 200)}\n")

    def log_message(self, *_: object) -> None:
        """Say nothing: the terminal belongs to the session."""
