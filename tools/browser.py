# SPDX-License-Identifier: MIT
"""The system's Chromium, driven by Playwright: for tests, pictures of our pages and checks of the site."""

from __future__ import annotations

import json
import shutil
import time
from typing import Any

from playwright.sync_api import Error, Page, Request, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = ("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars")


def browser_path() -> str | None:
    """Path of Chromium, or None."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Tab:
    """One page: short words for what our checks ask of it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.told: list[str] = []
        """Errors of scripts and of the console so far."""
        self.failed: list[str] = []
        """Requests that did not load."""
        self.asked: list[str] = []
        """Addresses that were asked for."""
        page.on("pageerror", lambda error: self.told.append(f"error in a script: {error}"))
        page.on("console", lambda said: self._console(said.type, said.text))
        page.on("request", lambda request: self.asked.append(request.url))
        page.on("requestfailed", self._lost)
        page.on(
            "response", lambda got: got.status < 400 or self.failed.append(f"status {got.status}: {got.url}")
        )

    def _console(self, kind: str, text: str) -> None:
        # What did not load is told as a request, and a connection that was cut is no error of the page.
        if kind in ("error", "assert") and not text.startswith("Failed to load resource"):
            self.told.append(f"error on the console: {text}")

    def _lost(self, request: Request) -> None:
        if request.failure != "net::ERR_ABORTED":
            self.failed.append(f"does not load ({request.failure}): {request.url}")

    def errors(self) -> list[str]:
        """Return errors and broken policies so far, and what the page noted of its own."""
        own = self.js("document.documentElement.dataset.error || ''")
        return [*self.told, *([own] if own else [])]

    def forget(self) -> None:
        """Forget what was told, failed and asked for so far."""
        for each in (self.told, self.failed, self.asked):
            each.clear()

    def js(self, text: str) -> Any:
        """Return the value of an expression in the page; promises are waited for."""
        return self.page.evaluate(text)

    def wait(self, text: str, seconds: float = 10) -> Any:
        """Wait until an expression is true, across pages too; return its value."""
        # Playwright's own waiting evaluates text in the page, which the policies of our pages forbid.
        limit = time.monotonic() + seconds
        while time.monotonic() < limit:
            try:
                if value := self.js(text):
                    return value
            except Error as error:
                if "Execution context was destroyed" not in error.message:
                    raise
            self.page.wait_for_timeout(30)
        raise AssertionError(f"not within {seconds} s: {text}")

    def text(self, query: str) -> str:
        """Return the text of the first element that a selector finds."""
        return str(self.js(f"document.querySelector({json.dumps(query)}).textContent"))

    def open(self, url: str) -> None:
        """Open a page; it may still be loading on return."""
        self.page.goto(url, wait_until="commit")

    def size(self, width: int, height: int) -> None:
        """Set the size of the window, in CSS pixels."""
        self.page.set_viewport_size({"width": width, "height": height})

    def at(self, query: str, across: float = 0.5, down: float = 0.5) -> tuple[float, float]:
        """Return the point of the window at shares of an element's box."""
        box = self.js(f"document.querySelector({json.dumps(query)}).getBoundingClientRect().toJSON()")
        return box["left"] + across * box["width"], box["top"] + down * box["height"]

    def point(self, x: float, y: float) -> None:
        """Move the mouse to a point of the window."""
        self.page.mouse.move(x, y)

    def click(self, query: str, across: float = 0.5, down: float = 0.5) -> None:
        """Click on an element, at a share of its box."""
        self.page.mouse.click(*self.at(query, across, down))

    def key(self, key: str, shift: bool = False) -> None:
        """Press and release a key, named as in KeyboardEvent.key."""
        self.page.keyboard.press(f"Shift+{key}" if shift else key)


class Browser:
    """A browser without a window; `close` ends it."""

    def __init__(self, offline: bool = False) -> None:
        path = browser_path()
        if path is None:
            raise FileNotFoundError("chromium is missing: install the Debian package chromium")
        # No name is found; what a page asks of the network fails at once and is still reported.
        rules = ("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",) if offline else ()
        self._driver = sync_playwright().start()
        self._browser = self._driver.chromium.launch(executable_path=path, args=[*OPTIONS, *rules])

    def tab(self, **context: Any) -> Tab:
        """Open an empty page; options are those of a context of Playwright."""
        return Tab(
            self._browser.new_context(**{"viewport": {"width": 1400, "height": 1000}, **context}).new_page()
        )

    def close(self) -> None:
        """End the browser."""
        self._browser.close()
        self._driver.stop()
