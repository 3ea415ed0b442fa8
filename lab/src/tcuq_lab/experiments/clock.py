"""A baseline that knows nothing but the step number: what a stream gives away by its layout alone.

A stream that is clean first and then worse and worse rewards any score that rises with time. On streams
whose clean and shifted stretches alternate from a random first state, and which are also played
backwards, the clock must do no better than chance.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.metrics.inputs import Bools

from ..metrics import average_precision
from ..metrics.drops import Band, clean_band, drop_events
from ..streams import Description, Geometric, Literal, Segments, Shift, Stationary, Stream, build
from .drops import Ranking

CLEAN_STEPS = 200_000
CLEAN_RATE, SHIFTED_RATE = 0.85, 0.5
"""How often a simulated classifier is right, on clean input and at severity 5."""
Right = Callable[[Stream], Bools]


def simulated(stream: Stream) -> Bools:
    """Return where a classifier is right by chance: less often the more severe a corruption is."""
    severities = [int(name.partition("/")[2] or 0) for name in stream.sources]
    share = np.array([CLEAN_RATE - (CLEAN_RATE - SHIFTED_RATE) * severity / 5 for severity in severities])
    # Other streams, other luck: the digest names the stream.
    luck = int.from_bytes(hashlib.sha256(stream.digest().encode()).digest()[:8], "little")
    return np.asarray(np.random.default_rng(luck).random(len(stream)) < share[stream.source])


def clock_ranking(right: npt.ArrayLike, band: Band, backwards: bool = False) -> Ranking:
    """Return the step number, or its reverse, as a score for the drop events of a stream."""
    drops = drop_events(right, band)
    count = np.arange(len(drops.event), dtype=np.float64)
    return Ranking(count[::-1] if backwards else count, drops.event, drops.judged)


def clock_report(
    layouts: int = 20,
    steps: int = 10_000,
    *,
    right: Right = simulated,
    labels: npt.ArrayLike | None = None,
    shifts: Sequence[Shift] = (Shift("fog", (5,)),),
    rising: Shift | None = None,
    dwell: float = 1.0,
) -> dict[str, float]:
    """Let the clock answer on streams: its average precision beside the prevalence of drop events."""
    classes = np.arange(10_000) % 10 if labels is None else labels
    worst = rising or Shift(shifts[0].kind, (1, 2, 3, 4, 5))

    def shown(seed: int = 0, **given: Any) -> Bools:
        fixed: dict[str, Any] = {"dataset": "cifar10", "part": "test", "steps": steps, "seed": seed}
        return right(build(Description(**{**fixed, "dwell": Geometric(dwell), **given}), classes))

    band = clean_band([shown(layout=Stationary(), steps=CLEAN_STEPS)])
    rows: list[Any] = []
    for number in range(layouts):
        pair = []
        for turned in (False, True):
            where = shown(number, layout=Segments(reversed=turned), shifts=tuple(shifts))
            found = [clock_ranking(where, band, backwards) for backwards in (False, True)]
            if found[0].share > 0:
                pair.append((*(each.measure(average_precision) for each in found), found[0].share))
        if pair:
            rows.append(np.mean(pair, axis=0))
    if len(rows) < 2:
        raise ValueError(f"{len(rows)} of {layouts} layouts have drop events, expected at least 2")
    forwards, backwards, share = np.mean(rows, axis=0).tolist()
    excess = np.array([row[0] - row[2] for row in rows])
    spread = float(excess.std(ddof=1) / np.sqrt(len(rows)))
    whole = steps - steps % (2 * len(worst.severities))
    falling = shown(layout=Literal(), shifts=(worst,), dwell=Geometric(1), steps=whole)
    last = clock_ranking(falling, band)
    return {
        "prevalence": share,
        "clock": forwards,
        "reversed": backwards,
        "standard error": spread,
        "literal prev.": last.share,
        "literal clock": last.measure(average_precision),
    }
