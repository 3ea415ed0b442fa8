"""What `tcuq live` and `tcuq fleet run` tell other programs: a webhook, a collector of OpenTelemetry."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tcuq.cli.process import UsageError

EVERY = 30.0
"""Seconds between two sets of metrics."""

LOOK = 60.0
"""Seconds between two looks at a fleet, without metrics."""

SHARE = 0.02
"""Part of the time that may go into looks."""

OTHERS = ("counts", "connected", "abstention_share")
"""In the status of a live device, but not in a message."""

FILE = "alerts.json"
"""In the folder: what a webhook was told."""


def add_outlets(parser: Any, when: str) -> Any:
    """Declare the options."""
    group = parser.add_argument_group("notifications")
    group.add_argument("--webhook", metavar="URL", help=f"POST JSON here when {when}, and when that is over")
    group.add_argument(
        "--remind-hours",
        type=float,
        metavar="N",
        help="with --webhook: send it again every N hours while it lasts (default: do not)",
    )
    group.add_argument(
        "--otlp",
        metavar="URL",
        help="send the figures of /metrics to this collector of OpenTelemetry every 30 s, such as "
        "http://localhost:4318",
    )
    return group


def check_outlets(args: argparse.Namespace) -> None:
    """Refuse options that cannot be, before anything is opened."""
    from ..verdicts.webhook import check_url

    for option, url in (("--webhook", args.webhook), ("--otlp", args.otlp)):
        if url is not None:
            check_url(option, url)
    if args.remind_hours is not None:
        if args.webhook is None:
            raise UsageError("--remind-hours is given without --webhook")
        if not 0 < args.remind_hours < 1e6:
            raise UsageError(f"--remind-hours is {args.remind_hours:g}, expected a number above 0")


class Outlets:
    """Sends alarms and metrics; `tell` hears what came of that, in another thread."""

    def __init__(
        self,
        args: argparse.Namespace,
        folder: Path,
        kept: dict[str, Any],
        name: str,
        tell: Callable[[str], None],
    ) -> None:
        from ..verdicts.alerts import Alerts
        from ..verdicts.otlp import metrics_url
        from ..verdicts.webhook import Poster

        remind = None if args.remind_hours is None else 3600 * args.remind_hours
        self.hook = self._otlp = None
        if args.webhook is not None:
            self.hook = Poster("--webhook", args.webhook, tell)
            self.alerts = Alerts(folder / FILE, remind=remind)
        if args.otlp is not None:
            self._otlp = Poster("--otlp", metrics_url(args.otlp), tell, tries=1, quiet=True)
            self._began = kept.setdefault("counted_since", round(time.time(), 3))
        self._name, self._due = name, 0.0

    def alarm(self, message: dict[str, Any]) -> None:
        """Send a message to the webhook."""
        assert self.hook is not None
        self.hook(message["event"], {**message, "sent": round(time.time(), 3)})

    def metrics(self, text: Callable[[], str], now: bool = False) -> None:
        """Send metrics where that is asked for and due."""
        from ..verdicts.otlp import otlp_metrics

        if self._otlp is not None and (now or time.monotonic() >= self._due):
            self._due = time.monotonic() + EVERY
            self._otlp("metrics", otlp_metrics(text(), self._began, time.time(), self._name))

    def close(self) -> None:
        """Give what waits a last chance."""
        for poster in (self.hook, self._otlp):
            if poster is not None:
                poster.close()


class LiveReports:
    """Sends what is to be told of one device."""

    def __init__(self, outlets: Outlets, session: Any, home: Any = None) -> None:
        self._outlets, self._home = outlets, home
        self._publisher = session.publisher
        self._source = {"source": session.source, "params": session.params.fingerprint}
        if outlets.hook is not None:
            self._publisher.on_alarm.append(self._changed)

    def look(self, ended: bool = False) -> None:
        """Send what is due; at the end in any case."""
        from ..live.publisher import prometheus_text

        publisher = self._publisher
        status = publisher.status
        self._outlets.metrics(lambda: prometheus_text(status, publisher.feed.about), ended)
        if self._home is not None:
            self._home.look(status)
        if self._outlets.hook is not None:
            facts = {name: value for name, value in status.items() if name not in OTHERS}
            self._changed({**facts, "text": publisher.alarm_text(status["alarm"])})

    def _changed(self, facts: dict[str, Any]) -> None:
        """Send what the policy says, of the step at which the alarm changed or of the last one."""
        for event in self._outlets.alerts.look("alarm", ["device"] if facts["alarm"] else []):
            self._outlets.alarm({**self._source, **facts, "event": event})


class FleetReports:
    """Looks at a fleet that is run, about once a minute, and sends what is to be told of it.

    Looks take no more than a fiftieth of the time. Silence is judged by the latest time of an event, and
    goes on by the clock of this machine while none comes.
    """

    def __init__(self, outlets: Outlets, fleet: Any) -> None:
        self._outlets, self._fleet = outlets, fleet
        self._every = EVERY if outlets._otlp is not None else LOOK
        self._due = self._began = time.monotonic()
        self._last: tuple[float | None, float] = (None, 0.0)

    def look(self, ended: bool = False) -> None:
        """Look, if it is time; at the end of the events in any case."""
        from ..verdicts.alerts import fleet_messages
        from ..verdicts.status import metrics_text
        from ..verdicts.versions import SILENT_SECONDS

        begun = time.monotonic()
        if begun < self._due and not ended:
            return
        summary = self._fleet.summary(self._time(begun))
        self._outlets.metrics(lambda: metrics_text(summary), now=True)
        if self._outlets.hook is not None:
            # After a pause of the run itself, devices need time to be heard again.
            silence = ended or begun - self._began >= SILENT_SECONDS
            for message in fleet_messages(self._outlets.alerts, self._fleet.models, summary, silence):
                self._outlets.alarm({**message, "folder": str(self._fleet.folder)})
        self._due = begun + max(self._every, (time.monotonic() - begun) / SHARE)

    def _time(self, now: float) -> float | None:
        from ..verdicts.summary import last_heard

        last = last_heard(self._fleet.models.values())
        if last != self._last[0]:
            self._last = last, now
        return None if last is None else last + now - self._last[1]
