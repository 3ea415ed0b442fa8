"""Chromium driven through its DevTools protocol, with the standard library alone."""

from __future__ import annotations

import base64
import json
import os
import shutil
import socket
import struct
import subprocess
import time
from pathlib import Path
from typing import Any
from urllib.request import urlopen

NAMES = ("chromium", "chromium-browser", "google-chrome")
CODES = {" ": "Space"}
# What a browser does with a key depends on its number, not on its name.
NUMBERS = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32}
KEPT = (
    *("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded", "Page.loadEventFired"),
    *("Network.requestWillBeSent", "Network.loadingFailed", "Network.responseReceived"),
)


class BrowserError(AssertionError):
    """The browser, or the page in it, did not do what was asked; a test fails with it."""


def browser_path() -> str | None:
    """Path of Chromium, or None."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class WebSocket:
    """Text messages over one connection: what RFC 6455 asks of a client, and no more."""

    def __init__(self, port: int, path: str) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(
            f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        self.stream = self.socket.makefile("rb")
        status = self.stream.readline()
        if b" 101 " not in status:
            raise BrowserError(f"the browser answered {status!r}, expected status 101")
        while self.stream.readline().strip():
            pass

    def send(self, text: str, kind: int = 1) -> None:
        """Send one message."""
        data, mask = text.encode(), os.urandom(4)
        size = len(data)
        head = bytes([0x80 | kind])
        if size < 126:
            head += bytes([0x80 | size])
        elif size < 1 << 16:
            head += bytes([0x80 | 126]) + struct.pack(">H", size)
        else:
            head += bytes([0x80 | 127]) + struct.pack(">Q", size)
        key = (mask * (size // 4 + 1))[:size]
        masked = (int.from_bytes(data, "big") ^ int.from_bytes(key, "big")).to_bytes(size, "big")
        self.socket.sendall(head + mask + masked)

    def receive(self, timeout: float) -> str:
        """Wait for one message; a ping is answered on the way."""
        self.socket.settimeout(timeout)
        parts = []
        while True:
            head = self.stream.read(2)
            if len(head) < 2:
                raise ConnectionError("the browser closed the connection")
            first, second = head
            size = second & 127
            if size >= 126:
                wide = 2 if size == 126 else 8
                size = int.from_bytes(self.stream.read(wide), "big")
            data = self.stream.read(size)
            if first & 15 == 9:
                self.send(data.decode("latin-1"), 10)
            elif first & 15 in (0, 1):
                parts.append(data)
                if first & 0x80:
                    return b"".join(parts).decode()
            else:
                raise ConnectionError("the browser closed the connection")

    def close(self) -> None:
        """Close the connection."""
        self.stream.close()
        self.socket.close()


class Tab:
    """One page in the browser."""

    patience = 30.0  # seconds that an answer may take

    def __init__(self, socket: WebSocket) -> None:
        self.socket, self.number = socket, 0
        self.events: list[dict[str, Any]] = []
        for part in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{part}.enable")

    def send(self, method: str, **params: Any) -> Any:
        """Call a method of the protocol; return its result."""
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": params}))
        while True:
            message = self._receive(self.patience)
            if message.get("id") == self.number:
                if "error" in message:
                    raise BrowserError(f"{method}: {message['error']}")
                return message["result"]

    def _receive(self, seconds: float) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(self.socket.receive(seconds))
        if message.get("method") in KEPT:
            self.events.append(message)
        return message

    def errors(self) -> list[str]:
        """Exceptions and broken policies so far; a connection that was cut is no error of the page."""
        self.js("0")
        told = [
            e["params"] for e in self.events if e["method"] in ("Runtime.exceptionThrown", "Log.entryAdded")
        ]
        entries = [params.get("entry", {"source": "", "level": "error"}) for params in told]
        texts = [
            json.dumps(params)[:600]
            for params, entry in zip(told, entries, strict=True)
            if entry["source"] != "network" and entry["level"] == "error"
        ]
        failed = self.js("document.documentElement.dataset.error || ''")
        return texts + ([failed] if failed else [])

    def js(self, text: str) -> Any:
        """Value of an expression in the page; promises are waited for."""
        found = self.send("Runtime.evaluate", expression=text, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in found:
            raise BrowserError(json.dumps(found["exceptionDetails"])[:600])
        return found["result"].get("value")

    def wait(self, text: str, seconds: float = 10) -> Any:
        """Wait until an expression is true; return its value."""
        limit = time.monotonic() + seconds
        while True:
            value = self.js(text)
            if value:
                return value
            if time.monotonic() >= limit:
                raise BrowserError(f"not within {seconds} s: {text}")
            time.sleep(0.03)

    def text(self, query: str) -> str:
        """Text of the first element that a selector finds."""
        return str(self.js(f"document.querySelector({json.dumps(query)}).textContent"))

    def open(self, url: str) -> None:
        """Open a page; it may still be loading on return."""
        self.send("Page.navigate", url=url)
        self.wait("document.documentElement !== null && location.href !== 'about:blank'")

    def load(self, url: str, seconds: float = 20) -> None:
        """Open a page and wait until all that it names is loaded; events before it are forgotten."""
        self.events.clear()
        self.send("Page.navigate", url=url)
        self.loaded(seconds)

    def loaded(self, seconds: float = 20) -> None:
        """Wait for the end of loading since the events were last cleared."""
        limit = time.monotonic() + seconds
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            if time.monotonic() >= limit:
                raise BrowserError(f"the page did not load within {seconds} s")
            self._receive(seconds)

    def size(self, width: int, height: int, phone: bool = False) -> None:
        """Set the size of the window, in CSS pixels."""
        self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height,
            deviceScaleFactor=2 if phone else 1, mobile=phone,
        )  # fmt: skip

    def media(self, **features: str) -> None:
        """Set media features such as prefers_color_scheme."""
        named = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.send("Emulation.setEmulatedMedia", features=named)

    def at(self, query: str, across: float = 0.5, down: float = 0.5) -> tuple[float, float]:
        """Point of the window at shares of an element's box."""
        box = self.js(
            f"(() => {{ const b = document.querySelector({json.dumps(query)}).getBoundingClientRect();"
            "return [b.left, b.top, b.width, b.height]; })()"
        )
        return box[0] + across * box[2], box[1] + down * box[3]

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        """Send one event of the mouse."""
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, query: str, across: float = 0.5, down: float = 0.5) -> None:
        """Click on an element."""
        x, y = self.at(query, across, down)
        self.mouse("mouseMoved", x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", buttons=1, clickCount=1)

    def key(self, key: str, shift: bool = False) -> None:
        """Press and release a key, named as in KeyboardEvent.key."""
        named = {"key": key, "code": CODES.get(key, key if len(key) > 1 else "")}
        more: dict[str, Any] = {**named, "modifiers": 8 if shift else 0}
        if key in NUMBERS:
            more["windowsVirtualKeyCode"] = NUMBERS[key]
        if len(key) == 1 or key == "Enter":
            more["text"] = "\r" if key == "Enter" else key
        self.send("Input.dispatchKeyEvent", type="keyDown" if "text" in more else "rawKeyDown", **more)
        more.pop("text", None)
        self.send("Input.dispatchKeyEvent", type="keyUp", **more)

    def screenshot(self, path: Path, whole: bool = False) -> None:
        """Write what the window shows, or the whole page, as a PNG."""
        taken = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(taken["data"]))


class Browser:
    """A browser without a window and with a folder of its own."""

    def __init__(self, folder: Path, offline: bool = False) -> None:
        found_browser = browser_path()
        if found_browser is None:
            raise FileNotFoundError("chromium is missing: install the Debian package chromium")
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        options += [
            "--no-first-run",
            "--disable-component-update",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
        ]
        options += ["--remote-debugging-port=0", "--window-size=1400,1000", f"--user-data-dir={folder}"]
        if offline:  # no name is found; what a page asks of the network fails at once and is still reported
            options += ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--no-proxy-server"]
        self.process = subprocess.Popen(
            [found_browser, *options, "about:blank"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        found, limit = folder / "DevToolsActivePort", time.monotonic() + 40
        while not (found.exists() and found.read_text().count("\n")):
            if self.process.poll() is not None:
                raise BrowserError("chromium ended at once")
            if time.monotonic() >= limit:
                self.process.kill()
                raise BrowserError("chromium did not start within 40 s")
            time.sleep(0.05)
        self.port = int(found.read_text().splitlines()[0])
        self.sockets: list[WebSocket] = []
        with urlopen(f"http://127.0.0.1:{self.port}/json/version", timeout=20) as answer:
            path = json.loads(answer.read())["webSocketDebuggerUrl"].split(str(self.port))[1]
        self.whole = self._socket(path)

    def _socket(self, path: str) -> WebSocket:
        self.sockets.append(WebSocket(self.port, path))
        return self.sockets[-1]

    def tab(self) -> Tab:
        """Open an empty page."""
        # A window of its own: a browser draws nothing in a tab that is hidden.
        params = {"url": "about:blank", "newWindow": True}
        self.whole.send(json.dumps({"id": 1, "method": "Target.createTarget", "params": params}))
        while True:
            message = json.loads(self.whole.receive(30))
            if message.get("id") == 1:
                return Tab(self._socket(f"/devtools/page/{message['result']['targetId']}"))

    def downloads(self, folder: Path) -> None:
        """Let pages download into a folder."""
        params = {"behavior": "allow", "downloadPath": str(folder)}
        self.whole.send(json.dumps({"id": 2, "method": "Browser.setDownloadBehavior", "params": params}))
        while json.loads(self.whole.receive(30)).get("id") != 2:
            pass

    def close(self) -> None:
        """End the browser."""
        for one in self.sockets:
            one.close()
        self.process.terminate()
        self.process.wait(timeout=20)
