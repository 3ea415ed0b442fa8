"""A baseline that knows nothing but the step number: what a stream gives away by its layout alone.

A stream that is clean first and then worse and worse rewards any score that rises with time. On streams
whose clean and shifted stretches alternate from a random first state, and which are also played
backwards, the clock must do no better than chance.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import integer, number
from tcuq.metrics.inputs import Bools, Floats

from ..metrics import average_precision, prevalence
from ..metrics.drops import WINDOW, Band, clean_band, drop_events
from ..streams import Description, Geometric, Literal, Segments, Shift, Stationary, Stream, build
from ..streams.layout import MOST_REVERSED

CLEAN_STEPS = 200_000
Right = Callable[[Stream], Bools]


def clock(steps: int, backwards: bool = False) -> Floats:
    """Return the step number as a score, or its reverse."""
    count = np.arange(integer("steps", steps, 0, 2**31), dtype=np.float64)
    return count[::-1].copy() if backwards else count


def simulated(clean: float = 0.85, shifted: float = 0.5) -> Right:
    """Return a classifier that is right by chance: less often the more severe a corruption is."""
    high, low = number("clean", clean, 0, 1), number("shifted", shifted, 0, 1)

    def right(stream: Stream) -> Bools:
        severities = [int(name.partition("/")[2] or 0) for name in stream.sources]
        share = np.array([high - (high - low) * severity / 5 for severity in severities])
        # Other streams, other luck: the digest names the stream.
        luck = int.from_bytes(hashlib.sha256(stream.digest().encode()).digest()[:8], "little")
        return np.asarray(np.random.default_rng(luck).random(len(stream)) < share[stream.source])

    return right


def clock_precision(right: npt.ArrayLike, band: Band, backwards: bool = False) -> tuple[float, float]:
    """Return the average precision of the clock for the drop events of a stream, and their prevalence."""
    drops = drop_events(right, band)
    score = clock(len(drops.event), backwards)[drops.judged]
    event = drops.event[drops.judged]
    return average_precision(score, event), prevalence(event)


@dataclass(frozen=True)
class ClockReport:
    """What the clock reaches."""

    layouts: int
    steps: int
    prevalence: float
    forwards: float
    backwards: float
    spread: float
    literal: float
    literal_prevalence: float

    @property
    def bias(self) -> float:
        """The larger distance of a mean average precision from the prevalence."""
        return max(abs(self.forwards - self.prevalence), abs(self.backwards - self.prevalence))


def clock_report(
    layouts: int = 20,
    steps: int = 10_000,
    seed: int = 0,
    *,
    right: Right | None = None,
    labels: npt.ArrayLike | None = None,
    shifts: Sequence[Shift] = (Shift("fog", (5,)),),
    rising: Shift | None = None,
    dwell: float = 1.0,
    mean: float = 250.0,
    minimum: int = 100,
    m: int = WINDOW,
) -> ClockReport:
    """Let the clock answer on streams of the lab."""
    count = integer("layouts", layouts, 2, 1_000_000)
    length = integer("steps", steps, 2 * m, MOST_REVERSED)
    answers = right or simulated()
    classes = np.arange(10_000) % 10 if labels is None else labels
    worst = rising or Shift(shifts[0].kind, (1, 2, 3, 4, 5))

    def stream(**given: Any) -> Stream:
        fixed: dict[str, Any] = {"dataset": "cifar10", "part": "test", "steps": length}
        return build(Description(**{**fixed, "dwell": Geometric(dwell), **given}), classes)

    still = stream(seed=seed, layout=Stationary(), steps=CLEAN_STEPS)
    band = clean_band([answers(still)], m)
    rows: list[Any] = []
    for number_ in range(count):
        pair = []
        for turned in (False, True):
            layout = Segments(mean=mean, minimum=minimum, reversed=turned)
            where = answers(stream(seed=seed + number_, layout=layout, shifts=tuple(shifts)))
            area, share = clock_precision(where, band)
            if share > 0:
                pair.append((area, clock_precision(where, band, backwards=True)[0], share))
        if pair:
            rows.append(np.mean(pair, axis=0))
    if len(rows) < 2:
        raise ValueError(f"{len(rows)} of {count} layouts have drop events, expected at least 2")
    forwards, backwards, share = np.mean(rows, axis=0).tolist()
    excess = np.array([row[0] - row[2] for row in rows])
    spread = float(excess.std(ddof=1) / np.sqrt(len(rows)))
    parts = 2 * len(worst.severities)
    falling = stream(
        seed=seed, layout=Literal(), shifts=(worst,), dwell=Geometric(1), steps=length // parts * parts
    )
    area, part = clock_precision(answers(falling), band)
    return ClockReport(len(rows), length, share, forwards, backwards, spread, area, part)
