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
    """How much is shown to the monitor.

    Parameters
    ----------
    examples, dev_examples : int
        Of the test part and of the development part.
    steps, dev_steps : int
        Of a stream.
    streams : int
        Test streams.
    kinds : int
        Unseen kinds of corruption of a test stream; development shows all that it may see.
    severities : tuple of int
    dwell : float
        Mean steps of one class.
    seed : int
        Of streams and corruptions.
    """

    examples: int = 400
    dev_examples: int = 400
    steps: int = 6000
    dev_steps: int = 12_000
    streams: int = 3
    kinds: int = 4
    severities: tuple[int, ...] = (1, 3, 5)
    dwell: float = 16.0
    seed: int = 0


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
    """Return a stream of clean and corrupted stretches.

    Parameters
    ----------
    data : Dataset
    part : str
    kinds : sequence of str
        Of corruption.
    sizes : ShownSizes
    number : int
        Of the stream: each has its own.
    steps : int
    """
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
