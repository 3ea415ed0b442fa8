"""Graphs as files: one archive of arrays with a header in JSON, no pickle."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import numpy as np

from tcuq.base.atomic_files import write_whole
from tcuq.base.errors import InputError, one_line, wrong_value
from tcuq.base.json_text import from_json
from tcuq.base.limits import Limits, limits_given, read_limited
from tcuq.io.tables import arrays_of

from .check import check
from .model import Graph, Tensor
from .steps import Step

FORMAT = "tcuq graph 2"
FIRST_FORMAT = "tcuq graph 1"
"""Had one stride for both directions; still read."""
HEADER = "header"
STEPS: dict[str, Callable[..., Step]] = {kind.__name__: kind for kind in get_args(Step)}


def save_graph(path: str | Path, graph: Graph) -> None:
    """Write a graph; nothing is left half-written, and the same graph gives the same bytes.

    Parameters
    ----------
    path : path
    graph : Graph
    """
    check(graph)
    arrays: dict[str, Any] = {}
    steps = []
    for number, step in enumerate(graph.steps):
        plain: dict[str, Any] = {"step": type(step).__name__}
        for each in fields(step):
            value = getattr(step, each.name)
            if isinstance(value, np.ndarray):
                arrays[f"{number}.{each.name}"] = value
            elif value != each.default:
                plain[each.name] = value
        steps.append(plain)
    tensors = [[each.name, each.shape, each.scale, each.zero] for each in graph.tensors.values()]
    header = {
        "format": FORMAT,
        "name": graph.name,
        "input": graph.input,
        "outputs": dict(graph.outputs),
        "about": dict(graph.about),
        "tensors": tensors,
        "steps": steps,
    } | ({"states": dict(graph.states)} if graph.states else {})
    arrays[HEADER] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    write_whole(path, buffer.getvalue())


def load_graph(path: str | Path, limits: Limits | None = None) -> Graph:
    """Return the graph of a file, checked.

    Parameters
    ----------
    path : path
    limits : Limits, optional
        `model` is for the file, and for its arrays when they are unpacked.

    Raises
    ------
    ValueError
        In one line, where the file is not a graph or one that cannot be run.

    Examples
    --------
    >>> import tempfile
    >>> from tcuq_device.graph.steps import Drop
    >>> tensors = {name: Tensor(name, (2,), 0.5, 0) for name in "ab"}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_graph(f"{folder}/g.npz", Graph("g", tensors, [Drop("a", "b", 26, 2**15)], "a", {"y": "b"}))
    ...     load_graph(f"{folder}/g.npz").steps
    [Drop(source='a', target='b', threshold=26, multiplier=32768)]
    """
    given = limits_given(limits)
    arrays = arrays_of(read_limited(path, "model", given), str(path), limits=given, name="model")
    try:
        header = from_json(bytes(arrays.pop(HEADER)), given)
        if not isinstance(header, dict):
            raise InputError("damaged", "the header is not an object")
        if header["format"] not in (FORMAT, FIRST_FORMAT):
            raise wrong_value("format", header["format"], f"{FORMAT!r}")
        tensors = {
            str(name): Tensor(str(name), tuple(shape), float(scale), zero)
            for name, shape, scale, zero in header["tensors"]
        }
        steps = [_step(number, dict(plain), arrays) for number, plain in enumerate(header["steps"])]
        if arrays:
            raise InputError("damaged", f"array {next(iter(arrays))!r} belongs to no step")
        outputs, about, states = (dict(header.get(key, {})) for key in ("outputs", "about", "states"))
        return check(Graph(header["name"], tensors, steps, header["input"], outputs, about, states))
    except KeyError as error:
        what = f"lacks {one_line(str(error), 60)}; not a tcuq graph, or a damaged one"
        raise InputError("damaged", what, where=str(path)) from None
    except (TypeError, AttributeError, ValueError, OverflowError, RecursionError) as error:
        raise InputError("damaged", f"no graph that can be run: {error}", where=str(path)) from None


def _step(number: int, plain: dict[str, Any], arrays: dict[str, Any]) -> Step:
    kind = plain.pop("step")
    if kind not in STEPS:
        raise wrong_value(f"step {number}", kind, f"one of {', '.join(STEPS)}")
    begin = f"{number}."
    mine = {key[len(begin) :]: arrays.pop(key) for key in list(arrays) if key.startswith(begin)}
    for key, value in plain.items():
        if isinstance(value, list):
            plain[key] = tuple(value)
    if isinstance(plain.get("stride"), int):
        plain["stride"] = (plain["stride"], plain["stride"])
    return STEPS[kind](**plain, **mine)
