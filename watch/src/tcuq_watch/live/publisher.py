"""What is told of a session: steps and notices to a page, counts and the last step to whoever asks."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.base.errors import one_line
from tcuq.monitor.accuracy import accuracy_band
from tcuq.monitor.alarm import alarm_words
from tcuq.monitor.params import Params
from tcuq.monitor.signals import NUMBER
from tcuq.monitor.steps import reason_names

from ..pages.feed import Feed

Tell = Callable[[str, str, int], None]
"""Takes kind, text and step of a notice."""

EVERY, RECENT, MOST_CHANGES = 1.0, 1000, 8
"""Seconds between two notices of a kind that may come often, steps over which the share of abstentions is
told, and changes of the alarm that are told of one batch of steps: a device may change it with every step."""

_SHOWN = (
    *("risk", "threshold", "uncertainty", "prediction", "answer", "flagged", "abstain", "alarm"),
    *("warming_up", "persistence", "look", "severity"),
)


class Notices:
    """Pass notices on; of a kind that comes often, one a second with a count.

    Examples
    --------
    >>> told = []
    >>> notices = Notices([lambda kind, text, step: told.append(text)], clock=lambda: 0.0)
    >>> for seq in range(3):
    ...     notices.often("broken", "a line that could not be read", 7)
    >>> notices.flush(force=True)
    >>> told
    ['a line that could not be read', '2 times: a line that could not be read']
    """

    def __init__(self, tell: list[Tell], clock: Callable[[], float] = time.monotonic) -> None:
        self.tell, self._clock = tell, clock
        self._last: dict[str, float] = {}
        self._waiting: dict[str, tuple[int, str, int]] = {}

    def now(self, kind: str, text: str, step: int) -> None:
        """Pass a notice on at once; it may hold words of a device or a server, so it is made one line."""
        for tell in self.tell:
            tell(kind, one_line(text), step)

    def often(self, kind: str, text: str, step: int, count: int = 1) -> None:
        """Pass a notice on, or join it with others of its kind."""
        before, _, first = self._waiting.get(kind, (0, "", step))
        self._waiting[kind] = before + count, text, first
        self.flush()

    def flush(self, force: bool = False) -> None:
        """Pass on what was joined and is due."""
        now = self._clock()
        for kind in list(self._waiting):
            if force or now - self._last.get(kind, -math.inf) >= EVERY:
                count, text, step = self._waiting.pop(kind)
                self._last[kind] = now
                self.now(kind, text if count == 1 else f"{count:,} times: {text}", step)


class Publisher:
    """Tell of steps and notices; `status` is replaced and never changed, so any thread may read it."""

    def __init__(
        self, params: Params, about: Mapping[str, Any], tell: Sequence[Tell], counts: Any, alarm: int
    ) -> None:
        self._params, self.counts, self.alarm = params, counts, alarm
        self.feed = Feed(about)
        self.notices = Notices([*tell, self.feed.add_remark])
        self.on_alarm: list[Callable[[dict[str, Any]], None]] = []
        self.connected = False
        self._recent, self._looks = np.zeros(0, dtype=bool), np.zeros(0)
        self._last: dict[str, Any] = {"time": None, "alarm": alarm}
        self.refresh()

    def refresh(self) -> None:
        """Bring `status` up to date."""
        self.feed.counts = dict(self.counts)
        self.status = {
            **self._last,
            "counts": dict(self.counts),
            "connected": self.connected,
            "abstention_share": float(self._recent.mean()) if len(self._recent) else 0.0,
        }

    def steps(self, first: int, steps: npt.NDArray[Any], times: Sequence[float], signals: Any) -> None:
        """Tell of steps from number `first` on."""
        self._recent = np.concatenate([self._recent, steps["abstain"]])[-RECENT:]
        accuracy = steps["expected_accuracy"].tolist()
        columns: dict[str, list[Any]] = {
            "time": [round(time, 3) for time in times],
            **{name: steps[name].tolist() for name in _SHOWN},
            "reason": reason_names(steps["reason"]),
            "expected_accuracy": [None if math.isnan(value) else value for value in accuracy],
        }
        if signals is not None:
            used = self._params.signals
            values = signals[:, [NUMBER[name] for name in used]].tolist()
            columns["signals"] = [
                dict(zip(used, row, strict=True)) if flagged else None
                for row, flagged in zip(values, columns["flagged"], strict=True)
            ]
        self.feed.add_steps(first, columns)
        bands = self._bands(steps)
        self._last = self._facts(first + len(steps) - 1, steps[-1], times[-1], bands[-1])
        levels = [self.alarm, *columns["alarm"]]
        self.alarm = levels[-1]
        changes = [place for place in range(len(steps)) if bool(levels[place]) != bool(levels[place + 1])]
        for place in changes[-MOST_CHANGES:]:
            kind, text = "alarm" if levels[place + 1] else "cleared", self.alarm_text(levels[place + 1])
            facts = self._facts(first + place, steps[place], times[place], bands[place])
            self.notices.now(kind, text, first + place)
            for call in self.on_alarm:
                call({**facts, "event": kind, "text": text})

    def _bands(self, steps: npt.NDArray[Any]) -> list[list[float] | None]:
        """Return the band of the expected accuracy at each step, None without one."""
        if self._params.accuracy_error is None:
            return [None] * len(steps)
        looks = np.concatenate([self._looks, steps["look"]])
        self._looks = looks[-2 * self._params.horizon :]
        return np.stack(accuracy_band(self._params, steps, looks), axis=1).round(4).tolist()  # type: ignore

    def _facts(self, step: int, row: Any, time: float, band: list[float] | None) -> dict[str, Any]:
        names, answer = self.feed.about["names"], int(row["answer"])
        accuracy = float(row["expected_accuracy"])
        plain = ("risk", "threshold", "abstain", "alarm", "warming_up", "persistence", "severity")
        return {
            "time": time,
            "step": step,
            **{name: row[name].item() for name in plain},
            "answer": answer,
            "answer_name": names[answer] if names else str(answer),
            "expected_accuracy": None if math.isnan(accuracy) else accuracy,
            "accuracy_band": None if math.isnan(accuracy) else band,
        }

    def alarm_text(self, level: int) -> str:
        """Return what is said of the alarm."""
        words = alarm_words(level, self._params.evidence is not None) if level else ""
        return f"ALARM: {words}" if level else "the alarm has ended"
