"""A device that is not there: steps as a monitor would give them, for the live page.

`python tests/support/live_fake.py` shows the page without a board.
"""

from __future__ import annotations

import math
import random
import threading
import time
from typing import Any

from tcuq_watch.pages.feed import Feed
from tcuq_watch.pages.server import Server, serve

NAMES = ["up", "down", "left", "right", "yes", "no", "on", "off", "stop", "go"]
SIGNALS = ["odds", "severity", "magnitude", "distance", "disbelief", "drift"]


def about(**more: Any) -> dict[str, Any]:
    told = {"title": "Key words at the door", "source": "/dev/ttyUSB0 at 115200 baud", "names": NAMES}
    told |= {"classes": len(NAMES), "level": 0.1, "budget": 0.08, "params": "3fa91c07"}
    return {**told, "decided_by": "host", **more}


class Device:
    """Makes steps: calm stretches, short doubts, and long troubles that raise the alarm."""

    def __init__(self, seed: int = 1, trouble: tuple[int, int] = (0, 0)) -> None:
        self.random = random.Random(seed)
        self.step, self.level, self.answer, self.evidence = 0, 0.05, 0, 0.0
        self.trouble = trouble
        self.counts = dict.fromkeys(("steps", "flagged", "abstained"), 0)
        self.threshold, self.budget = 0.15, 10.0

    def steps(self, count: int, now: float, apart: float) -> tuple[int, dict[str, list[Any]]]:
        first, rows = self.step, [self._one(now - (count - 1 - k) * apart) for k in range(count)]
        return first, {name: [row[name] for row in rows] for name in rows[0]}

    def tell(self, feed: Feed, count: int, apart: float) -> None:
        """Give a feed the steps of the time until now."""
        first, columns = self.steps(count, time.time(), apart)
        self.counts["steps"] += count
        self.counts["flagged"] += sum(columns["flagged"])
        self.counts["abstained"] += sum(columns["abstain"])
        feed.add_steps(first, columns)
        feed.counts = dict(self.counts)

    def _one(self, now: float) -> dict[str, Any]:
        draw, step = self.random.random, self.step
        troubled = self.trouble[0] <= step < self.trouble[1]
        self.level += 0.04 * ((0.34 if troubled else 0.06) - self.level)
        if draw() < 0.05:
            self.answer = self.random.randrange(10)
        risk = min(
            0.98, max(0.0, self.level + 0.05 * (draw() - 0.5) + (0.4 * draw() if draw() < 0.07 else 0))
        )
        risk = round(risk * 65536) / 65536
        threshold = round(self.threshold * 65536) / 65536
        self.evidence = max(0.0, min(9.0, self.evidence + (0.05 if risk > 0.22 else -0.04)))
        flagged = risk >= threshold
        # As of a monitor: the threshold goes where a tenth is flagged, abstentions have a budget.
        self.threshold = max(0.02, self.threshold + (0.009 if flagged else -0.001))
        self.budget = min(20.0, self.budget + 0.08)
        abstain = flagged and self.budget >= 1
        self.budget -= abstain
        prediction = self.random.randrange(10) if flagged and draw() < 0.5 else self.answer
        self.step += 1
        values = {name: min(1.0, risk * (0.6 + draw())) for name in SIGNALS}
        return {
            "time": now, "risk": risk, "threshold": threshold, "uncertainty": risk * 0.9,
            "prediction": prediction, "answer": self.answer, "flagged": flagged, "abstain": abstain,
            "alarm": int(self.evidence > 2), "warming_up": step < 50,
            "reason": max(values, key=lambda name: values[name]) if flagged else "",
            "persistence": 0.55 + 0.25 * math.sin(step / 300), "look": 0.3,
            "severity": min(1.0, self.evidence / 9),
            "expected_accuracy": 0.97 - 0.5 * self.level, "signals": values if flagged else None,
        }  # fmt: skip


class Marks(list[tuple[int, int | None]]):
    """Takes marks as a session would."""

    def __init__(self, feed: Feed) -> None:
        super().__init__()
        self.feed = feed

    def __call__(self, step: int, label: int | None) -> str:
        if step == 13:
            raise ValueError("step 13 is not kept any more, expected one of the last 5")
        self.append((step, label))
        told = f"step {step}: true class {label}" if label is not None else f"step {step}: wrong=1"
        self.feed.add_remark("mark", told, step)
        return f"{told}, written to door.csv"


class Playing:
    """A feed that gets steps at a rate, in a thread; `close` ends it."""

    def __init__(self, feed: Feed, device: Device, rate: float) -> None:
        self.feed, self.device, self.rate = feed, device, rate
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        began, told = time.monotonic(), 0
        while not self.stopped.wait(max(0.02, 1 / self.rate)):
            due = int((time.monotonic() - began) * self.rate) - told
            if due > 0:
                self.device.tell(self.feed, due, 1 / self.rate)
                told += due

    def close(self) -> None:
        self.stopped.set()
        self.thread.join()


def filled(
    steps: int, rate: float = 100.0, trouble: tuple[int, int] = (0, 0), **more: Any
) -> tuple[Feed, Device]:
    """A feed with some history, and the device that goes on with it."""
    feed, device = Feed(about(**more)), Device(trouble=trouble)
    device.tell(feed, steps, 1 / rate)
    return feed, device


def served(feed: Feed, **options: Any) -> tuple[Server, Marks]:
    marks = Marks(feed)
    options = {"port": 0, "mark": marks, "metrics": lambda: "tcuq_steps_total 7\n", **options}
    return serve(feed, **options), marks


if __name__ == "__main__":
    shown, source = filled(20_000, trouble=(19_600, 20_600))
    shown.add_remark("missing", "17 steps never came", 19_900)
    with served(shown, port=8357)[0] as running:
        print(running.url, flush=True)
        Playing(shown, source, 100).thread.join()
