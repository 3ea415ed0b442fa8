"""The setting and the limit of every rival of the monitor's alarm, from development data alone.

Every rival tries its settings on the development stream. For each, the limit comes from clean time; kept is
the setting with the least sum of three parts, the same for all rivals:

- the mean delay, in steps, over shifts that cost accuracy (a miss costs the whole shift);
- 250 times the share of clean time under alarm: 250 steps are a mean clean stretch;
- 100 times the share of costly time without alarm: else an alarm that flickers would win by its first rise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tcuq.metrics.inputs import Bools, Floats

from ..harness.types import CLEAN, Answers, Dev, Outputs, Switch, doubt
from ..metrics.alarms import Scene, costly_sources, events
from ..metrics.limits import RUN_LENGTH, false_starts, find_limit
from .alarm_rivals import Clean, Rival, Seen, Setting

CLEAN_ON = 250.0
"""Steps of delay that all of the clean time under alarm would be worth."""
COSTLY_OFF = 100.0
"""Steps of delay that all of the costly time without alarm would be worth."""
Scorer = Callable[[Outputs], Floats]


class Alarm:
    """A score of a network with a rival's alarm; `learn` makes another score than doubt from labels."""

    choice: dict[str, Any]

    def __init__(self, rival: Rival, learn: Callable[[Dev], Scorer] | None = None) -> None:
        self.rival, self._learn = rival, learn
        self.score: Scorer = _doubt

    def fit(self, dev: Dev) -> None:
        """Try all settings on the development stream and the clean log."""
        assert dev.truth is not None
        if self._learn is not None:
            self.score = self._learn(dev)
        parts = [dev.outputs(), *([] if dev.clean is None else [dev.clean])]
        seen = Seen.of([(self.score(part), part) for part in parts])
        sources = np.full(seen.score.shape, dev.truth.names.index(CLEAN), dtype=np.int64)
        for row, piece in zip(sources, dev.pieces(), strict=False):
            row[:] = dev.truth.sources[piece][: len(row)]
        scene = Scene(sources, dev.truth.names)
        errors = dev.errors or {}
        self.choose(seen, scene, costly_sources(errors) if CLEAN in errors else ())

    def choose(self, seen: Seen, scene: Scene, worse: Sequence[str]) -> None:
        """Keep the setting and the limit that development data give."""
        self.clean, tried = Clean(seen, scene.settled), []
        for setting in self.rival.settings:
            prepared = self.rival.prepare(self.clean, seen, setting)
            limit = self.rival.proved
            if limit is None:
                limit = find_limit(prepared.on, prepared.path(scene.settled), scene.settled)
            on = prepared.on(np.array([limit]))[0]
            tried.append((objective(on, scene, worse), limit, setting, on))
        best, self.limit, setting, on = min(tried, key=lambda each: each[0])
        self.setting: Setting = setting
        self.choice = {
            "setting": dict(setting),
            "limit": round(self.limit, 6),
            "objective": round(best, 3),
            "false alarms on clean development time": int(false_starts(on, scene.settled).sum()),
            "asked for": int(scene.settled.sum() / RUN_LENGTH),
            "tried": [
                {**each[2], "limit": round(each[1], 6), "objective": round(each[0], 3)} for each in tried
            ],
        }

    def switch(self, seen: Seen) -> Switch:
        """Return the alarm at any limit."""
        prepared = self.rival.prepare(self.clean, seen, self.setting)
        return Switch(prepared.on, prepared.path, self.limit)

    def watch(self, seen: Outputs) -> Answers:
        """Say the score of each step, and the alarm."""
        score = self.score(seen)
        return Answers(score, alarm=self.switch(Seen.of([(score, seen)])))


def _doubt(seen: Outputs) -> Floats:
    return doubt(seen.probs)


def objective(on: Bools, scene: Scene, worse: Sequence[str]) -> float:
    """Return what settings are chosen by, the less the better."""
    found = events(on, scene)
    costly = np.isin(np.array(found.sources, dtype=np.str_), worse)
    delays: Floats = found.restricted[costly]
    late = float(delays.mean()) if len(delays) else 0.0
    time = on[scene.costly(worse)]
    off = 1 - float(time.mean()) if len(time) else 0.0
    return late + CLEAN_ON * float(on[~scene.shifted].mean()) + COSTLY_OFF * off
