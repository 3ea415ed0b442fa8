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

from ..detection.events import WINDOW, Band, clean_band, drop_events
from ..metrics import average_precision, prevalence
from ..streams import Description, Geometric, Literal, Segments, Shift, Stationary, Stream, build
from ..streams.layout import MOST_REVERSED

CLEAN_STEPS = 200_000
Right = Callable[[Stream], Bools]


def clock(steps: int, backwards: bool = False) -> Floats:
    """Return the step number as a score, or its reverse.

    Parameters
    ----------
    steps : int
        Steps of the stream.
    backwards : bool, default False
        Fall from `steps` - 1 to 0 instead of rising.

    Returns
    -------
    array of `steps` floats
        A score a step, higher later in the stream.

    Examples
    --------
    >>> clock(3).tolist(), clock(3, backwards=True).tolist()
    ([0.0, 1.0, 2.0], [2.0, 1.0, 0.0])
    """
    count = np.arange(integer("steps", steps, 0, 2**31), dtype=np.float64)
    return count[::-1].copy() if backwards else count


def simulated(clean: float = 0.85, shifted: float = 0.5) -> Right:
    """Return a classifier that is right by chance: less often the more severe a corruption is.

    Parameters
    ----------
    clean, shifted : float
        Accuracy on clean steps and at severity 5; in between it falls in equal steps.
    """
    high, low = number("clean", clean, 0, 1), number("shifted", shifted, 0, 1)

    def right(stream: Stream) -> Bools:
        severities = [int(name.partition("/")[2] or 0) for name in stream.sources]
        share = np.array([high - (high - low) * severity / 5 for severity in severities])
        # Other streams, other luck: the digest names the stream.
        luck = int.from_bytes(hashlib.sha256(stream.digest().encode()).digest()[:8], "little")
        return np.asarray(np.random.default_rng(luck).random(len(stream)) < share[stream.source])

    return right


def clock_precision(right: npt.ArrayLike, band: Band, backwards: bool = False) -> tuple[float, float]:
    """Return the average precision of the clock for the drop events of a stream, and their prevalence.

    Parameters
    ----------
    right : array of T booleans
    band : Band
    backwards : bool
    """
    drops = drop_events(right, band)
    score = clock(len(drops.event), backwards)[drops.judged]
    event = drops.event[drops.judged]
    return average_precision(score, event), prevalence(event)


@dataclass(frozen=True)
class ClockReport:
    """What the clock reaches.

    Parameters
    ----------
    layouts, steps : int
        Layouts without any drop event are left out.
    prevalence : float
        Of drop events, over all layouts and their reverses.
    forwards, backwards : float
        Mean average precision of the clock and of its reverse, over all layouts and their reverses.
    spread : float
        Standard error of the mean of forwards minus prevalence, layouts being the units.
    literal, literal_prevalence : float
        On one stream that is clean first and then gets worse.
    """

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
    """Let the clock answer on streams of the lab.

    Parameters
    ----------
    layouts : int, default 20
        Streams that are drawn, at least 2. Each is also played backwards.
    steps : int, default 10000
        Of each stream; at least two windows.
    seed : int, default 0
        Of the first stream; those after it have the next ones.
    right : callable, optional
        Says where a classifier is right on a stream; `simulated` by default.
    labels : array, optional
        Of the dataset that the streams are made of; ten made-up classes by default.
    shifts : sequence of Shift, optional
        What the shifted stretches show; by default fog at severity 5.
    rising : Shift, optional
        What the literal stream shows, severity after severity; all five of the first kind by default.
    dwell : float, default 1.0
        Mean number of consecutive steps of one class; see `tcuq_lab.streams.Geometric`.
    mean : float, default 250.0
        Mean steps of a clean or shifted stretch; see `tcuq_lab.streams.Segments`.
    minimum : int, default 100
        Least steps of a stretch.
    m : int, default 100
        Steps of the accuracy window.

    Returns
    -------
    ClockReport
        Mean average precision of the clock and of its reverse beside the prevalence of drop events.

    Raises
    ------
    ValueError
        When fewer than two layouts have drop events.

    Examples
    --------
    >>> found = clock_report(layouts=4, steps=5000)
    >>> found.literal > found.literal_prevalence + 0.1
    True
    """
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
