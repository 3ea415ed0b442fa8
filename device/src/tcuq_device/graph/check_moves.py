"""What must hold for steps that move bytes: tables, borders, joined tensors, views, constants."""

from __future__ import annotations

from typing import Any

import numpy as np

from tcuq.base.checks import integer
from tcuq.base.errors import InputError, wrong_value

from .check_values import alike, array, same
from .model import Graph
from .steps import Concat, Constant, Pad, Table, View


def _table(graph: Graph, step: Table) -> None:
    same("target's shape", graph.tensors[step.target].shape, graph.tensors[step.source].shape)
    array("values", step.values, np.int8, (256,))


def _pad(graph: Graph, step: Pad) -> None:
    source, target = graph.tensors[step.source], graph.tensors[step.target]
    for what in ("before", "after"):
        value = getattr(step, what)
        if not isinstance(value, tuple) or len(value) != len(source.shape):
            raise wrong_value(what, value, f"a number for each of {source.shape}")
        for each in value:
            integer(what, each, 0, 65535)
    integer("value", step.value, -128, 127)
    alike(source, target)
    parts = zip(step.before, source.shape, step.after, strict=True)
    same("target's shape", target.shape, tuple(sum(each) for each in parts))


def _concat(graph: Graph, step: Concat) -> None:
    target = graph.tensors[step.target]
    axis = integer("axis", step.axis, 0, len(target.shape) - 1)
    if not isinstance(step.sources, tuple) or not step.sources:
        raise InputError("value", "sources are none; at least one is needed")
    for name in step.sources:
        source = graph.tensors[name]
        alike(source, target)
        if len(source.shape) != len(target.shape):
            raise InputError("value", f"source {name} has shape {source.shape}, target {target.shape}")
        wanted = (*target.shape[:axis], source.shape[axis], *target.shape[axis + 1 :])
        same(f"shape of source {name}", source.shape, wanted)
    length = sum(graph.tensors[name].shape[axis] for name in step.sources)
    same("target's shape", target.shape, (*target.shape[:axis], length, *target.shape[axis + 1 :]))


def _view(graph: Graph, step: View) -> None:
    source, target = graph.tensors[step.source], graph.tensors[step.target]
    if source.size != target.size:
        raise InputError("value", f"shapes {source.shape} and {target.shape} differ in the number of values")
    alike(source, target)


def _constant(graph: Graph, step: Constant) -> None:
    array("values", step.values, np.int8, graph.tensors[step.target].shape)


MOVES: dict[type, Any] = {Table: _table, Pad: _pad, Concat: _concat, View: _view, Constant: _constant}
"""By kind of step."""
