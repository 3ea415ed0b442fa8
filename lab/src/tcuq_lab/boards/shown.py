"""What is shown to networks on boards and to their monitors: sizes, some examples, streams in segments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..corruptions import suite_of
from ..data import Dataset
from ..streams import Description, Geometric, Segments, Shift, Stream, build


@dataclass(frozen=True)
class ShownSizes:
    """How much is shown to the monitor."""

    examples: int = 400  # of the test part and of the development part
    dev_examples: int = 400
    steps: int = 6000  # of a stream
    dev_steps: int = 12_000
    streams: int = 3  # test streams
    kinds: int = 4  # unseen kinds of corruption of a test stream; development shows all that it may see
    severities: tuple[int, ...] = (1, 3, 5)
    dwell: float = 16.0  # mean steps of one class
    seed: int = 0  # of streams and corruptions


def some_of(data: Dataset, most: int) -> Dataset:
    """Return at most so many examples, evenly spread: some parts lie class by class.

    Examples
    --------
    >>> whole = Dataset("x", "dev", np.arange(10), np.arange(10), "none", "made up")
    >>> some_of(whole, 4).y.tolist(), len(some_of(whole, 99).y)
    ([0, 2, 5, 7], 10)
    """
    count = min(most, len(data.y))
    rows = np.arange(count) * len(data.y) // count
    return replace(data, x=data.x[rows], y=data.y[rows])


def stream(
    data: Dataset, part: str, kinds: Sequence[str], sizes: ShownSizes, number: int, steps: int
) -> Stream:
    """Return a stream of clean and corrupted stretches."""
    suite = suite_of(data.name)
    plan = Description(
        dataset=data.name,
        part=part,
        seed=1000 * sizes.seed + number,
        steps=steps,
        dwell=Geometric(sizes.dwell),
        layout=Segments(),
        shifts=tuple(Shift(kind, suite.severities(kind, sizes.severities)) for kind in kinds),
    )
    return build(plan, data.y)
