"""The int8 graphs that figures are measured with: stored ones, so that every machine measures the same.

Quantizing takes scales from a float network, whose last bits depend on the machine: graphs of two machines
differ in some values, and their accuracies by an example or so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import known
from tcuq_device.graph.model import Graph
from tcuq_device.graph.storage import load_graph

from ..corruptions import suite_of
from ..data import Dataset
from ..data.parts import load_part
from ..methods import method, names_of, suffix_of
from ..methods.projection import WIDTH, projection
from ..streams import Description, Geometric, Segments, Shift, Stream, build
from ..zoo.examples import examples, inputs_of
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


def calibration(task: str) -> npt.NDArray[Any]:
    """Return the development examples that scales come from.

    With clean ones alone, scales would cut off what corrupted input does to a network: its int8 form would
    be right as often, and yet speak with another confidence just where a monitor has to judge it.
    """
    dev = load_part(task, "dev")
    suite = suite_of(task)
    sources = [f"{kind}/{level}" for kind in suite.seen for level in suite.severities(kind, SEVERITIES)]
    parts = [*examples(some_of(dev, CLEAN), ["clean"]), *examples(some_of(dev, SHIFTED), sources)]
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


FOLDER = "int8"
"""Beside the weights."""
BACKBONES = {"speech_commands": "dscnn", "cifar10": "resnet8", "mnist": "cnn4"}
SEVERAL = {"exits": "early_exit", "hydra": "hydra", "dropout": "mc_dropout"}
"""Networks of recipes of their own, and the methods that they belong to."""
MEMBERS = 5
"""Networks of a deep ensemble."""

Say = Callable[[str], None]


class Difference(NamedTuple):
    """How many values of two graphs differ, and of how many."""

    values: int
    of: int


def stored_path(weights: str | Path, headroom: float = 1.0) -> Path:
    """Return where the graph of a file of weights is stored."""
    path = Path(weights)
    end = "" if headroom == 1 else f"-headroom-{headroom:g}"
    return path.parent / FOLDER / f"{path.stem}{end}.npz"


def stored_or(path: Path, make: Callable[[], Graph], say: Say) -> Graph:
    """Return the graph of a file, or make one and say so."""
    if path.exists():
        return load_graph(path)
    say(f"{path} is not stored: quantized here; on another machine some examples may come out differently")
    return make()


def difference(first: Graph, second: Graph) -> Difference | None:
    """Return how many values of two graphs differ; None where their steps or shapes do."""
    if list(first.tensors) != list(second.tensors) or len(first.steps) != len(second.steps):
        return None
    pairs: list[tuple[Any, Any]] = []
    for name, tensor in first.tensors.items():
        other = second.tensors[name]
        if tensor.shape != other.shape:
            return None
        pairs += [(tensor.scale, other.scale), (tensor.zero, other.zero)]
    for one, two in zip(first.steps, second.steps, strict=True):
        if type(one) is not type(two):
            return None
        pairs += [(getattr(one, each.name), getattr(two, each.name)) for each in fields(one)]
    if any(np.shape(a) != np.shape(b) for a, b in pairs):
        return None
    return Difference(sum(int(np.sum(a != b)) for a, b in pairs), sum(np.size(a) for a, _ in pairs))


class TaskGraphs:
    """The graphs of a task's networks."""

    def __init__(self, task: str, weights: str | Path, say: Say) -> None:
        self.task, self.home, self._say = known("task on boards", task, BACKBONES), Path(weights), say
        self.backbone = BACKBONES[task]

    @cached_property
    def names(self) -> dict[str, list[str]]:
        """Files of weights without their ending, by kind: "plain" first, the one with a monitor leading."""
        found = {"plain": [f"{self.backbone}-{seed}" for seed in range(MEMBERS)]}
        for kind, name in SEVERAL.items():
            rival = method(name)
            suffix = suffix_of(rival, self.backbone, self.home)
            found[kind] = [names_of(rival, self.backbone, 0, suffix)[0]]
        return found

    @cached_property
    def base(self) -> Graph:
        """The graph of the network that monitors watch."""
        return self.graph(self.names["plain"][0])

    @cached_property
    def _calibration(self) -> Any:
        return calibration(self.task)

    def path(self, name: str) -> Path:
        """Return where a graph is stored."""
        return stored_path(self.home / f"{name}.npz")

    def graph(self, name: str) -> Graph:
        """Return the stored graph of a network, or one that is quantized now."""
        return stored_or(self.path(name), lambda: self.quantized(name), self._say)

    def quantized(self, name: str) -> Graph:
        """Quantize a network again.

        Members of a firmware see one input: that of the first.
        """
        weights = self.home / f"{name}.npz"
        if name == self.names["plain"][0]:
            return quantize_file(weights, projection=narrowed(weights), given=self._calibration)
        entry = self.base.tensors[self.base.input]
        return quantize_file(weights, entry=(entry.scale, entry.zero), given=self._calibration)
