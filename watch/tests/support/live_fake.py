"""A device that is not there: steps as a monitor would give them, for the live page."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from tcuq.monitor.signals import NUMBER
from tcuq.monitor.steps import NO_REASON, STEP_DTYPE
from tcuq_watch.pages.feed import Feed
from tcuq_watch.pages.server import Server, serve

NAMES = ["up", "down", "left", "right", "yes", "no", "on", "off", "stop", "go"]
SIGNALS = ["odds", "degradation", "magnitude", "distance", "disbelief", "drift"]


def about(**more: Any) -> dict[str, Any]:
    told = {"title": "Key words at the door", "source": "/dev/ttyUSB0 at 115200 baud", "names": NAMES}
    told |= {"classes": len(NAMES), "level": 0.1, "budget": 0.08, "params": "3fa91c07"}
    return {**told, "signals": SIGNALS, "decided_by": "host", **more}


def steps_of(count: int, **columns: Any) -> Any:
    """Return steps as a monitor gives them, each column one value or many."""
    steps = np.zeros(count, dtype=STEP_DTYPE)
    for name, values in {"reason": NO_REASON, "expected_accuracy": np.nan, **columns}.items():
        steps[name] = values
    return steps


class Device:
    """Makes steps: calm stretches with short doubts, and a long trouble that raises the alarm."""

    def __init__(self, trouble: tuple[int, int] = (0, 0)) -> None:
        self.rng, self.step, self.trouble = np.random.default_rng(1), 0, trouble
        self.counts = dict.fromkeys(("steps", "flagged", "abstained"), 0)

    def steps(self, count: int) -> tuple[Any, Any]:
        """Return the next steps and their signals."""
        numbers = np.arange(self.step, self.step + count)
        self.step += count
        draw, doubt = self.rng.random((2, count))
        low, high = self.trouble
        troubled = (numbers >= low) & (numbers < high)
        risk = 0.04 + 0.05 * draw + 0.4 * draw * (doubt < 0.1) + 0.25 * troubled
        flagged = risk > 0.13 + 0.25 * troubled
        steps = steps_of(
            count, risk=risk, threshold=0.13 + 0.25 * troubled, flagged=flagged,
            prediction=(numbers // 20 + 3 * flagged) % 10, answer=numbers // 20 % 10,
            abstain=flagged & (draw < 0.8), alarm=troubled & (numbers > low + 40),
            reason=np.where(flagged, NUMBER["odds"], NO_REASON), warming_up=numbers < 50,
            persistence=0.55 + 0.25 * np.sin(numbers / 300), degradation=0.4 * troubled,
            expected_accuracy=0.97 - 0.5 * risk,
        )  # fmt: skip
        return steps, self.rng.random((count, len(SIGNALS)))

    def tell(self, feed: Feed, count: int, apart: float) -> None:
        """Give a feed the steps of the time until now."""
        first, (steps, signals) = self.step, self.steps(count)
        self.counts["steps"] += count
        self.counts["flagged"] += int(steps["flagged"].sum())
        self.counts["abstained"] += int(steps["abstain"].sum())
        feed.add_steps(first, steps, time.time() - apart * np.arange(count)[::-1], signals=signals)
        feed.counts = dict(self.counts)


class Marks(list[tuple[int, int | None]]):
    """Takes marks as a session would."""

    def __init__(self, feed: Feed) -> None:
        super().__init__()
        self.feed = feed

    def __call__(self, asked: Mapping[str, Any]) -> str:
        step, label = asked["step"], asked["label"]
        if step == 13:
            raise ValueError("step 13 is not kept any more, expected one of the last 5")
        self.append((step, label))
        self.feed.add_remark("mark", f"step {step}: true class {label}", step)
        return f"step {step}: true class {label}, written to door.csv"


def filled(steps: int, rate: float = 100.0, trouble: tuple[int, int] = (0, 0)) -> tuple[Feed, Device]:
    """A feed with some history, and the device that goes on with it."""
    feed, device = Feed(about()), Device(trouble)
    device.tell(feed, steps, 1 / rate)
    return feed, device


def served(feed: Feed, **options: Any) -> tuple[Server, Marks]:
    marks = Marks(feed)
    options = {"port": 0, "mark": marks, "metrics": lambda: "tcuq_steps_total 7\n", **options}
    return serve(feed, **options), marks
