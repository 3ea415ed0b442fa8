"""Gauges of the input of a network: which call of the core fills them on a device."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tcuq.base.errors import InputError
from tcuq.log.gauges import KINDS, gauge_names, input_gauges, layout_of
from tcuq.monitor.params import Params

from .model import Graph


@dataclass(frozen=True)
class Gauges:
    """How gauges come from an input: the kind of the function in the core, and the sides that it takes."""

    kind: str
    shape: tuple[int, ...]
    sides: tuple[int, ...]

    def call(self, to: str, source: str) -> str:
        """Return the statement in C that fills `to` from the input at `source`."""
        function = "picture" if self.kind == "spectrum" else self.kind
        return (
            f"(void)tcuq_{function}_gauges({', '.join([to, source, *(f'{side}u' for side in self.sides)])});"
        )

    def of(self, inputs: npt.NDArray[np.int8]) -> npt.NDArray[np.float32]:
        """Return the gauges of inputs, one row each."""
        return input_gauges(inputs.reshape(len(inputs), *self.shape), self.kind)


def gauges_of(graph: Graph, params: Params) -> Gauges | None:
    """Return how the gauges of a monitor come from the input of a network; None where it has none.

    Gauges that the input does not give are refused: an exposure time, say, only your own firmware knows.
    """
    head = params.sight
    if head is None or not head.gauges:
        return None
    shape = tuple(graph.tensors[graph.input].shape)
    known: set[str] = set()
    for kind in KINDS:
        try:
            _, (height, width, channels), first = layout_of(shape, kind)
            names = gauge_names(shape, kind)
        except InputError:
            continue
        known.update(names)
        if names == head.gauges and not first and set(head.gauge_scales) == {256.0}:
            sides = {"signal": (width, channels), "table": (width,)}.get(kind, (height, width, channels))
            return Gauges(kind, shape, sides)
    odd = next((name for name in head.gauges if name not in known), ", ".join(head.gauges))
    problem = f"the monitor reads gauges that graph {graph.name}, input {shape}, does not give: {odd}"
    way = "fit a monitor to gauges of this input, or call tcuq_step_gauges() in a firmware of your own"
    raise InputError("unsupported", f"{problem}; {way}")
