"""The int8 graphs that figures are measured with: stored ones, so that every machine measures the same.

Quantizing takes scales from a float network, whose last bits depend on the machine: graphs of two machines
differ in some values, and their accuracies by an example or so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tcuq.base.checks import known
from tcuq_device.graph.model import Graph
from tcuq_device.graph.steps import Step
from tcuq_device.graph.storage import load_graph

from ..methods.registry import method, names_of, suffix_of
from .calibrate import calibration, narrowed, quantize_file

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
        pairs += zip(_values(one), _values(two), strict=True)
    if any(np.shape(a) != np.shape(b) for a, b in pairs):
        return None
    return Difference(sum(int(np.sum(a != b)) for a, b in pairs), sum(np.size(a) for a, _ in pairs))


def _values(step: Step) -> list[Any]:
    return [getattr(step, each.name) for each in fields(step)]


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
