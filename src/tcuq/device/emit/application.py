"""A network and the monitor that watches it: whether they belong together, and inputs to try them with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ...base.inputs import WRONG_SCALE, outside, whole_units
from ...base.limits import limits_given, read_limited
from ...export import check_name
from ...io.npz import arrays_of
from ...monitor.params import Params
from ..firmware.firmware import posteriors
from ..generate.source import takes_random
from ..graph import oracle
from ..graph.model import Graph
from ..graph.steps import Int8

MADE, MOST_STORED = 2, 16
"""Inputs in flash: how many are made up, and how many a user may give."""
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
    stored : int8 array (inputs, bytes), optional
        Inputs that are kept in flash for the self-check and the demonstration; made up by default.

    Raises
    ------
    ValueError
        In one line, where network and monitor do not belong together.
    """

    graph: Graph
    params: Params
    name: str = "app"
    stored: Int8 | None = None

    def __post_init__(self) -> None:
        check_name(self.name)
        if self.name in RESERVED or len(self.name) > MOST_NAME:
            raise ValueError(
                f"name is {self.name!r}, expected another than {' and '.join(RESERVED)}, "
                f"at most {MOST_NAME} characters"
            )
        _check_graph(self.graph)
        _check_pair(self.graph, self.params)

    @property
    def inputs(self) -> Int8:
        """The inputs in flash."""
        return made_inputs(self.graph, MADE) if self.stored is None else self.stored

    def digests(self) -> list[int]:
        """Return what the self-check expects of every stored input: a digest of posterior and features."""
        shape = self.graph.tensors[self.graph.input].shape
        said = oracle.run(self.graph, self.inputs.reshape(-1, *shape))
        parts = [said["probs"], *([said["features"]] if self.features else [])]
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
        raise ValueError(
            f"outputs of graph {graph.name} are {', '.join(graph.outputs)}; probs is needed: "
            "import a model without a softmax with --softmax"
        )
    if len(posteriors(graph)) > 1:
        raise ValueError(f"graph {graph.name} gives {len(posteriors(graph))} posteriors, expected one")
    probs = graph.tensors[graph.outputs["probs"]]
    if probs.zero != -128 or abs(256 * probs.scale - 1) > TOLERANCE:
        raise ValueError(
            f"the posterior of graph {graph.name} has scale {probs.scale:g} and zero {probs.zero}, "
            "expected 1/256 and -128: the output of a softmax is needed"
        )
    if takes_random(graph):
        raise ValueError(f"graph {graph.name} drops values at random, expected a network that does not")


def _check_pair(graph: Graph, params: Params) -> None:
    classes = graph.tensors[graph.outputs["probs"]].size
    if params.classes != classes:
        raise ValueError(
            f"the monitor is for {params.classes} classes, the network gives {classes}: "
            "fit a monitor to a log of this network"
        )
    if not params.features:
        return
    if "features" not in graph.outputs:
        raise ValueError(
            f"the monitor reads {params.features} features, graph {graph.name} gives none: "
            "import the model again with its features, or fit a monitor without them"
        )
    made = graph.tensors[graph.outputs["features"]]
    if params.features != made.size:
        raise ValueError(
            f"the monitor reads {params.features} features, the network gives {made.size}: "
            "fit a monitor to a log of this network"
        )
    ratio = params.feature_scale / made.scale
    if params.feature_zero_point != made.zero or abs(ratio - 1) > TOLERANCE:
        raise ValueError(
            f"the monitor is for features of scale {params.feature_scale:g} and zero "
            f"{params.feature_zero_point}, the network gives scale {made.scale:g} and zero {made.zero}: "
            "fit a monitor to a log of this network (where the log is one, with --feature-scale "
            f"{made.scale:.9g} --feature-zero-point {made.zero})"
        )


def made_inputs(graph: Graph, count: int, seed: int = 0) -> Int8:
    """Return inputs of no meaning, the same everywhere.

    Parameters
    ----------
    graph : Graph
    count, seed : int

    Returns
    -------
    int8 array (count, bytes)
    """
    size = graph.tensors[graph.input].size
    raw = np.random.PCG64(seed).random_raw(count * size)
    return (np.asarray(raw >> np.uint64(56), np.int64) - 128).astype(np.int8).reshape(count, size)


def load_inputs(path: str | Path, graph: Graph) -> Int8:
    """Return the inputs of a file for a network.

    Parameters
    ----------
    path : path
        NPZ with an array `x`, or with one array alone: int8 as the network takes it, or real numbers, which
        are quantized by the scale of the network's input.
    graph : Graph

    Returns
    -------
    int8 array (inputs, bytes)
    """
    given = limits_given()
    arrays = arrays_of(read_limited(path, "inputs", given), str(path), limits=given, name="inputs")
    if "x" not in arrays and len(arrays) != 1:
        raise ValueError(f"{path}: has arrays {', '.join(arrays) or 'none'}, expected x")
    found = arrays["x"] if "x" in arrays else next(iter(arrays.values()))
    return quantized(found, graph, str(path))


def quantized(values: npt.NDArray[Any], graph: Graph, where: str = "x") -> Int8:
    """Return rows of int8 for a network; other numbers than int8 are quantized, as `tcuq record` does it.

    Parameters
    ----------
    values : array (inputs, ...)
    graph : Graph
    where : str
        For messages.
    """
    tensor = graph.tensors[graph.input]
    if values.ndim < 2 or len(values) == 0 or values[0].size != tensor.size:
        raise ValueError(
            f"{where}: shape is {values.shape}, expected (inputs, {', '.join(map(str, tensor.shape))})"
        )
    rows = values.reshape(len(values), -1)
    if rows.dtype == np.int8:
        return np.ascontiguousarray(rows)
    if rows.dtype.kind not in "iuf" or not np.isfinite(rows).all():
        raise ValueError(f"{where}: values are {rows.dtype}, expected int8, or finite numbers")
    units = whole_units(rows, tensor.scale, tensor.zero)
    if outside(units, -128, 127) >= WRONG_SCALE:
        low, high = (tensor.scale * (each - tensor.zero) for each in (-128, 127))
        raise ValueError(
            f"{where}: values range from {rows.min():.4g} to {rows.max():.4g}, "
            f"expected {low:.4g} to {high:.4g}"
        )
    return np.clip(units, -128, 127).astype(np.int8)
