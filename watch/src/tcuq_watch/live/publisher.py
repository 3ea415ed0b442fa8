"""What is told of a session: steps and notices to a page, counts and the last step to whoever asks."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.base.errors import one_line
from tcuq.labels.accuracy import accuracy_band
from tcuq.monitor.alarm import alarm_words
from tcuq.monitor.heads import Sight
from tcuq.monitor.params import Params
from tcuq.monitor.signals import NUMBER
from tcuq.monitor.steps import ACTIONS, NOT_MOVED, moved_name

from ..pages.feed import Feed

Tell = Callable[[str, str, int], None]
"""Takes kind, text and step of a notice."""

EVERY, RECENT, MOST_CHANGES = 1.0, 1000, 8
"""Seconds between two notices of a kind that may come often, steps over which the share of abstentions is
told, and changes of the alarm that are told of one batch of steps: a device may change it with every step."""

ONE_HOLD = 120.0
"""Seconds: an alarm that comes back before has not ended for who looks at the page."""

FACTS = (
    *("risk", "threshold", "abstain", "alarm", "warming_up", "persistence", "degradation", "answer"),
    "expected_accuracy",
)
"""Fields of the last step that are told."""


class Notices:
    """Pass notices on; of a kind that comes often, one a second with a count."""

    def __init__(self, tell: list[Tell]) -> None:
        self.tell, self._last = tell, dict[str, float]()
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
        now = time.monotonic()
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
        self._recent, self._novelty, self._calm = np.zeros(0, dtype=bool), np.zeros(0), np.zeros(0)
        self._ended, self._hold = -math.inf, dict[str, Any]()
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

    def steps(
        self,
        first: int,
        steps: npt.NDArray[Any],
        times: Sequence[float],
        signals: Any = None,
        gauges: Any = None,
        again: bool = False,
    ) -> None:
        """Tell of steps from number `first` on; `again`, of those of before a restart: only to the page."""
        params = self._params
        self._recent = np.concatenate([self._recent, steps["abstain"]])[-RECENT:]
        novelty = np.concatenate([self._novelty, steps["novelty"]])
        self._novelty = novelty[max(0, len(novelty) - 2 * params.horizon) :]
        band: Any = None
        if params.accuracy_error is not None:
            band = np.stack(accuracy_band(params, steps, novelty), axis=1).round(4)
        used = None if signals is None else signals[:, [NUMBER[name] for name in params.signals]]
        numbers = deviations(params.sight, steps["answer"], signals, gauges)
        self.feed.add_steps(first, steps, times, band, used, numbers)

        def facts(place: int) -> dict[str, Any]:
            row, names = steps[place], self.feed.about["names"]
            facts = {name: row[name].item() for name in FACTS}
            facts |= {"action": ACTIONS[row["action"]], "changed": bool(row["changed"])}
            facts["moved"] = moved_name(int(row["moved"]), params.sight)
            known = not math.isnan(facts["expected_accuracy"])
            return {
                "time": times[place],
                "step": first + place,
                **facts,
                "answer_name": names[facts["answer"]] if names else str(facts["answer"]),
                "expected_accuracy": facts["expected_accuracy"] if known else None,
                "accuracy_band": band[place].tolist() if known and band is not None else None,
            }

        self._last = facts(len(steps) - 1)
        raised = np.concatenate([[self.alarm], steps["alarm"]])
        self.alarm, expected = int(raised[-1]), steps["expected_accuracy"]
        changes = np.flatnonzero((raised[1:] > 0) != (raised[:-1] > 0)).tolist()
        for count, place in enumerate(changes, MOST_CHANGES - len(changes)):
            bits = int(raised[place + 1])
            calm = expected[:place][raised[1 : place + 1] == 0]
            self._changed(times[place], first + place, bits, np.concatenate([self._calm, calm]))
            if again or count < 0:
                continue
            kind, text = "alarm" if bits else "cleared", self.alarm_text(bits, int(steps["moved"][place]))
            self.notices.now(kind, text, first + place)
            for call in self.on_alarm:
                call({**facts(place), "event": kind, "text": text})
        self._calm = np.concatenate([self._calm, expected[raised[1:] == 0]])[-RECENT:]

    def _changed(self, time: float, step: int, bits: int, calm: npt.NDArray[np.float64]) -> None:
        """Note since when the alarm is on or off; one that flickers is one hold."""
        now = self.feed.now
        if not bits:
            self._ended, self._hold = time, now
            self.feed.now = {"since": time, "step": step}
        elif time - self._ended < ONE_HOLD and "holds" in self._hold:
            self.feed.now = {**self._hold, "holds": self._hold["holds"] + 1}
        else:
            known = calm[-RECENT:][~np.isnan(calm[-RECENT:])]
            before = round(float(np.median(known)), 4) if len(known) else None
            self.feed.now = {"since": time, "step": step, "holds": 1, "before": before}

    def alarm_text(self, bits: int, moved: int = NOT_MOVED) -> str:
        """Return what is said of the alarm, and what moved where the monitor tells it."""
        name = moved_name(moved, self._params.sight)
        words = alarm_words(bits, self._params) + (f": {name}" if name else "")
        return f"ALARM: {words}" if bits else "the alarm has ended"


def _own_signals(sight: Sight) -> list[int]:
    """Return the places of numbers that are signals of a step."""
    return [at for at, name in enumerate(sight.numbers) if at >= len(sight.gauges) and name in NUMBER]


def told_numbers(sight: Sight) -> list[tuple[str, float, float | None]]:
    """Return name, clean mean and deviation of each number; no deviation of those of the core alone."""
    told = {*range(len(sight.gauges)), *_own_signals(sight)}
    numbers = zip(sight.numbers, sight.means, sight.deviations, strict=True)
    return [(name, mean, spread if at in told else None) for at, (name, mean, spread) in enumerate(numbers)]


def deviations(sight: Sight | None, answers: npt.NDArray[Any], signals: Any, gauges: Any) -> Any:
    """Return how far each number of a step is off its clean mean, NaN where it is not told; None without any.

    Sums of features, and the distance of all of those or of the gauges, are numbers of the core alone.
    """
    if sight is None:
        return None
    means, spread = np.array(sight.means), np.array(sight.deviations)
    values, seen = np.full((len(answers), len(means)), np.nan), len(sight.gauges)
    if gauges is not None:
        values[:, :seen] = gauges
    if signals is not None:
        own = _own_signals(sight)
        values[:, own] = signals[:, [NUMBER[sight.numbers[place]] for place in own]]
    return (values - means) / spread - np.array(sight.class_means)[answers]
