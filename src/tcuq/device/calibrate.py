"""Stored weights to a graph, with scales from clean and corrupted development examples of their task."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..checks import integer
from ..corruptions import suite_of
from ..data import Dataset
from ..data.parts import load_part
from ..zoo.bank import examples
from ..zoo.weights import load_weights
from .graph import Graph
from .quantise import quantise

CLEAN, SHIFTED = 240, 20
"""Examples as they are, and of every kind of corruption that development may see, at each severity."""
SEVERITIES = (1, 3, 5)


def calibration(task: str, clean: int = CLEAN, shifted: int = SHIFTED) -> npt.NDArray[Any]:
    """Return the development examples that scales come from.

    With clean ones alone, scales would cut off what corrupted input does to a network: its int8 form would
    be right as often, and yet speak with another confidence just where a monitor has to judge it.

    Parameters
    ----------
    task : str
        Of `tcuq.data.parts`.
    clean, shifted : int
        How many, the latter of each kind and severity; 0 leaves corruptions out.
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


def quantise_file(
    path: str | Path, name: str | None = None, *, clean: int = CLEAN, shifted: int = SHIFTED, **more: Any
) -> Graph:
    """Return the int8 graph of stored weights.

    Parameters
    ----------
    path : path
        See `tcuq.zoo.weights`; the data set that its card names must be at hand.
    name : str, optional
        A C identifier; that of the file by default.
    clean, shifted : int
        As for `calibration`.
    more
        Projection, softmax and settings, as for `quantise`.
    """
    module, card = load_weights(path)
    plan = card.get("config", {})
    if "dataset" not in plan:
        raise ValueError(f"{path}: its card names no data set; calibration examples are needed")
    about = {
        "weights": Path(path).name,
        "backbone": card["backbone"],
        "recipe": card["recipe"],
        "seed": plan.get("seed"),
        "dataset": plan["dataset"],
    }
    given = calibration(plan["dataset"], clean, shifted)
    return quantise(module, given, name or Path(path).stem.replace("-", "_"), about=about, **more)
