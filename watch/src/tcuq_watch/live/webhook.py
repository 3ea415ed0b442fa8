"""A POST of JSON when an alarm is raised and when it ends; the stream never waits for it."""

from __future__ import annotations

import http.client
import json
import queue
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from tcuq._version import VERSION
from tcuq.base.errors import InputError, one_line

TIMEOUT, TRIES, WAITING = 5.0, 5, 100
"""Seconds for one attempt, attempts a message, and messages that wait at most."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Take a redirect for a failure: a receiver does not choose where requests of this machine go."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirects)


class Webhook:
    """Send alarms to an address, from a thread of its own.

    The second attempt comes after `first` seconds; each further one waits twice as long. `tell` is called
    with a sentence when a message was delivered or given up.
    """

    def __init__(
        self, url: str, about: dict[str, Any], tell: Callable[[str], None], first: float = 1.0
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or _odd(url):
            raise InputError(
                "value", f"--webhook is {url!r}, expected http://... or https://... without spaces"
            )
        self._url, self._about, self._tell, self._first = url, about, tell, first
        self._host = parts.hostname
        self._messages: queue.Queue[dict[str, Any]] = queue.Queue(WAITING)
        self._closing, self._full = threading.Event(), False
        self._thread = threading.Thread(target=self._run, name="tcuq webhook", daemon=True)
        self._thread.start()

    def __call__(self, status: dict[str, Any]) -> None:
        """Send a message soon; returns at once."""
        try:
            self._messages.put_nowait(status)
        except queue.Full:
            if not self._full:
                self._tell(f"webhook: {WAITING} messages wait; further ones are left out")
            self._full = True
        else:
            self._full = False

    def close(self, wait: float = 2.0) -> None:
        """Give what waits a last chance of `wait` seconds."""
        self._closing.set()
        self._thread.join(wait)

    def _run(self) -> None:
        while True:
            try:
                status = self._messages.get(timeout=0.1)
            except queue.Empty:
                if self._closing.is_set():
                    return
                continue
            self._deliver(json.dumps({**self._about, **status}).encode(), status.get("event", "message"))

    def _deliver(self, body: bytes, what: str) -> None:
        delay, why = self._first, ""
        for attempt in range(TRIES):
            if attempt:
                if self._closing.wait(delay):
                    break
                delay *= 2
            try:
                self._post(body)
            except urllib.error.HTTPError as error:
                why = f"status {error.code}"
                error.close()
                if 300 <= error.code < 400:
                    why += ", a redirect, which is not followed: give the address that it leads to"
                    break
                if 400 <= error.code < 500 and error.code not in (408, 429):
                    break  # asking again would not help
            except (OSError, ValueError, http.client.HTTPException) as error:
                why = one_line(str(getattr(error, "reason", error)), 100)
            else:
                self._tell(f"webhook: {what} was sent to {self._host}")
                return
        self._tell(f"webhook: {what} could not be sent to {self._host} ({why})")

    def _post(self, body: bytes) -> None:
        headers = {"Content-Type": "application/json", "User-Agent": f"tcuq/{VERSION}"}
        request = urllib.request.Request(self._url, body, headers, method="POST")
        with _OPENER.open(request, timeout=TIMEOUT) as answer:
            answer.read(1024)


def _odd(url: str) -> bool:
    """Tell whether an address has what no request line can hold."""
    return not url.isascii() or any(each <= " " or each == "\x7f" for each in url)
