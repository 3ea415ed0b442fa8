"""The live server: who is let in, what is answered, and a stream that loses and doubles nothing."""

from __future__ import annotations

import http.client
import json
import re
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest
from live_fake import Marks, about, filled, served
from refusals import refused

from tcuq_watch.pages import handler as handler_module
from tcuq_watch.pages import server as server_module
from tcuq_watch.pages.feed import Feed
from tcuq_watch.pages.server import Server, serve

MARK = {"Content-Type": "application/json", "X-Tcuq": "1"}


class Client:
    """One request a connection, as the server answers."""

    def __init__(self, port: int) -> None:
        self.port = port

    def __call__(
        self, path: str, headers: dict[str, str] | None = None, method: str = "GET", body: Any = None
    ) -> tuple[int, dict[str, str], str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request(method, path, body=body, headers=headers or {})
            answer = connection.getresponse()
            return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read().decode()
        finally:
            connection.close()

    def mark(self, body: Any, **more: str) -> tuple[int, Any]:
        headers = {**MARK, **{name.replace("_", "-"): value for name, value in more.items()}}
        status, _, text = self(
            "/mark", headers, "POST", body if isinstance(body, bytes) else json.dumps(body)
        )
        return status, json.loads(text)


class Stream:
    """The events of `/feed`."""

    def __init__(self, port: int, path: str = "/feed", **headers: str) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        self.connection.request("GET", path, headers={k.replace("_", "-"): v for k, v in headers.items()})
        self.answer = self.connection.getresponse()

    def event(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while True:
            line = self.answer.readline().decode()
            assert line, "the stream ended"
            if not line.strip():
                return {**found, "data": json.loads(found["data"])}
            name, _, value = line.rstrip("\n").partition(": ")
            found[name] = value

    def part(self) -> dict[str, Any]:
        while True:
            found = self.event()
            if found["event"] == "part":
                return found

    def close(self) -> None:
        self.answer.close()
        self.connection.close()


def numbers(part: dict[str, Any]) -> list[int]:
    return [n for first, count in part["data"]["runs"] for n in range(first, first + count)]


@pytest.fixture
def site() -> Iterator[tuple[Feed, Server, Marks, Client]]:
    feed, _ = filled(100)
    server, marks = served(feed)
    with server:
        yield feed, server, marks, Client(server.port)


def test_every_answer_is_guarded(site: Any) -> None:
    _, _, _, ask = site
    for path in ("/", "/about", "/metrics", "/nowhere", "/favicon.ico"):
        _, headers, _ = ask(path)
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy, path
        assert "unsafe" not in policy and "*" not in policy and "http" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"
        assert "python" not in headers["server"].lower()
    status, _, text = ask("/")
    assert status == 200
    assert not any(word in text for word in ("http:", "https:", "//cdn", "@import", "onclick", " style="))
    assert not re.search(r"url\((?!#hatch-)", text)
    assert "script-src 'sha256-" in ask("/")[1]["content-security-policy"]
    assert ask("/nowhere")[0] == 404
    assert json.loads(ask("/about")[2])["title"] == about()["title"]
    assert ask("/metrics")[2] == "tcuq_steps_total 7\n"
    assert ask("/metrics")[1]["content-type"].startswith("text/plain; version=0.0.4")


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "TRACE", "NONSENSE"])
def test_other_methods_are_refused_with_the_same_guard(site: Any, method: str) -> None:
    status, headers, _ = site[3]("/", method=method)
    assert status == 501 and "default-src 'none'" in headers["content-security-policy"]
    assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8357", "localhost.evil.example", "192.168.1.7", ""]
)
def test_a_foreign_name_in_the_address_is_refused(site: Any, host: str) -> None:
    _, server, marks, ask = site
    assert ask("/feed", {"Host": host})[0] == 421
    assert ask("/", {"Host": host})[0] == 421
    assert ask("/mark", {**MARK, "Host": host}, "POST", b'{"step": 1, "label": 2}')[0] == 421
    assert not marks
    for own in (f"localhost:{server.port}", "127.0.0.1:9999", "[::1]:1", "LOCALHOST"):
        assert ask("/", {"Host": own})[0] == 200


def test_pages_of_others_cannot_fetch_but_may_link(site: Any) -> None:
    _, _, _, ask = site
    for path in ("/feed", "/about", "/metrics", "/"):
        for where in ("cross-site", "same-site"):
            assert ask(path, {"Sec-Fetch-Site": where, "Sec-Fetch-Mode": "no-cors"})[0] == 403
    assert ask("/", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"})[0] == 200
    assert ask("/about", {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors"})[0] == 200


@pytest.mark.parametrize(
    "path", ["http://[", "//[", "/%00", "/../../etc/passwd", "*", "/feed/", "/?" + "&" * 9000]
)
def test_strange_paths_are_answered(site: Any, path: str) -> None:
    raw = socket.create_connection(("127.0.0.1", site[1].port), timeout=20)
    raw.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    assert raw.recv(12)[9:] in (b"404", b"200")
    raw.close()


def test_marks_are_taken_from_our_page_alone(site: Any) -> None:
    _, server, marks, ask = site
    assert ask.mark({"step": 5, "label": 3}) == (200, {"text": "step 5: true class 3, written to door.csv"})
    assert ask.mark({"step": 6, "label": None})[1]["text"].startswith("step 6: wrong=1")
    own = f"http://127.0.0.1:{server.port}"
    assert ask.mark({"step": 7, "label": 0}, Origin=own, Sec_Fetch_Site="same-origin")[0] == 200
    assert marks == [(5, 3), (6, None), (7, 0)]
    body = b'{"step": 1, "label": 2}'
    for headers in (
        {"Content-Type": "application/json"},
        {"X-Tcuq": "1", "Content-Type": "text/plain"},
        {**MARK, "Origin": "http://evil.example"},
        {**MARK, "Origin": "null"},
        {**MARK, "Origin": "http://["},
        {**MARK, "Sec-Fetch-Site": "cross-site"},
        {**MARK, "Sec-Fetch-Site": "same-site"},
    ):
        assert ask("/mark", headers, "POST", body)[0] == 403, headers
    assert ask("/mark")[0] == 404
    assert ask("/feed", MARK, "POST", body)[0] == 404
    assert len(marks) == 3


@pytest.mark.parametrize(
    "body",
    [b"", b"nonsense", b"[]", b'{"step": 1}', b'{"step": "1", "label": 2}', b'{"step": -1, "label": 2}',
     b'{"step": true, "label": 2}', b'{"step": 1.5, "label": null}', b'{"step": 1, "label": 1e99}',
     b"[" * 4000, b"\xff\xfe", b'{"step": 99999999999999999999, "label": 1}'],
)  # fmt: skip
def test_marks_that_make_no_sense_are_one_line(site: Any, body: bytes) -> None:
    _, _, marks, ask = site
    status, told = ask.mark(body)
    assert status == 400 and told["error"] and "\n" not in told["error"]
    assert not marks


def test_read_only_takes_no_marks() -> None:
    feed, _ = filled(3, read_only=True)
    server, marks = served(feed)
    with server:
        assert Client(server.port).mark({"step": 1, "label": 1})[0] == 403
    with serve(Feed(about()), port=0) as other:
        assert Client(other.port).mark({"step": 1, "label": 1})[0] == 403
        assert Client(other.port)("/metrics")[0] == 404
    assert not marks


def test_large_and_unmeasured_bodies_are_refused(site: Any) -> None:
    _, _, marks, ask = site
    assert ask("/mark", {**MARK, "Content-Length": "5000"}, "POST", b"")[0] == 413
    assert ask("/mark", {**MARK, "Content-Length": "9" * 30}, "POST", b"")[0] == 413
    assert ask("/mark", {**MARK, "Content-Length": "-5"}, "POST", b"")[0] == 413
    assert (
        ask("/mark", {**MARK, "Transfer-Encoding": "chunked"}, "POST", b"5\r\nhello\r\n0\r\n\r\n")[0] == 413
    )
    assert ask("/" + "x" * 70_000)[0] == 414
    assert ask("/", {f"X-{k}": "1" for k in range(150)})[0] == 431
    assert not marks


def test_a_token_is_asked_of_everyone() -> None:
    feed, _ = filled(10)
    server, marks = served(feed, host="0.0.0.0", token='sécret "; x')
    with server:
        ask = Client(server.port)
        assert "?token=s%C3%A9cret" in server.url and "0.0.0.0" not in server.url
        for path in ("/", "/feed", "/about", "/metrics", "/?token=wrong", "/favicon.ico"):
            status, headers, text = ask(path)
            assert status == 401 and "default-src 'none'" in headers["content-security-policy"]
            assert "sécret" not in text and "set-cookie" not in headers
        assert ask("/mark", MARK, "POST", b'{"step": 1, "label": 2}')[0] == 401
        path = "/" + server.url.split("/", 3)[3]
        status, headers, text = ask(path)
        cookie = headers["set-cookie"]
        assert status == 200 and "HttpOnly" in cookie and "SameSite=Strict" in cookie
        # Neither the page nor the cookie hold the token, and the browser goes on to a link without it.
        assert "cret" not in text + cookie and 'content="0;url=/"' in text
        kept = {"Cookie": cookie.split(";")[0], "Host": "pi.local"}
        assert ask("/", kept)[0] == 200
        assert ask.mark({"step": 1, "label": 2}, **kept)[0] == 200
        bearer = "Bearer " + 'sécret "; x'.encode().decode("latin-1")
        assert ask("/metrics", {"Cookie": "tcuq_1=x; ;;=", "Authorization": "Bearer nonsense"})[0] == 401
        assert ask("/metrics", {"Authorization": bearer})[0] == 200
    assert marks == [(1, 2)]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.7", "pi.local", ""])
def test_other_addresses_need_a_token(host: str) -> None:
    with refused("value", "host"):
        serve(Feed({}), host=host, port=0)


def test_a_taken_port_is_one_line_that_names_it() -> None:
    with serve(Feed({}), port=0) as server:
        with refused("busy") as told:
            serve(Feed({}), port=server.port)
        assert "\n" not in str(told.value)
    with serve(Feed({}), port=server.port) as again:  # free again at once
        assert again.port == server.port
    for bad in (
        {"port": 70_000},
        {"port": -1},
        {"token": ""},
        {"host": "no.such.name.invalid", "token": "x"},
    ):
        with pytest.raises(ValueError, match=r"^[^\n]+$"):
            serve(Feed({}), **{"port": 0, **bad})  # type: ignore[arg-type]
    with refused("missing"):
        serve(None)


def test_a_stream_begins_with_everything_and_goes_on(site: Any) -> None:
    feed, server, _, _ = site
    stream = Stream(server.port)
    assert stream.answer.getheader("Content-Type", "").startswith("text/event-stream")
    hello = stream.event()
    assert hello["event"] == "hello" and hello["data"]["about"]["title"] == about()["title"]
    assert hello["data"]["known"] is False and hello["data"]["marks"] is True
    first = stream.part()
    assert numbers(first) == list(range(100)) and first["data"]["lost"] == 0
    feed.add_steps(100, {"risk": [0.5]})
    feed.add_remark("lost", "gone", 101)
    second = stream.part()
    assert numbers(second) == [100]
    feed.close()
    while stream.event()["event"] != "end":
        pass
    stream.close()


@pytest.mark.parametrize("by_header", [True, False])
def test_a_page_that_comes_back_misses_and_doubles_nothing(site: Any, by_header: bool) -> None:
    feed, server, _, _ = site
    stream = Stream(server.port)
    seen, name = numbers(part := stream.part()), part["id"]
    stream.close()
    feed.add_steps(100, {"risk": [0.5] * 30})
    feed.add_remark("note", "while away", 130)
    back = (
        Stream(server.port, Last_Event_ID=name) if by_header else Stream(server.port, f"/feed?after={name}")
    )
    assert back.event()["data"]["known"] is True
    part = back.part()
    assert seen + numbers(part) == list(range(130))
    assert [r["text"] for r in part["data"]["remarks"]] == ["while away"]
    back.close()


def test_a_page_that_takes_nothing_holds_nobody_up(site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handler_module, "SEND_SECONDS", 0.5)
    feed, server, _, ask = site
    slow = socket.socket()
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    slow.connect(("127.0.0.1", server.port))
    slow.sendall(b"GET /feed HTTP/1.1\r\nHost: localhost\r\n\r\n")
    quick = Stream(server.port)
    quick.part()
    longest, following = 0.0, 100
    for _ in range(40):
        began = time.perf_counter()
        feed.add_steps(following, {"risk": [0.5] * 3000, "time": [1.0] * 3000})
        longest = max(longest, time.perf_counter() - began)
        following += 3000
        while numbers(quick.part())[-1] != following - 1:
            pass
    assert longest < 0.5
    assert ask("/about")[0] == 200
    quick.close()
    slow.close()


def test_requests_that_drip_in_are_cut_off(site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "REQUEST_SECONDS", 0.6)
    _, server, _, ask = site
    dripping = socket.create_connection(("127.0.0.1", server.port), timeout=20)
    began = time.monotonic()
    with pytest.raises(OSError):
        for letter in b"GET / HTTP/1.1\r\nX-Long: " + b"a" * 400:
            dripping.send(bytes([letter]))
            time.sleep(0.02)
    assert time.monotonic() - began < 5
    dripping.close()
    stream = Stream(server.port)  # a stream lives longer than a request may take
    stream.part()
    time.sleep(1.0)
    site[0].add_steps(100, {"risk": [0.5]})
    assert numbers(stream.part()) == [100]
    stream.close()
    assert ask("/about")[0] == 200


def test_connections_are_limited(site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "CONNECTIONS", 5)
    _, server, _, ask = site
    held = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(5)]
    time.sleep(0.3)
    assert ask("/about")[0] == 503
    for one in held:
        one.close()
    limit = time.monotonic() + 5
    while ask("/about")[0] != 200:
        assert time.monotonic() < limit
        time.sleep(0.05)


def test_pages_are_limited_and_leave_room_for_the_rest(site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    _, server, _, ask = site
    streams = [Stream(server.port) for _ in range(server_module.PAGES)]
    for stream in streams:
        stream.part()
    turned_away = Stream(server.port)
    assert turned_away.answer.status == 503
    turned_away.close()
    assert ask("/metrics")[0] == 200
    for stream in streams:
        stream.close()


@pytest.mark.parametrize(
    "request_line", [b"GET /about\r\n\r\n", b"<script>1</script> x y z\r\n\r\n", b"GET / HTTP/x\r\n\r\n"]
)
def test_no_answer_is_without_headers(request_line: bytes) -> None:
    """Version 0.9 of HTTP has none: what a stranger sent would come back as a page."""
    feed, _ = filled(5)
    server, _ = served(feed)
    try:
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as link:
            link.sendall(request_line)
            answer = b""
            while piece := link.recv(4096):
                answer += piece
    finally:
        server.close()
    assert answer.startswith(b"HTTP/1.1 ") and b"X-Content-Type-Options: nosniff" in answer
    assert b"Content-Security-Policy: default-src 'none'" in answer


def test_an_error_behind_the_page_is_told_and_harms_nothing() -> None:
    def broken() -> str:
        raise RuntimeError("no figures")

    def worse(step: int, label: int | None) -> str:
        raise KeyError("log")

    feed = Feed(about(level=float("nan"), title="\udc80"))
    server, _ = served(feed, metrics=broken, mark=worse)
    with server:
        assert Client(server.port).mark({"step": 1, "label": 1}) == (500, {"error": "KeyError: 'log'"})
        assert json.loads(Client(server.port)("/about")[2])["level"] is None
        stream = Stream(server.port)
        assert stream.event()["data"]["about"]["level"] is None
        stream.close()
        assert Client(server.port)("/metrics")[::2] == (500, "RuntimeError: no figures\n")
        assert Client(server.port)("/about")[0] == 200
