"""Which troubles are sent to people, and when: at once, not again and again, and when they are over."""

from __future__ import annotations

import contextlib
import http.client
import json
import math
import queue
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tcuq._version import VERSION
from tcuq.base.atomic_files import write_whole
from tcuq.base.errors import InputError, one_line

from ..engine.model_version import ModelVersion
from .versions import by_version

HOLD_OFF = 300.0  # seconds after a message in which a trouble that comes back is not told again
LISTED = 20  # devices that a message names; all are counted
BEGINNINGS = {"alarm": "", "reminder": "still ", "cleared": "no longer "}
TIMEOUT, TRIES, WAITING = 5.0, 5, 100  # seconds and attempts a message, and messages that wait at most


class Alerts:
    """Decide what to send of troubles that come, last and go.

    A new trouble is told at once, one that comes back within `hold_off` seconds of its last message when
    they are over. It is told again every `remind` seconds while it lasts, and once when it is over. `path`
    keeps what was told, so that a restart tells nothing twice.
    """

    def __init__(
        self,
        path: Path | None = None,
        *,
        hold_off: float = HOLD_OFF,
        remind: float = math.inf,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._path, self._hold_off, self._remind, self._clock = path, hold_off, remind, clock
        self._sent: dict[str, dict[str, tuple[bool, float]]] = {}  # kind, name: whether it lasts, and when
        if path is not None:
            with contextlib.suppress(OSError, ValueError, TypeError, AttributeError):
                for kind, names in json.loads(path.read_text(encoding="utf-8")).items():
                    self._sent[kind] = {name: (bool(on), float(last)) for name, (on, last) in names.items()}

    def lasting(self, kind: str) -> set[str]:
        """Return what was told and is not over."""
        return {name for name, (on, _) in self._sent.get(kind, {}).items() if on}

    def look(self, kind: str, names: Collection[str]) -> dict[str, list[str]]:
        """Take what is in trouble now; return what to send, by event."""
        now, sent = self._clock(), self._sent.setdefault(kind, {})
        events: dict[str, list[str]] = {}
        for name in names:
            on, last = sent.get(name, (False, -math.inf))
            # The clock may have been set back.
            if abs(now - last) >= (self._remind if on else self._hold_off):
                events.setdefault("reminder" if on else "alarm", []).append(name)
        for name in sent.keys() - set(names):
            on, last = sent[name]
            if on:
                events.setdefault("cleared", []).append(name)
            elif abs(now - last) >= self._hold_off:
                del sent[name]
        for event, some in events.items():
            some.sort()
            sent.update(dict.fromkeys(some, (event != "cleared", now)))
        if events and self._path is not None:
            with contextlib.suppress(OSError):  # a full disk must not end what is watched
                write_whole(self._path, json.dumps(self._sent))
        return dict(sorted(events.items()))


def fleet_messages(
    alerts: Alerts, models: Mapping[str, ModelVersion], summary: Mapping[str, Any], silence: bool
) -> Iterator[dict[str, Any]]:
    """Yield what to send of a fleet, by its summary; without `silence`, not who is silent."""
    alarm, views = summary["alarm"], by_version(list(models.values()), summary["time"], None)
    silent = {name for view in views for name in view.called(view.silent)}
    named = {name for view in views for name in view.called(view.named)}
    kinds = {
        "unhealthy": {"the fleet"} if alarm["unhealthy"] else set(),
        "degraded": named | alerts.lasting("degraded") & silent,  # silence is no recovery
        **({"silent": silent} if silence else {}),
    }
    for kind, names in kinds.items():
        for event, some in alerts.look(kind, names).items():
            more = f" and {len(some) - LISTED:,} more" if len(some) > LISTED else ""
            yield {
                "event": event,
                "kind": kind,
                "devices": [] if kind == "unhealthy" else some[:LISTED],
                "count": len(some),
                "total": len(names),
                "in_alarm": alarm["devices"],
                "of": summary["devices"],
                "text": f"{BEGINNINGS[event]}{kind}: {', '.join(some[:LISTED])}{more}",
            }


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Take a redirect for a failure: a receiver does not choose where requests of this machine go."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirects)


def check_url(option: str, url: str) -> str:
    """Return the host of an address; refuse what no request line can hold."""
    with contextlib.suppress(ValueError):
        parts = urlsplit(url)
        fits = parts.port != 0 and parts.scheme in ("http", "https") and url.isascii() and url.isprintable()
        if parts.hostname and fits and " " not in url:
            return parts.hostname
    raise InputError("value", f"{option} is {url!r}, expected http://... or https://... without spaces")


class Poster:
    """Send JSON to an address, from a thread of its own; nobody waits for it.

    The second attempt comes after `first` seconds; each further one waits twice as long. `tell` hears of each
    message that was delivered or given up; with `quiet`, of the first one that fails.
    """

    def __init__(
        self,
        option: str,
        url: str,
        tell: Callable[[str], None],
        first: float = 1.0,
        tries: int = TRIES,
        quiet: bool = False,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._name, self._host, self._tell = option.lstrip("-"), check_url(option, url), tell
        self._first, self._tries, self._quiet = first, tries, quiet
        own = {"Content-Type": "application/json", "User-Agent": f"tcuq/{VERSION}"}
        self._request = partial(urllib.request.Request, url, headers=own | dict(headers or {}), method="POST")
        self._messages: queue.Queue[tuple[str, Mapping[str, Any]]] = queue.Queue(WAITING)
        self._closing, self._full, self._failing = threading.Event(), False, False
        self._thread = threading.Thread(target=self._run, name=f"tcuq {self._name}", daemon=True)
        self._thread.start()

    def __call__(self, what: str, message: Mapping[str, Any]) -> None:
        """Send a message soon; returns at once."""
        try:
            self._messages.put_nowait((what, message))
            self._full = False
        except queue.Full:
            if not self._full:
                self._tell(f"{self._name}: {WAITING} messages wait; further ones are left out")
            self._full = True

    def close(self, wait: float = 2.0) -> None:
        """Give what waits a last chance of `wait` seconds."""
        self._closing.set()
        self._thread.join(wait)

    def _run(self) -> None:
        while not (self._closing.is_set() and self._messages.empty()):
            with contextlib.suppress(queue.Empty):
                what, message = self._messages.get(timeout=0.1)
                why = self._deliver(json.dumps(message).encode())
                if why is None and not self._quiet:
                    self._tell(f"{self._name}: {what} was sent to {self._host}")
                elif why is not None and not (self._quiet and self._failing):
                    self._tell(f"{self._name}: {what} could not be sent to {self._host} ({why})")
                self._failing = why is not None

    def _deliver(self, body: bytes) -> str | None:
        """Return why a message was given up, None if it was delivered."""
        why = ""
        for attempt in range(self._tries):
            if attempt and self._closing.wait(self._first * 2 ** (attempt - 1)):
                break
            try:
                with _OPENER.open(self._request(data=body), timeout=TIMEOUT) as answer:
                    answer.read(1024)
                return None
            except urllib.error.HTTPError as error:
                error.close()
                why = f"status {error.code}"
                if 300 <= error.code < 400:
                    why += ", a redirect, which is not followed: give the address that it leads to"
                if 300 <= error.code < 500 and error.code not in (408, 429):
                    break  # asking again would not help
            except (OSError, ValueError, http.client.HTTPException) as error:
                why = one_line(str(getattr(error, "reason", error)), 100)
        return why
