"""What is told of a session: steps and remarks to a page, counts and the last step to whoever asks."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.base.errors import one_line
from tcuq.io.decisions import Decisions, RowText
from tcuq.monitor.accuracy import accuracy_band
from tcuq.monitor.alarm import alarm_words
from tcuq.monitor.params import Params
from tcuq.monitor.signals import NUMBER
from tcuq.monitor.steps import reason_names

from ..pages.feed import Feed


class DecisionLines:
    """Write decisions as lines that `tcuq report` and `tcuq audit` read."""

    def __init__(self, params: Params, names: Sequence[str] | None) -> None:
        self._fingerprint = params.fingerprint
        self._names = None if names is None else tuple(names)
        self._text: RowText | None = None

    def lines(
        self,
        first: int,
        steps: npt.NDArray[Any],
        times: Sequence[float],
        boots: Sequence[int],
        seqs: Sequence[int],
    ) -> str:
        """Return the lines of steps from number `first` on."""
        decisions = Decisions(steps, first, fingerprint=self._fingerprint, names=self._names)
        if self._text is None:
            self._text = RowText(decisions.columns, "jsonl")
        line = self._text.line
        return "".join(
            f'{line(row)[:-2]}, "time": {time:.3f}, "boot": {boot}, "seq": {seq}}}\n'
            for row, time, boot, seq in zip(decisions.rows(), times, boots, seqs, strict=True)
        )


_CLASSES, _FLAGS = ("prediction", "answer"), ("flagged", "abstain", "alarm", "warming_up")
_SHOWN = ("risk", "threshold", "uncertainty", *_CLASSES, *_FLAGS)
_LEARNED = ("persistence", "look", "severity")


def feed_columns(
    steps: npt.NDArray[Any],
    times: Sequence[float],
    used: Sequence[str] = (),
    signals: npt.NDArray[np.float64] | None = None,
) -> dict[str, list[Any]]:
    """Return steps as a `Feed` takes them."""
    columns: dict[str, list[Any]] = {"time": [round(time, 3) for time in times]}
    for name in _SHOWN:
        columns[name] = steps[name].tolist()
    columns["reason"] = reason_names(steps["reason"])
    for name in _LEARNED:
        columns[name] = steps[name].tolist()
    columns["expected_accuracy"] = [
        None if math.isnan(value) else value for value in steps["expected_accuracy"].tolist()
    ]
    if signals is not None:
        places = [NUMBER[name] for name in used]
        told: list[Any] = [None] * len(steps)
        for row in np.flatnonzero(steps["flagged"]).tolist():
            told[row] = dict(zip(used, signals[row, places].tolist(), strict=True))
        columns["signals"] = told
    return columns


Tell = Callable[[str, str, int], None]
"""Takes kind, text and step of a remark."""

EVERY = 1.0
"""Seconds between two remarks of a kind that may come often."""


class Notices:
    """Pass remarks on; of a kind that comes often, one a second with a count.

    Examples
    --------
    >>> told = []
    >>> remarks = Notices([lambda kind, text, step: told.append(text)], clock=lambda: 0.0)
    >>> for seq in range(3):
    ...     remarks.often("broken", "a line that could not be read", 7)
    >>> remarks.flush(force=True)
    >>> told
    ['a line that could not be read', '2 times: a line that could not be read']
    """

    def __init__(self, tell: list[Tell], clock: Callable[[], float] = time.monotonic) -> None:
        self.tell, self._clock = tell, clock
        self._last: dict[str, float] = {}
        self._waiting: dict[str, tuple[int, str, int]] = {}

    def now(self, kind: str, text: str, step: int) -> None:
        """Pass a remark on at once; it may hold words of a device or a server, so it is made one line."""
        text = one_line(text)
        for tell in self.tell:
            tell(kind, text, step)

    def often(self, kind: str, text: str, step: int, count: int = 1) -> None:
        """Pass a remark on, or join it with others of its kind."""
        if count == 1 and kind not in self._waiting and self._due(kind):
            self._last[kind] = self._clock()
            self.now(kind, text, step)
            return
        before, _, first = self._waiting.get(kind, (0, "", step))
        self._waiting[kind] = before + count, text, first
        self.flush()

    def flush(self, force: bool = False) -> None:
        """Pass on what was joined and is due."""
        for kind in [each for each in self._waiting if force or self._due(each)]:
            count, text, step = self._waiting.pop(kind)
            self._last[kind] = self._clock()
            self.now(kind, text if count == 1 else f"{count:,} times: {text}", step)

    def _due(self, kind: str) -> bool:
        return kind not in self._last or self._clock() - self._last[kind] >= EVERY


RECENT = 1000
"""Steps over which the share of abstentions is told."""

COUNTS = (
    "steps",
    "flagged",
    "abstained",
    "alarms",
    "broken",
    "lost",
    "missing",
    "duplicates",
    "late",
    "reboots",
    "others",
    "unkept",
)
"""What is counted: `others` are steps of other parameters or of the kind that is not used, `unkept` are lines
of the logs that were lost because the disk was full for too long."""

MOST_CHANGES = 8
"""Changes of the alarm that are told of one batch of steps; a device may change it with every step."""


class Publisher:
    """Tell of steps and remarks.

    `status` is replaced and never changed, so any thread may read it.
    """

    def __init__(
        self,
        params: Params,
        about: Mapping[str, Any],
        tell: Sequence[Tell],
        counts: Mapping[str, int],
        alarm: int = 0,
    ) -> None:
        self._params = params
        self.feed = Feed(about)
        self.notices = Notices([*tell, self.feed.add_remark])
        self.counts = {**dict.fromkeys(COUNTS, 0), **counts}
        self.on_alarm: list[Callable[[dict[str, Any]], None]] = []
        self.connected = False
        self._recent = np.zeros(0, dtype=bool)
        self._looks = np.zeros(0)
        self._bands: list[list[float] | None] = []
        self.alarm = alarm
        self._last: dict[str, Any] = {"time": None, "alarm": alarm}
        self.status: dict[str, Any] = {}
        self.refresh()

    def refresh(self) -> None:
        """Bring `status` up to date."""
        self.feed.counts = dict(self.counts)
        share = float(self._recent.mean()) if len(self._recent) else 0.0
        self.status = {
            **self._last,
            "counts": dict(self.counts),
            "connected": self.connected,
            "abstention_share": share,
        }

    def steps(
        self,
        first: int,
        steps: npt.NDArray[Any],
        times: Sequence[float],
        signals: npt.NDArray[np.float64] | None,
    ) -> None:
        """Tell of steps from number `first` on."""
        self.counts["steps"] += len(steps)
        self.counts["flagged"] += int(steps["flagged"].sum())
        self.counts["abstained"] += int(steps["abstain"].sum())
        self._recent = np.concatenate([self._recent, steps["abstain"]])[-RECENT:]
        self.feed.add_steps(first, feed_columns(steps, times, self._params.signals, signals))
        self._bands = self._band(steps)
        self._last = self._facts(first + len(steps) - 1, steps[-1], times[-1], self._bands[-1])
        self._watch_alarm(first, steps, times)
        self.refresh()

    def _band(self, steps: npt.NDArray[Any]) -> list[list[float] | None]:
        """Return the band of the expected accuracy at each step, None without one."""
        if self._params.accuracy_error is None:
            return [None] * len(steps)
        looks = np.concatenate([self._looks, steps["look"]])
        self._looks = looks[-2 * self._params.horizon :]
        low, high = accuracy_band(self._params, steps, looks)
        return [[float(each) for each in ends] for ends in zip(low.round(4), high.round(4), strict=True)]

    def _facts(self, step: int, last: Any, time: float, band: list[float] | None) -> dict[str, Any]:
        names = self.feed.about["names"]
        accuracy = float(last["expected_accuracy"])
        answer = int(last["answer"])
        return {
            "time": time,
            "step": step,
            "risk": float(last["risk"]),
            "threshold": float(last["threshold"]),
            "answer": answer,
            "answer_name": names[answer] if names else str(answer),
            "abstain": bool(last["abstain"]),
            "alarm": int(last["alarm"]),
            "warming_up": bool(last["warming_up"]),
            "persistence": float(last["persistence"]),
            "severity": float(last["severity"]),
            "expected_accuracy": None if math.isnan(accuracy) else accuracy,
            "accuracy_band": None if math.isnan(accuracy) else band,
        }

    def _watch_alarm(self, first: int, steps: npt.NDArray[Any], times: Sequence[float]) -> None:
        levels = np.concatenate([[self.alarm], steps["alarm"]]).astype(np.int64)
        self.alarm = int(levels[-1])
        changes = np.flatnonzero(np.diff((levels > 0).astype(np.int8))).tolist()
        self.counts["alarms"] += sum(int(levels[place + 1]) > 0 for place in changes[:-MOST_CHANGES])
        for place in changes[-MOST_CHANGES:]:
            level = int(levels[place + 1])
            kind = "alarm" if level else "cleared"
            raised = f"ALARM: {alarm_words(level, self._params.evidence is not None)}"
            text = raised if level else "the alarm has ended"
            self.counts["alarms"] += level > 0
            self.notices.now(kind, text, first + place)
            told = {
                **self._facts(first + place, steps[place], times[place], self._bands[place]),
                "event": kind,
                "text": text,
            }
            for call in self.on_alarm:
                call({**told, "sent": round(time.time(), 3)})

    def name(self, number: int) -> str:
        """Return a class as a person reads it."""
        names = self.feed.about["names"]
        return "none of the classes" if number < 0 else names[number] if names else f"class {number}"
