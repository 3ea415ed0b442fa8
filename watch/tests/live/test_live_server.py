"""The server of the pages: who is let in, what is answered, and a stream that loses and doubles nothing."""

from __future__ import annotations

import http.client
import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from typing import Any

import pytest
from live_fake import Marks, about, filled, served, steps_of
from refusals import refused

from tcuq_watch.pages import server as server_module
from tcuq_watch.pages.feed import Feed
from tcuq_watch.pages.server import Server, serve

MARK = {"Content-Type": "application/json", "X-Tcuq": "1"}
BODY = b'{"step": 1, "label": 2}'


class Client:
    """One request a connection, as the server answers."""

    def __init__(self, port: int) -> None:
        self.port = port

    def __call__(
        self, path: str, headers: dict[str, str] | None = None, method: str = "GET", body: Any = None
    ) -> tuple[int, dict[str, str], str]:
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)) as connection:
            connection.request(method, path, body=body, headers=headers or {})
            answer = connection.getresponse()
            return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read().decode()

    def mark(self, step: int, label: int | None, **more: str) -> tuple[int, str]:
        headers = {**MARK, **{name.replace("_", "-"): value for name, value in more.items()}}
        status, _, text = self("/mark", headers, "POST", json.dumps({"step": step, "label": label}))
        return status, text


class Stream(ExitStack):
    """The events of `/feed`."""

    def __init__(self, port: int, path: str = "/feed", **headers: str) -> None:
        super().__init__()
        connection = self.enter_context(closing(http.client.HTTPConnection("127.0.0.1", port, timeout=20)))
        connection.request("GET", path, headers=headers)
        self.answer = self.enter_context(connection.getresponse())

    def event(self, kind: str = "") -> dict[str, Any]:
        told: dict[str, Any] = {}
        while True:
            line = self.answer.readline().decode()
            assert line, "the stream ended"
            if line.strip():
                name, _, value = line.rstrip("\n").partition(": ")
                told[name] = value
            elif not kind or told["event"] == kind:
                return {**told, "data": json.loads(told["data"])}


def numbers(part: dict[str, Any]) -> list[int]:
    first = part["data"]["first"]
    return list(range(first, first + part["data"]["count"]))


@pytest.fixture
def site() -> Iterator[tuple[Feed, Server, Marks, Client]]:
    feed, _ = filled(100)
    server, marks = served(feed)
    with server:
        yield feed, server, marks, Client(server.port)


@pytest.fixture(scope="module")
def victim() -> Iterator[tuple[Marks, Client]]:
    """A server for all attacks that leave it as it was."""
    server, marks = served(filled(100)[0])
    with server:
        yield marks, Client(server.port)


def sent(path: str = "/", method: str = "GET", body: bytes = b"", **headers: str) -> bytes:
    """Return a request as it goes over the wire."""
    lines = {"Host": "localhost", "Connection": "close", "Content-Length": str(len(body))}
    lines |= {name.replace("_", "-"): value for name, value in headers.items()}
    head = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in lines.items()), "", ""]
    return "\r\n".join(head).encode() + body


def mark(body: bytes = BODY, **headers: str) -> bytes:
    return sent("/mark", "POST", body, **{"Content_Type": "application/json", "X_Tcuq": "1", **headers})


ATTACKS: dict[str, tuple[bytes, set[int]]] = {
    # DNS rebinding: a foreign name leads here.
    **{
        f"{path} as {host}": (sent(path, Host=host), {421})
        for path in ("/", "/feed", "/metrics")
        for host in ("evil.example", "evil.example:8357", "localhost.evil.example", "192.168.1.7", "",
                     "evil@localhost", "evil:x@127.0.0.1:80", "[::1%25evil]", "[::1%1]:80", "localhost:1:2")
    },
    "a mark as evil.example": (mark(Host="evil.example"), {421}),
    # Pages of others fetch.
    **{
        f"{path} from {where}": (sent(path, Sec_Fetch_Site=where, Sec_Fetch_Mode="no-cors"), {403})
        for path in ("/", "/feed", "/metrics")
        for where in ("cross-site", "same-site")
    },
    # Pages of others mark.
    "no header of ours": (sent("/mark", "POST", BODY, Content_Type="application/json"), {403}),
    "a form": (mark(Content_Type="text/plain"), {403}),
    "foreign origin": (mark(Origin="http://evil.example"), {403}),
    "no origin": (mark(Origin="null"), {403}),
    "broken origin": (mark(Origin="http://["), {403}),
    "cross-site mark": (mark(Sec_Fetch_Site="cross-site"), {403}),
    "same-site mark": (mark(Sec_Fetch_Site="same-site"), {403}),
    "navigated mark": (mark(Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate"), {403}),
    # Marks that make no sense.
    **{
        f"mark {body[:30]!r}": (mark(body), {400})
        for body in (b"", b"nonsense", b"[]", b'{"step": 1}', b'{"step": "1", "label": 2}', b"[" * 4000,
                     b'{"step": -1, "label": 2}', b'{"step": true, "label": 2}', b"\xff\xfe",
                     b'{"step": 1.5, "label": null}', b'{"step": 1, "label": 1e99}',
                     b'{"step": 99999999999999999999, "label": 1}')
    },
    # Bodies too large, or of no known length.
    "large body": (mark(Content_Length="5000"), {413}),
    "endless body": (mark(Content_Length="9" * 30), {400, 413}),
    "negative body": (mark(Content_Length="-5"), {400, 413}),
    "chunks": (mark(b"5\r\nhello\r\n0\r\n\r\n", Transfer_Encoding="chunked"), {413}),
    "two lengths": (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n", {400}),
    "broken chunks": (b"POST /mark HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", {400}),
    # Methods and paths.
    **{
        method: (sent("/", method), {405}) for method in ("PUT", "DELETE", "OPTIONS", "TRACE", "NONSENSE")
    },
    "marks by link": (sent("/mark"), {405}),
    "marks elsewhere": (sent("/feed", "POST", BODY, X_Tcuq="1"), {405}),
    **{
        f"path {path[:20]}": (sent(path), {404})
        for path in ("http://[", "//[", "/%00", "/../../etc/passwd", "*", "/feed/", "/%ff%fe<script>")
    },
    "long query": (sent("/?" + "&" * 9000), {200}),
    "long path": (sent("/" + "x" * 70_000), {400, 404}),
    "many headers": (sent("/", **{f"X_{k}": "1" * 200 for k in range(100)}), {200, 400}),
    # What is no HTTP: version 0.9 has no headers, and what was sent would come back as a page.
    "version 0.9": (b"GET /\r\n\r\n", {400}),
    "a page as method": (b"<script>1</script> x y z\r\n\r\n", {400}),
    "no version": (b"GET / HTTP/x\r\n\r\n", {400}),
    "no host": (b"GET / HTTP/1.1\r\n\r\n", {400}),
    "two hosts": (b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n", {400}),
    "folded header": (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: a\x00b\r\n\r\n", {400}),
    "TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(300) + b"\r\n\r\n", {400}),
}  # fmt: skip


@pytest.mark.parametrize("name", ATTACKS)
def test_attacks_are_refused_with_the_safe_headers(victim: tuple[Marks, Client], name: str) -> None:
    marks, client = victim
    request, expected = ATTACKS[name]
    with socket.create_connection(("127.0.0.1", client.port), timeout=20) as link:
        link.sendall(request)
        answer = b"".join(iter(lambda: link.recv(65536), b""))
    status, *lines = answer.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    assert status.startswith("HTTP/1.1 ") and int(status[9:12]) in expected
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy and "*" not in policy and "http" not in policy
    assert headers["x-content-type-options"] == "nosniff" and headers["x-frame-options"] == "DENY"
    assert headers["cache-control"] == "no-store" and headers["referrer-policy"] == "no-referrer"
    assert "access-control-allow-origin" not in headers and "server" not in headers
    assert not marks


def test_what_is_asked_for_is_answered(site: Any) -> None:
    _, server, marks, ask = site
    for own in (f"localhost:{server.port}", "127.0.0.1:9999", "[::1]:1", "LOCALHOST"):
        assert ask("/", {"Host": own})[0] == 200
    assert ask("/", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"})[0] == 200
    assert ask("/metrics", {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors"})[0] == 200
    _, headers, page = ask("/")
    assert not any(word in page for word in ("http:", "https:", "//cdn", "@import", "onclick", " style="))
    assert not re.search(r"url\((?!#hatch-)", page)
    assert "script-src 'sha256-" in headers["content-security-policy"]
    _, headers, metrics = ask("/metrics")
    assert metrics == "tcuq_steps_total 7\n" and "version=0.0.4" in headers["content-type"]
    assert ask.mark(5, 3) == (200, "step 5: true class 3, written to door.csv\n")
    own = f"http://127.0.0.1:{server.port}"
    assert ask.mark(7, None, Origin=own, Sec_Fetch_Site="same-origin")[0] == 200
    assert marks == [(5, 3), (7, None)]
    assert ask.mark(13, 0)[0] == 400  # `Marks` refuses that one


def test_a_token_is_asked_of_everyone() -> None:
    server, marks = served(filled(10)[0], host="0.0.0.0", token='sécret "; x')
    with server:
        ask = Client(server.port)
        assert "?token=s%C3%A9cret" in server.url and "0.0.0.0" not in server.url
        began = time.monotonic()
        for path in ("/", "/feed", "/metrics", "/?token=wrong", "/favicon.ico"):
            status, headers, text = ask(path, {"Cookie": "tcuq_1=x; ;;=", "Authorization": "Bearer nonsense"})
            assert status == 401 and "default-src 'none'" in headers["content-security-policy"]
            assert "sécret" not in text and "set-cookie" not in headers
        assert time.monotonic() - began >= 5 * 0.3  # guessing takes its time
        assert ask("/mark", MARK, "POST", BODY)[0] == 401
        status, headers, text = ask("/" + server.url.split("/", 3)[3])
        cookie = headers["set-cookie"]
        assert status == 200 and cookie.startswith(f"tcuq_{server.port}=")
        assert "httponly" in cookie.lower() and "samesite=strict" in cookie.lower()
        # Neither the page nor the cookie hold the token, and the browser goes on to a link without it.
        assert "cret" not in text + cookie and 'content="0;url=/"' in text
        kept = {"Cookie": cookie.split(";")[0], "Host": "pi.local"}
        assert ask("/", kept)[0] == 200 and ask.mark(1, 2, **kept)[0] == 200
        bearer = "Bearer " + 'sécret "; x'.encode().decode("latin-1")
        assert ask("/metrics", {"Authorization": bearer})[0] == 200
    assert marks == [(1, 2)]


def test_probes_need_no_token_and_tell_nothing_else() -> None:
    why = ["", "the source is not connected"]
    server, _ = served(filled(10)[0], host="0.0.0.0", token="secret", ready=lambda: why[0])
    with server:
        ask = Client(server.port)
        there = {"Host": "10.0.0.7", "Sec-Fetch-Site": "cross-site"}
        assert [ask(path, there)[::2] for path in ("/health", "/ready")] == [(200, "ok\n"), (200, "ready\n")]
        why.reverse()
        assert ask("/ready", there)[::2] == (503, "the source is not connected\n")
        assert ask("/health/x")[0] == 401 and ask("/health", {}, "POST")[0] == 405


def test_where_it_listens() -> None:
    with serve(Feed(about()), port=0) as server, refused("busy"):
        assert Client(server.port).mark(1, 1)[0] == 403  # nobody takes marks
        assert Client(server.port)("/metrics")[0] == 404
        serve(Feed({}), port=server.port)
    with serve(Feed({}), port=server.port) as again:  # free again at once
        assert again.port == server.port
    for host in ("0.0.0.0", "::", "192.168.1.7", "pi.local", ""):  # others could look: a token is needed
        with refused("value", "host"):
            serve(Feed({}), host=host, port=0, token="")
    with refused("value", "port"):
        serve(Feed({}), port=70_000)
    with refused("failed"):
        serve(Feed({}), host="no.such.name.invalid", port=0, token="x")
    if socket.has_ipv6:
        with serve(Feed({}), host="::1", port=0) as server:
            connection = http.client.HTTPConnection("::1", server.port, timeout=20)
            connection.request("GET", "/")
            assert server.url.startswith("http://[::1]:") and connection.getresponse().status == 200
            connection.close()


def test_a_stream_begins_with_everything_and_goes_on(site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "BEAT", 0.2)
    feed, server, *_ = site
    with Stream(server.port) as stream:
        assert stream.answer.getheader("Content-Type", "").startswith("text/event-stream")
        hello = stream.event()
        assert hello["event"] == "hello" and hello["data"]["title"] == about()["title"]
        assert numbers(stream.event("part")) == list(range(100))
        feed.add_steps(100, steps_of(1), 1.0)
        part = stream.event("part")
        assert numbers(part) == [100]
        feed.about["names"] = ["late"]  # a device may name its classes late
        assert stream.event("hello")["data"]["names"] == ["late"]
        stream.event("beat")
    feed.add_steps(101, steps_of(30), 1.0)
    feed.add_remark("note", "while away", 130)
    for path, headers in (("/feed", {"Last-Event-ID": part["id"]}), (f"/feed?after={part['id']}", {})):
        with Stream(server.port, path, **headers) as back:  # who comes back misses and doubles nothing
            missed = back.event("part")
            assert numbers(missed) == list(range(101, 131))
            assert [remark["text"] for remark in missed["data"]["remarks"]] == ["while away"]
            if path != "/feed":
                feed.close()
                back.event("end")


def test_a_page_that_takes_nothing_holds_nobody_up(site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "SEND_SECONDS", 0.5)
    feed, server, _, ask = site
    slow = socket.socket()
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    slow.connect(("127.0.0.1", server.port))
    slow.sendall(b"GET /feed HTTP/1.1\r\nHost: localhost\r\n\r\n")
    longest = 0.0
    with Stream(server.port) as quick:
        for following in range(100, 120_100, 3000):
            began = time.perf_counter()
            feed.add_steps(following, steps_of(3000), 1.0)
            longest = max(longest, time.perf_counter() - began)
            while numbers(quick.event("part"))[-1] != following + 2999:
                pass
    assert longest < 0.5 and ask("/")[0] == 200
    slow.settimeout(1.0)  # it was cut, whatever it missed
    with suppress(ConnectionResetError):
        while slow.recv(1 << 20):
            pass
    slow.close()


@pytest.mark.parametrize(
    "start",
    [
        b"GET / HTTP/1.1\r\nX-Long: ",
        b"POST /mark HTTP/1.1\r\nHost: localhost\r\nX-Tcuq: 1\r\n"
        b"Content-Type: application/json\r\nContent-Length: 999\r\n\r\n",
    ],
)
def test_requests_that_drip_in_are_cut_off(site: Any, monkeypatch: pytest.MonkeyPatch, start: bytes) -> None:
    monkeypatch.setattr(server_module, "REQUEST_SECONDS", 0.5)
    feed, server, *_ = site
    with Stream(server.port) as stream:  # a stream lives longer than a request may take
        stream.event("part")
        began = time.monotonic()
        dripping = socket.create_connection(("127.0.0.1", server.port), timeout=20)
        dripping.send(start)
        with closing(dripping), pytest.raises(OSError):
            for _ in range(400):
                dripping.send(b"a")
                time.sleep(0.02)
        assert 0.3 < time.monotonic() - began < 2.5
        feed.add_steps(100, steps_of(1), 1.0)
        assert numbers(stream.event("part")) == [100]


def test_connections_and_pages_are_limited(site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "CONNECTIONS", 5)
    monkeypatch.setattr(server_module, "PAGES", 3)
    _, server, _, ask = site
    with ExitStack() as held:
        assert ask("/metrics")[0] == 200, "it answers before the first connection is held"
        # All at once: those that ask for nothing are cut after a while.
        place = ("127.0.0.1", server.port)
        links = [held.enter_context(socket.create_connection(place, timeout=20)) for _ in range(12)]
        assert [link.recv(12) for link in links[6:]] == [b"HTTP/1.1 503"] * 6
    for _ in range(2):  # those that went make room
        time.sleep(0.3)
        with ExitStack() as held:
            for _ in range(3):
                held.enter_context(Stream(server.port)).event("part")
            assert held.enter_context(Stream(server.port)).answer.status == 503
            assert ask("/metrics")[0] == 200
    monkeypatch.setattr(server_module, "CONNECTIONS", 50)
    time.sleep(0.3)
    with ExitStack() as held:  # nor do more come in at once than one after the other
        links = [held.enter_context(socket.create_connection(place, timeout=20)) for _ in range(20)]
        for link in links:
            link.sendall(b"GET /feed HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert sorted(link.recv(12) for link in links) == [b"HTTP/1.1 200"] * 3 + [b"HTTP/1.1 503"] * 17


def test_a_slow_page_holds_up_neither_metrics_nor_marks() -> None:
    asked, done = threading.Event(), threading.Event()

    def slow(_: str) -> tuple[str, str]:
        asked.set()
        return str(done.wait(20)), ""

    server, marks = served(filled(10)[0], page=slow)
    with server, ThreadPoolExecutor() as pool:
        ask = Client(server.port)
        page = pool.submit(ask, "/")
        assert asked.wait(20)
        assert ask("/metrics")[0] == 200 and ask.mark(5, 3)[0] == 200 and marks == [(5, 3)]
        done.set()
        assert page.result()[2] == "True"


def test_it_stops_within_two_seconds_whoever_looks(site: Any) -> None:
    feed, server, *_ = site
    feed.add_steps(100, steps_of(20_000), 1.0)
    with Stream(server.port) as stream, Stream(server.port):
        idle = socket.create_connection(("127.0.0.1", server.port))
        stream.event("part")
        began = time.monotonic()
        server.close()
        server.close()
        assert time.monotonic() - began < 2.5
        with pytest.raises(OSError):
            socket.create_connection(("127.0.0.1", server.port), timeout=2)
        idle.close()


def test_an_error_behind_the_page_is_told_and_harms_nothing() -> None:
    def broken(*_: object) -> str:
        raise RuntimeError("no figures")

    server, _ = served(Feed(about(title="\udc80")), metrics=broken, mark=broken)
    with server:
        ask = Client(server.port)
        assert ask.mark(1, 1) == (500, "RuntimeError: no figures\n")
        status, headers, text = ask("/metrics")
        assert (status, text) == (500, "RuntimeError: no figures\n") and "x-frame-options" in headers
        assert ask("/")[0] == 200
