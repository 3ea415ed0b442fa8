"""Losses over the steps of a training: noted in passing, kept beside the weights, thinned to be drawn."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tcuq.base.atomic_files import write_whole
from tcuq.base.checks import integer

from .config import Config

FORMAT = "tcuq-curves"
DIGITS = 6
"""Significant digits of a loss in the file; float32 has seven."""


class Curves:
    """The losses of every n-th step, as a training goes on.

    What is noted waits on its device until the end of the epoch: fetching it at once would hold up a GPU.
    """

    def __init__(self, every: int = 1) -> None:
        self.every = integer("curves", every, 1, 1_000_000)
        self._names: tuple[str, ...] = ()
        self._done: list[Tensor] = []
        self._new: list[Tensor] = []

    def wants(self, step: int) -> bool:
        """Return whether a step is noted."""
        return step % self.every == 0

    def note(self, loss: Tensor, terms: Mapping[str, Tensor]) -> None:
        """Take what a step made small, and the losses of the head and the exits."""
        self._names = ("loss", *terms)
        self._new.append(torch.stack([each.detach() for each in (loss, *terms.values())]))

    def end_epoch(self) -> None:
        """Fetch what was noted since the last end of an epoch."""
        if self._new:
            self._done.append(torch.stack(self._new).cpu())
        self._new = []

    def values(self) -> dict[str, list[float]]:
        """Return the losses of all epochs that ended, by name."""
        if not self._done:
            return {}
        columns = torch.cat(self._done).T.tolist()
        return {
            name: [float(f"{value:.{DIGITS}g}") for value in column]
            for name, column in zip(self._names, columns, strict=True)
        }

    def kept(self) -> dict[str, Any]:
        """Return what the state of a training holds of them."""
        return {"every": self.every, "names": list(self._names), "done": self._done}

    def resume(self, kept: Mapping[str, Any] | None) -> None:
        """Go on from what a state holds."""
        if kept is None:
            raise ValueError("state of a training without curves; remove it to begin again")
        if kept["every"] != self.every:
            raise ValueError(f"curves is {self.every}, expected {kept['every']}, as in this state")
        self._names, self._done, self._new = tuple(kept["names"]), list(kept["done"]), []


def curves_of(weights: Path) -> Path:
    """Return the file of curves that belongs to a file of weights."""
    return weights.with_name(f"{weights.stem}.curves.json")


def write_curves(path: Path, curves: Curves, config: Config, steps_per_epoch: int) -> None:
    """Write the curves of a training that is over."""
    content = {
        "format": FORMAT,
        "config": config.to_dict(),
        "every": curves.every,
        "steps_per_epoch": steps_per_epoch,
        "steps": steps_per_epoch * config.epochs,
        "curves": curves.values(),
    }
    write_whole(path, json.dumps(content, allow_nan=False) + "\n")


def read_curves(path: str | Path) -> dict[str, Any]:
    """Return the content of a file of curves: number i of a curve is the loss of step i x `every`."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        if content["format"] != FORMAT or not isinstance(content["config"], dict):
            raise KeyError
        every, count = int(content["every"]), -(-int(content["steps"]) // int(content["every"]))
        if any(len(each) != count for each in content["curves"].values()):
            raise ValueError(f"a curve of every {every} steps has no {count} numbers")
    except (ValueError, KeyError, TypeError, AttributeError, ZeroDivisionError) as error:
        raise ValueError(f"{path}: no curves of tcuq ({type(error).__name__})") from None
    return dict(content)


def thinned(content: Mapping[str, Any], most: int = 300) -> dict[str, list[float]]:
    """Return curves of at most so many points: means over stretches of steps, all of about one length.

    Examples
    --------
    >>> found = {"every": 1, "steps_per_epoch": 2, "curves": {"head": [4.0, 2.0, 1.0, 1.0]}}
    >>> thinned(found, 2)
    {'epoch': [0.25, 1.25], 'head': [3.0, 1.0]}
    """
    integer("most", most, 1, 1_000_000)
    curves = {name: np.asarray(values, dtype=np.float64) for name, values in content["curves"].items()}
    length = len(next(iter(curves.values()), ()))
    epoch = np.arange(length) * int(content["every"]) / int(content["steps_per_epoch"])
    return {
        name: [float(f"{part.mean():.{DIGITS}g}") for part in np.array_split(values, min(most, length) or 1)]
        for name, values in {"epoch": epoch, **curves}.items()
    }
