"""What `tcuq live` and `tcuq fleet run` tell other programs: a webhook, a collector of OpenTelemetry."""

from __future__ import annotations

import argparse
import math
import os
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote

from tcuq.cli.process import UsageError

EVERY, LOOK, SHARE = 30.0, 60.0, 0.02
"""Seconds between two sets of metrics, between two looks at a fleet without them, and part of the time that
looks may take."""

HEADERS = "OTEL_EXPORTER_OTLP_HEADERS"


def add_outlets(parser: Any, when: str) -> Any:
    """Declare the options."""
    group = parser.add_argument_group("notifications")
    option = group.add_argument
    option("--webhook", metavar="URL", help=f"POST JSON here when {when}, and when that is over")
    again = "with --webhook: send it again every N hours while it lasts (default: do not)"
    option("--remind-hours", type=float, metavar="N", help=again)
    collector = "send the figures of /metrics every 30 s to a collector of OpenTelemetry, such as"
    option("--otlp", metavar="URL", help=f"{collector} http://localhost:4318, with headers of {HEADERS}")
    return group


def check_outlets(args: argparse.Namespace) -> None:
    """Refuse options that cannot be, before anything is opened."""
    from ..live.home_assistant import broker
    from ..verdicts.alerts import check_url

    for option, url in (("--webhook", args.webhook), ("--otlp", args.otlp)):
        if url is not None:
            check_url(option, url)
    if args.otlp is not None:
        _headers()
    if getattr(args, "home_assistant", None) is not None:
        broker(args.home_assistant)
    if args.remind_hours is not None and args.webhook is None:
        raise UsageError("--remind-hours is given without --webhook")
    if args.remind_hours is not None and not 0 < args.remind_hours < 1e6:
        raise UsageError(f"--remind-hours is {args.remind_hours:g}, expected a number above 0")


def _headers() -> dict[str, str]:
    """Return what a collector asks for, such as a key; values are secret and never shown."""
    pairs = [pair.partition("=") for pair in os.environ.get(HEADERS, "").split(",") if pair.strip()]
    headers = {name.strip(): unquote(value.strip()) for name, _, value in pairs}
    words = "".join([*headers, *headers.values()])
    if "" in headers or not words.isascii() or not words.isprintable():
        raise UsageError(f"{HEADERS} is not a list of headers, such as api-key=VALUE,tenant=VALUE")
    return headers


class Outlets:
    """Sends alarms and metrics of a fleet; `say` hears what came of that, in another thread."""

    def __init__(
        self, args: argparse.Namespace, fleet: Any, about: dict[str, str], say: Callable[[str], None]
    ) -> None:
        from ..verdicts.alerts import Alerts, Poster

        self._fleet, self._about, self._due = fleet, about, 0.0
        self._webhook = self._otlp = self._home = None  # type: Any
        if args.webhook is not None:
            self._webhook = Poster("--webhook", args.webhook, say)
            self._alerts = Alerts(fleet.folder / "alerts.json", remind=3600 * (args.remind_hours or math.inf))
        if args.otlp is not None:
            url = args.otlp.rstrip("/").removesuffix("/v1/metrics") + "/v1/metrics"
            self._otlp = Poster("--otlp", url, say, tries=1, quiet=True, headers=_headers())
            self._began = fleet.about.setdefault("counted_since", round(time.time(), 3))

    def _alarm(self, message: Mapping[str, Any]) -> None:
        self._webhook(message["event"], {**self._about, **message, "sent": round(time.time(), 3)})

    def _metrics(self, **figures: Any) -> None:
        from ..verdicts.metrics import metrics, otlp_metrics

        if self._otlp is not None:
            instance = next(iter(self._about.values()))
            self._otlp("metrics", otlp_metrics(metrics(**figures), self._began, time.time(), instance))

    def close(self) -> None:
        """Give what waits a last chance."""
        for outlet in (self._home, self._webhook, self._otlp):
            if outlet is not None:
                outlet.close()


class LiveReports(Outlets):
    """What is sent of one device: by its status, or by the step at which the alarm changed."""

    def __init__(self, args: argparse.Namespace, session: Any) -> None:
        from ..live.home_assistant import HomeAssistant, broker

        def say(text: str) -> None:
            self._publisher.notices.now("note", text, session.step)

        self._publisher = session.publisher
        about = {"source": session.source, "params": session.params.fingerprint}
        about |= {"device": session.publisher.feed.about["title"]}
        super().__init__(args, session.fleet, about, say)
        self._publisher.on_alarm.append(self._changed)
        if args.home_assistant is not None:
            self._home = HomeAssistant(broker(args.home_assistant), session, say)

    def look(self, ended: bool = False) -> None:
        """Send what is due; at the end in any case."""
        status = self._publisher.status
        if ended or time.monotonic() >= self._due:
            self._due = time.monotonic() + EVERY
            self._metrics(device=status, about=self._publisher.feed.about)
        self._changed({**status, "text": self._publisher.alarm_text(status["alarm"])})
        if self._home is not None:
            self._home.look(status)

    def _changed(self, facts: Mapping[str, Any]) -> None:
        if self._webhook is not None:
            for event in self._alerts.look("alarm", ["device"] if facts["alarm"] else []):
                self._alarm({**facts, "event": event})


class FleetReports(Outlets):
    """What is sent of a fleet, by a summary of it about once a minute.

    Silence is judged by the latest time of an event, which goes on by the clock of this machine while none
    comes.
    """

    _start, _last = 0.0, (None, 0.0)  # type: tuple[float, tuple[float | None, float]]

    def look(self, ended: bool = False) -> None:
        """Look, if it is time; at the end of the events in any case."""
        begun, fleet = time.monotonic(), self._fleet
        if not (self._webhook or self._otlp) or (begun < self._due and not ended):
            return
        from ..verdicts.alerts import fleet_messages
        from ..verdicts.metrics import process_of
        from ..verdicts.summary import last_heard
        from ..verdicts.versions import SILENT_SECONDS

        self._start = self._start or begun
        last = last_heard(fleet.models.values())
        if last != self._last[0]:
            self._last = last, begun
        summary = fleet.summary(None if last is None else last + begun - self._last[1])
        self._metrics(summary=summary, process=process_of(fleet))
        if self._webhook is not None:
            # After a pause of the run itself, devices need time to be heard again.
            silence = ended or begun - self._start >= SILENT_SECONDS
            for message in fleet_messages(self._alerts, fleet.models, summary, silence):
                self._alarm(message)
        every = LOOK if self._otlp is None else EVERY
        self._due = begun + max(every, (time.monotonic() - begun) / SHARE)
