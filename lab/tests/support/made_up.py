"""Logs of a made-up classifier, in place of networks and data, for the experiment on streams of any pace."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tcuq import Alarm, AlarmSide, Log, Params
from tcuq_lab.reproduce.any_stream.units import Shown, Unit

CLASSES = 3
HARDNESS = {"clean": 0.0, "easy/1": 0.1, "hard/5": 2.4}


def drawn(sources: np.ndarray, dwell: float, rng: np.random.Generator) -> Log:
    """Return what a classifier says that sees its class through noise, a step for each source."""
    steps = len(sources)
    new = rng.random(steps) < 1 / dwell
    new[0] = True
    truth = rng.integers(0, CLASSES, steps)[np.maximum.accumulate(np.where(new, np.arange(steps), 0))]
    hard = np.array([HARDNESS[source] for source in sources])
    logits = 4.0 * np.eye(CLASSES)[truth] + rng.normal(0, 1, (steps, CLASSES)) * (1.2 + hard)[:, None]
    probs = np.exp(logits - logits.max(1, keepdims=True))
    features = np.concatenate([logits, hard[:, None] + rng.normal(0, 1, (steps, 1))], axis=1)
    kinds = np.unique(list(HARDNESS), return_inverse=True)[1]
    number = dict(zip(HARDNESS, kinds, strict=True))
    return Log(
        (probs / probs.sum(1, keepdims=True)).astype(np.float32),
        features.astype(np.float32),
        truth,
        shifted=np.array([number[source] for source in sources]),
    )


def segments(steps: int, length: int = 100) -> np.ndarray:
    """Return the sources of a stream of clean and shifted segments in turn."""
    round_ = np.repeat(["clean", "hard/5", "clean", "easy/1"], length)
    return np.resize(round_, steps)


def made_unit(seed: int, steps: int = 1200, clean: Log | None = None) -> Unit:
    """Return all logs of one made-up network."""
    rng = np.random.default_rng(seed)
    still = np.full(steps, "clean")

    def one(dwell: float) -> Shown:
        return Shown(drawn(segments(steps), dwell, rng), segments(steps), drawn(segments(steps), dwell, rng))

    names = {"class 1": 1, "class 4": 4, "class 16": 16, "class 64": 64}
    kinds = {source.partition("/")[0]: np.full(400, source) for source in HARDNESS}
    return Unit(
        seed,
        drawn(segments(2 * steps), 4, rng),
        drawn(still, 4, rng),
        drawn(still, 4, rng) if clean is None else clean,
        {name: one(dwell) for name, dwell in names.items()},
        {kind: Shown(drawn(sources, 1, rng), sources) for kind, sources in kinds.items()},
    )


def shown(parts: Sequence[tuple[int, Sequence[float], str]]) -> Shown:
    """Return a stream of steps that are all alike within a part: steps, posterior, source."""
    counts = [count for count, _, _ in parts]
    probs = np.repeat([probs for _, probs, _ in parts], counts, axis=0)
    sources = np.repeat([source for _, _, source in parts], counts)
    labels = np.zeros(len(probs), int)
    return Shown(Log(probs, labels=labels, shifted=(sources != "clean").astype(int)), sources)


def alarm_params() -> Params:
    """Return a monitor whose risk is 1 - confidence, and whose alarm sums it above 0.3 up to 1."""
    side = AlarmSide(allowance=0.2, limit=1.0, cap=1.0)
    return Params(classes=CLASSES, signals=("doubt",), blend=0.0, alarm=Alarm(mean=0.1, rise=side))
