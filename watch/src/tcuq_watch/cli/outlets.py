"""What `tcuq live` and `tcuq fleet run` tell other programs: a webhook, a collector of OpenTelemetry."""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Mapping
from typing import Any

from tcuq.cli.process import UsageError

EVERY = 30.0
"""Seconds between two sets of metrics."""

LOOK, SHARE = 60.0, 0.02
"""Seconds between two looks at a fleet without metrics, and part of the time that looks may take."""


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
    """Sends alarms and metrics; `say` hears what came of that, in another thread."""

    def __init__(
        self, args: argparse.Namespace, fleet: Any, about: dict[str, str], say: Callable[[str], None]
    ) -> None:
        from ..verdicts.alerts import Alerts
        from ..verdicts.otlp import metrics_url
        from ..verdicts.webhook import Poster

        self._about, self._due = about, 0.0
        self._posters: dict[str, Poster] = {}
        if args.webhook is not None:
            self._posters["alarms"] = Poster("--webhook", args.webhook, say)
            self._alerts = Alerts(fleet.folder / "alerts.json", remind=3600 * (args.remind_hours or math.inf))
        if args.otlp is not None:
            url = metrics_url(args.otlp)
            self._posters["metrics"] = Poster("--otlp", url, say, tries=1, quiet=True)
            self._began = fleet.about.setdefault("counted_since", round(time.time(), 3))

    def _send_alarm(self, message: dict[str, Any]) -> None:
        message = {**self._about, **message, "sent": round(time.time(), 3)}
        self._posters["alarms"](message["event"], message)

    def _send_metrics(self, text: str) -> None:
        from ..verdicts.otlp import otlp_metrics

        message = otlp_metrics(text, self._began, time.time(), next(iter(self._about.values())))
        self._posters["metrics"]("metrics", message)

    def close(self) -> None:
        """Give what waits a last chance."""
        for poster in self._posters.values():
            poster.close()


class LiveReports(Outlets):
    """What is sent of one device: by its status, or by the step at which the alarm changed."""

    def __init__(self, args: argparse.Namespace, session: Any, say: Callable[[str], None]) -> None:
        about = {"source": session.source, "params": session.params.fingerprint}
        super().__init__(args, session.fleet, about, say)
        self._publisher = session.publisher
        self.others: list[Callable[[Mapping[str, Any]], None]] = []
        if "alarms" in self._posters:
            self._publisher.on_alarm.append(self._changed)

    def look(self, ended: bool = False) -> None:
        """Send what is due; at the end in any case."""
        from ..verdicts.metrics import metrics_text

        status = self._publisher.status
        if "metrics" in self._posters and (ended or time.monotonic() >= self._due):
            self._due = time.monotonic() + EVERY
            self._send_metrics(metrics_text(device=status, about=self._publisher.feed.about))
        if "alarms" in self._posters:
            self._changed({**status, "text": self._publisher.alarm_text(status["alarm"])})
        for look in self.others:
            look(status)

    def _changed(self, facts: dict[str, Any]) -> None:
        for event in self._alerts.look("alarm", ["device"] if facts["alarm"] else []):
            self._send_alarm({**facts, "event": event})


class FleetReports(Outlets):
    """What is sent of a fleet, by a summary of it about once a minute.

    Silence is judged by the latest time of an event, which goes on by the clock of this machine while none
    comes.
    """

    def __init__(self, args: argparse.Namespace, fleet: Any, say: Callable[[str], None]) -> None:
        super().__init__(args, fleet, {"folder": str(fleet.folder)}, say)
        self._fleet, self._every = fleet, LOOK if args.otlp is None else EVERY
        self._start = time.monotonic()
        self._last: tuple[float | None, float] = (None, 0.0)

    def look(self, ended: bool = False) -> None:
        """Look, if it is time; at the end of the events in any case."""
        begun = time.monotonic()
        if not self._posters or (begun < self._due and not ended):
            return
        from ..verdicts.alerts import fleet_messages
        from ..verdicts.metrics import metrics_text, process_of
        from ..verdicts.summary import last_heard
        from ..verdicts.versions import SILENT_SECONDS

        last = last_heard(self._fleet.models.values())
        if last != self._last[0]:
            self._last = last, begun
        summary = self._fleet.summary(None if last is None else last + begun - self._last[1])
        if "metrics" in self._posters:
            fleet = self._fleet
            process = process_of(fleet.folder, fleet.commit_number, fleet.refused)
            self._send_metrics(metrics_text(summary, process=process))
        if "alarms" in self._posters:
            # After a pause of the run itself, devices need time to be heard again.
            silence = ended or begun - self._start >= SILENT_SECONDS
            for message in fleet_messages(self._alerts, self._fleet.models, summary, silence):
                self._send_alarm(message)
        self._due = begun + max(self._every, (time.monotonic() - begun) / SHARE)
