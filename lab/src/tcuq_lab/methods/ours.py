"""Monitors as `tcuq.fit` makes them, as methods; their alarms at any limit."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tcuq import FitOptions, Log, Monitor, Params, fit
from tcuq.base.fixed import ONE
from tcuq.fitting.arrays import added_in_run, compared, novelty
from tcuq.fitting.clean import in_format
from tcuq.metrics.inputs import Bools, Floats, Ints
from tcuq.monitor.monitor import run_over
from tcuq.monitor.signals import NUMBER

from ..detection.switches import Limits, capped
from ..harness.types import Answers, Array, Outputs, Switch
from ..metrics.limits import candidates, rested_sums


class Ours:
    """A fitted monitor; a fresh one watches each stretch, as what one learns outlives a reset."""

    def __init__(
        self, params: Params, about: str = "prediction", second: Params | None = None, movable: bool = False
    ) -> None:
        self.params, self.about, self.second = params, about, second
        self.movable = movable  # the limit of its alarm may be moved; stretches are as long as each other

    def watch(self, seen: Outputs) -> Answers:
        """Say risk, class, alarm and accuracy; a second monitor may speak of the prediction."""
        steps, signals = run(self.params, seen, self.movable)
        accuracy = steps["expected_accuracy"]
        about = steps["risk"] if self.about == "prediction" else None
        if self.second is not None:
            about = run(self.second, seen)[0]["risk"]
        return Answers(
            steps["risk"],
            steps[self.about].astype(np.int64),
            self._alarm(seen, steps, signals),
            None if np.isnan(accuracy).any() else accuracy,
            ~steps["abstain"].astype(bool),
            about,
        )

    def _alarm(self, seen: Outputs, steps: Array, signals: Array | None) -> Any:
        on = np.asarray(steps["alarm"] > 0)
        if signals is None or self.params.evidence is None:
            return on
        pieces = seen.pieces()
        added = np.stack(
            [added_to(self.params, seen.taken(at).log(), steps[at], signals[at]) for at in pieces]
        )
        limit = int(self.params.alarm.integers()["rise_limit"])
        if not limit:
            return on

        def path(settled: Bools) -> Floats:
            tried = candidates(rested_sums(added, settled))
            return tried[tried >= 1]

        found = Switch(summed(self.params, added), path, limit)
        differ = float((found.at_limit() != on.reshape(added.shape)).mean())
        if differ:
            raise RuntimeError(f"the alarm is not what its sum says at {differ:.2%} of the steps")
        return found

    @property
    def choice(self) -> str:
        """What the fit decided, in one line."""
        notes = self.params.notes["fit"]
        said = [
            f"signals {' '.join(self.params.signals)}",
            f"{notes['steps']} steps",
            f"persistence {notes.get('persistence', float('nan')):.3g}",
            f"alarm {notes.get('evidence', {}).get('chosen', 'unknown')}",
            f"{len(notes.get('warnings', ()))} warnings",
        ]
        return ", ".join(said)


def run(params: Params, seen: Outputs, signals: bool = False) -> tuple[Array, Array | None]:
    """Return what a fresh monitor says to each stretch, and its signals if they are asked for."""
    logs = [part.log() for part in seen.split()]
    if not signals:
        return np.concatenate([np.asarray(run_over(Monitor(params), log)) for log in logs]), None
    both = [run_over(Monitor(params), log, signals=True) for log in logs]
    said, seen_signals = (np.concatenate([np.asarray(each) for each in of]) for of in zip(*both, strict=True))
    return said, seen_signals


def fitted(log: Log, clean: Log | None, explain: bool = False, **options: Any) -> Params:
    """Return the monitor that `tcuq.fit` makes."""
    return fit(log, clean=clean, force=True, options=FitOptions(explain=explain), **options)


def added_to(params: Params, log: Log, steps: Any, signals: Floats) -> Ints:
    """Return what a fresh monitor adds to the rise side of its alarm at each step, Q16.16."""
    head, still = params.evidence, None
    assert head is not None
    if head.frozen:
        odds = np.round(signals[:, NUMBER["odds"]] * ONE).astype(np.uint16)
        values = compared(in_format(log, params), None if "distance" in params.signals else odds)
        _, stillness = novelty(values, head.reach, np.arange(len(log)) == 0)
        still = stillness > head.frozen
    return added_in_run(params, steps, signals, still)


def summed(params: Params, added: Ints) -> Callable[[Limits], Bools]:
    """Return what the alarm of a monitor does at any limits; it is held and cleared as that of the core."""
    found = params.alarm.integers()
    back = found["rise_limit"] - found["rise_clear"]
    return partial(capped, added, back=back, hold=found["least_raised"])
