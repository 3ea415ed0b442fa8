"""A made-up network for the experiment `questions`: streams of four classes with features, no dataset."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tcuq import Log
from tcuq_lab.methods.method import Labeled, Observed
from tcuq_lab.reproduce.field.plan import UnitPlan
from tcuq_lab.reproduce.field.units import PLAIN, Shown, _taken

DWELLS = {"class 1": 1, "class 16": 16, "class 64": 64, "object 16": 16, "changing pace": 16,
          "mixed": 12}  # fmt: skip
NAMES, KINDS = ("clean", "fog/1", "noise/3"), ("clean", "fog", "noise")
NOISE = (0.9, 1.3, 3.0)
"""Of the logits, by source: the last costs accuracy."""


def stretch(steps: int, dwell: float, rng: np.random.Generator, clean: bool = False):
    """Return logits, features, labels and sources of one stretch."""
    labels = np.empty(steps, dtype=np.int64)
    current = rng.integers(4)
    for t in range(steps):
        current = rng.integers(4) if rng.random() < 1 / dwell else current
        labels[t] = current
    sources = np.zeros(steps, dtype=np.int64)
    if not clean:
        for number, start in enumerate(range(60, steps, 120)):
            sources[start : start + 60] = 1 + number % 2
    noise = np.array(NOISE)[sources]
    logits = 2.5 * np.eye(4)[labels] + rng.normal(0, 1, (steps, 4)) * noise[:, None]
    features = np.hstack([logits, rng.normal(0, 1, (steps, 2)) * noise[:, None]])
    return logits, np.maximum(features, 0), labels, sources


class MadeUnit:
    """What `units.Unit` gives, made up.

    Parameters
    ----------
    seed : int
    assisted : bool
        Whether there is another network of this seed.
    """

    task = "cifar10"

    def __init__(self, seed: int = 0, assisted: bool = True) -> None:
        self.seed, self.assisted = seed, assisted
        self.plan = UnitPlan(self.task, seed)
        self._made: dict[str, tuple[Shown, Observed]] = {}

    def has(self, row) -> bool:
        return row is PLAIN or self.assisted

    def _role(self, role: str, row=PLAIN) -> tuple[Shown, Observed]:
        key = f"{role} {row.label}"
        if key not in self._made:
            law = role.partition(" ")[2] if role.startswith(("law", "test")) else "changing pace"
            count = {"dev": 4, "clean dev": 2}.get(role, 3)
            rng = np.random.default_rng([self.seed, sum(map(ord, role)), row is not PLAIN])
            parts = [stretch(360, DWELLS[law], rng, role == "clean dev") for _ in range(count)]
            logits, features, labels, sources = (np.concatenate(each) for each in zip(*parts, strict=True))
            probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
            segments = np.repeat(np.arange(count), 360)
            shown = Shown(labels, sources.astype(np.uint8), sources, segments, NAMES, KINDS)
            self._made[key] = shown, Observed(probs, features, segments=segments)
        return self._made[key]

    def shown(self, role: str) -> Shown:
        return self._role(role)[0]

    def observed(self, role: str, row=PLAIN) -> Observed:
        return self._role(role, row)[1]

    def labeled(self, role: str, row=PLAIN) -> Labeled:
        shown, seen = self._role(role, row)
        kept = shown.judged
        return Labeled(_taken(seen, kept), shown.labels[kept], shown.shifts[kept])

    def log(self, role: str, *, labels: bool = True) -> Log:
        known = self.labeled(role)
        seen = known.observed if labels else self.observed(role)
        more = (known.labels, seen.segments, known.kinds) if labels else (None, seen.segments)
        return Log(seen.probs, seen.features, *more)

    def error_rates(self, role: str) -> dict[str, float]:
        shown, seen = self._role(role)
        wrong = seen.probs.argmax(axis=1) != shown.labels
        return {name: float(wrong[shown.sources == at].mean()) for at, name in enumerate(NAMES)}

    def pausing(self, role: str, every: int) -> None:
        """Take the true class off every so many steps, as in a pause of speech."""
        shown, seen = self._role(role)
        labels = shown.labels.copy()
        labels[::every] = -1
        self._made[f"{role} {PLAIN.label}"] = replace(shown, labels=labels), seen
