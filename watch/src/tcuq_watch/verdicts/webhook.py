"""A POST of JSON to an address: alarms to a webhook, metrics to a collector; nobody waits for it."""

from __future__ import annotations

import http.client
import json
import queue
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
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


def check_url(option: str, url: str) -> str:
    """Return the host of an address; refuse what no request line can hold."""
    try:
        parts = urlsplit(url)
        host = parts.hostname if parts.port != 0 else None
    except ValueError:
        host = None
    odd = not url.isascii() or any(each <= " " or each == "\x7f" for each in url)
    if host is None or parts.scheme not in ("http", "https") or odd:
        raise InputError("value", f"{option} is {url!r}, expected http://... or https://... without spaces")
    return host


class Poster:
    """Send messages to an address, from a thread of its own.

    The second attempt comes after `first` seconds; each further one waits twice as long. `tell` is called
    with a sentence when a message was delivered or given up; with `quiet`, of the first one that fails.
    """

    def __init__(
        self,
        option: str,
        url: str,
        tell: Callable[[str], None],
        first: float = 1.0,
        tries: int = TRIES,
        quiet: bool = False,
    ) -> None:
        self._host = check_url(option, url)
        self._name, self._url, self._tell = option.lstrip("-"), url, tell
        self._first, self._tries, self._quiet = first, tries, quiet
        self._messages: queue.Queue[tuple[str, Mapping[str, Any]]] = queue.Queue(WAITING)
        self._closing, self._full, self._failing = threading.Event(), False, False
        self._thread = threading.Thread(target=self._run, name=f"tcuq {self._name}", daemon=True)
        self._thread.start()

    def __call__(self, what: str, message: Mapping[str, Any]) -> None:
        """Send a message soon; returns at once."""
        try:
            self._messages.put_nowait((what, message))
        except queue.Full:
            if not self._full:
                self._tell(f"{self._name}: {WAITING} messages wait; further ones are left out")
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
                what, message = self._messages.get(timeout=0.1)
            except queue.Empty:
                if self._closing.is_set():
                    return
                continue
            why = self._deliver(json.dumps(message).encode())
            if why is None and not self._quiet:
                self._tell(f"{self._name}: {what} was sent to {self._host}")
            elif why is not None and not (self._quiet and self._failing):
                self._tell(f"{self._name}: {what} could not be sent to {self._host} ({why})")
            self._failing = why is not None

    def _deliver(self, body: bytes) -> str | None:
        """Return why a message was given up, None if it was delivered."""
        delay, why = self._first, ""
        for attempt in range(self._tries):
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
                return None
        return why

    def _post(self, body: bytes) -> None:
        headers = {"Content-Type": "application/json", "User-Agent": f"tcuq/{VERSION}"}
        request = urllib.request.Request(self._url, body, headers, method="POST")
        with _OPENER.open(request, timeout=TIMEOUT) as answer:
            answer.read(1024)
