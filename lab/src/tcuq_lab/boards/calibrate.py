"""What a network meets on development examples, and the examples that a board is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import integer
from tcuq_device.graph.model import Graph

from ..corruptions import suite_of
from ..data import Dataset
from ..data.parts import load_part
from ..methods.projection import WIDTH, projection
from ..streams import Description, Geometric, Segments, Shift, Stream, build
from ..zoo.bank import examples
from ..zoo.examples import inputs_of
from ..zoo.outputs import outputs
from ..zoo.weights import load_weights
from .quantize import quantize


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


CLEAN, SHIFTED = 240, 20
"""Examples as they are, and of every kind of corruption that development may see, at each severity."""
SEVERITIES = (1, 3, 5)


def calibration(task: str, clean: int = CLEAN, shifted: int = SHIFTED) -> npt.NDArray[Any]:
    """Return the development examples that scales come from.

    With clean ones alone, scales would cut off what corrupted input does to a network: its int8 form would
    be right as often, and yet speak with another confidence just where a monitor has to judge it.
    """
    integer("clean", clean, 1, 100_000)
    integer("shifted", shifted, 0, 100_000)
    dev = load_part(task, "dev")
    suite = suite_of(task)
    sources = [f"{kind}/{level}" for kind in suite.seen for level in suite.severities(kind, SEVERITIES)]
    parts = list(examples(some_of(dev, clean), ["clean"]))
    if shifted:
        parts += examples(some_of(dev, shifted), sources)
    return np.concatenate([x for _, x in parts])


def narrowed(path: str | Path, kept: int = WIDTH) -> tuple[Any, Any] | None:
    """Return the projection of a network's features to what a monitor can keep; None where they are few."""
    module, card = load_weights(path)
    dev = load_part(_task(path, card), "dev")
    clean = outputs(module, inputs_of(some_of(dev, CLEAN)))
    through = projection("pca", clean.features, kept)
    return None if through is None else (through.matrix, through.offset)


def quantize_file(path: str | Path, *, given: npt.NDArray[Any] | None = None, **more: Any) -> Graph:
    """Return the int8 graph of stored weights."""
    module, card = load_weights(path)
    config, task = card.get("config", {}), _task(path, card)
    about = {
        "weights": Path(path).name,
        "backbone": card["backbone"],
        "recipe": card["recipe"],
        "seed": config.get("seed"),
        "dataset": task,
    }
    shown = calibration(task) if given is None else given
    return quantize(module, shown, Path(path).stem.replace("-", "_"), about=about, **more)


def _task(path: str | Path, card: Mapping[str, Any]) -> str:
    """Return the data set that a network was trained on."""
    task = card.get("config", {}).get("dataset")
    if task is None:
        raise ValueError(f"{path}: its card names no data set; calibration examples are needed")
    return str(task)
