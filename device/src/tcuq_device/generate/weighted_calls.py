"""Calls of the kernels with weights, and the constants that they take."""

from __future__ import annotations

import numpy as np

from ..graph.model import Graph, Tensor
from ..graph.steps import Conv, Dense, Depthwise
from .constants import Constants
from .pack import as_called, factors, is_spread, kernel_of, pack_affine, pack_fours, pack_pairs


def weighted_call(
    graph: Graph, step: Conv | Depthwise | Dense, constants: Constants, among: str, scratch: str
) -> str:
    """Define what a step needs, and return the call that runs it.

    `among` are source and target as arguments, `scratch` is where its scratch lies.
    """
    name = step.target
    source, target = graph.tensors[step.source], graph.tensors[name]
    if isinstance(step, (Conv, Depthwise)):
        window = _window(*as_called(step, source, target), constants)
        twice = "" if step.shift is None else "_twice"
        if isinstance(step, Depthwise) and is_spread(step):
            return f"tcuq_nn_spread{twice}(&{window}, {among});"
        kernel = "conv" if isinstance(step, Conv) else "depthwise"
        kernel += "_dilated" if step.dilation != (1, 1) else ""
        return f"tcuq_nn_{kernel}{twice}(&{window}, {among}, {scratch});"
    outputs, inputs = step.weights.shape
    weights = constants.array("uint32_t", f"{name}_weights", pack_pairs(step.weights), "x")
    affine = constants.array("int32_t", f"{name}_affine", pack_affine(step, 2))
    lines = [weights, affine, f"{source.size // inputs}, {inputs}, {outputs}", f"{target.zero}"]
    matrix = constants.record("tcuq_nn_matrix", f"{name}_matrix", lines)
    once = "" if step.shift is None else "_once"
    return f"tcuq_nn_dense{once}(&{matrix}, {among}, {scratch});"


def _window(step: Conv | Depthwise, source: Tensor, target: Tensor, constants: Constants) -> str:
    name = step.target
    rows, columns = kernel_of(step)
    if isinstance(step, Conv):
        packed, group = pack_pairs(step.weights.reshape(len(step.weights), -1)), 2
    else:
        packed, group = pack_fours(step.weights), 4
    affine = pack_affine(step, group)
    general = step.shift is not None and bool((factors(step)[1] <= 0).any())
    lines = [
        constants.array("uint32_t", f"{name}_weights", packed, "x"),
        constants.array("int32_t", f"{name}_affine", affine),
        constants.array("int8_t", f"{name}_pad", np.asarray(step.pad)),
        ", ".join(map(str, source.shape)) + ", /* input */",
        ", ".join(map(str, target.shape)) + ", /* output */",
        f"{rows}, {columns}, /* kernel */",
        ", ".join(map(str, (*step.stride, *step.dilation))) + ", /* strides, dilation */",
        f"{step.padding[0]}, {step.padding[1]}, /* outside: above, left */",
        f"{target.zero}",
        f"{int(general)}",
    ]
    # Lines with a comment bring their own comma.
    body = "".join(f"    {line}\n" if line.endswith("*/") else f"    {line},\n" for line in lines)
    constants.text.append(f"static const tcuq_nn_window {name}_window = {{\n{body}}};\n\n")
    return f"{name}_window"
