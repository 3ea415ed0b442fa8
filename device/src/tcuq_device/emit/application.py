"""A network and its monitor: whether they fit together, and test inputs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tcuq.base.errors import InputError, wrong_value
from tcuq.export import check_name
from tcuq.monitor.params import Params

from ..firmware.firmware import posteriors
from ..generate.source import takes_random
from ..graph import oracle
from ..graph.gauges import gauges_of
from ..graph.model import Graph
from ..graph.steps import Int8

MADE = 2
"""Inputs in flash, for the self-check and the demonstration."""
MOST_NAME = 20
RESERVED = ("board", "example")
"""Names whose files or functions a package has already."""
TOLERANCE = 1e-3
"""Scales that differ by a smaller share are the same number, printed and read again."""


@dataclass(frozen=True, eq=False)
class Application:
    """What is emitted.

    Parameters
    ----------
    graph : Graph
    params : Params
    name : str
        Begins all names of the package.

    Raises
    ------
    ValueError
        In one line, where network and monitor do not belong together.
    """

    graph: Graph
    params: Params
    name: str = "app"

    def __post_init__(self) -> None:
        check_name(self.name)
        if self.name in RESERVED or len(self.name) > MOST_NAME:
            raise wrong_value(
                "name", self.name, f"another than {' and '.join(RESERVED)}, at most {MOST_NAME} characters"
            )
        _check_graph(self.graph)
        _check_pair(self.graph, self.params)
        gauges_of(self.graph, self.params)

    @property
    def inputs(self) -> Int8:
        """The inputs in flash."""
        return made_inputs(self.graph, MADE)

    def digests(self) -> list[int]:
        """Return what the self-check expects of every stored input: a digest of posterior and features."""
        shape = self.graph.tensors[self.graph.input].shape
        outputs = oracle.run(self.graph, self.inputs.reshape(-1, *shape))
        parts = [outputs["probs"], *([outputs["features"]] if self.features else [])]
        rows = np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)
        return [_digest(row.tobytes()) for row in rows]

    @property
    def features(self) -> int:
        """Features that the monitor reads."""
        return self.params.features


def _digest(content: bytes) -> int:
    found = 2166136261
    for byte in content:
        found = (found ^ byte) * 16777619 & 0xFFFFFFFF
    return found


def _check_graph(graph: Graph) -> None:
    if "probs" not in graph.outputs:
        raise InputError(
            "missing",
            f"outputs of graph {graph.name} are {', '.join(graph.outputs)}; probs is needed: "
            "import a model without a softmax with --softmax",
        )
    if len(posteriors(graph)) > 1:
        problem = f"graph {graph.name} gives {len(posteriors(graph))} posteriors, expected one"
        raise InputError("unsupported", problem)
    probs = graph.tensors[graph.outputs["probs"]]
    if probs.zero != -128 or abs(256 * probs.scale - 1) > TOLERANCE:
        raise InputError(
            "value",
            f"the posterior of graph {graph.name} has scale {probs.scale:g} and zero {probs.zero}, "
            "expected 1/256 and -128: the output of a softmax is needed",
        )
    if takes_random(graph):
        problem = f"graph {graph.name} drops values at random, expected a network that does not"
        raise InputError("unsupported", problem)


def _check_pair(graph: Graph, params: Params) -> None:
    classes = graph.tensors[graph.outputs["probs"]].size
    if params.classes != classes:
        raise InputError(
            "conflict",
            f"the monitor is for {params.classes} classes, the network gives {classes}: "
            "fit a monitor to a log of this network",
        )
    if not params.features:
        return
    if "features" not in graph.outputs:
        raise InputError(
            "conflict",
            f"the monitor reads {params.features} features, graph {graph.name} gives none: "
            "import the model again with its features, or fit a monitor without them",
        )
    made = graph.tensors[graph.outputs["features"]]
    if params.features != made.size:
        raise InputError(
            "conflict",
            f"the monitor reads {params.features} features, the network gives {made.size}: "
            "fit a monitor to a log of this network",
        )
    ratio = params.feature_scale / made.scale
    if params.feature_zero_point != made.zero or abs(ratio - 1) > TOLERANCE:
        raise InputError(
            "conflict",
            f"the monitor is for features of scale {params.feature_scale:g} and zero "
            f"{params.feature_zero_point}, the network gives scale {made.scale:g} and zero {made.zero}: "
            "fit a monitor to a log of this network (where the log is one, with --feature-scale "
            f"{made.scale:.9g} --feature-zero-point {made.zero})",
        )


def made_inputs(graph: Graph, count: int, seed: int = 0) -> Int8:
    """Return arbitrary inputs that are the same on every machine."""
    size = graph.tensors[graph.input].size
    raw = np.random.PCG64(seed).random_raw(count * size)
    return (np.asarray(raw >> np.uint64(56), np.int64) - 128).astype(np.int8).reshape(count, size)
