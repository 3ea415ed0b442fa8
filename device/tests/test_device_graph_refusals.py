# SPDX-License-Identifier: MIT
"""Graphs that no kernel could run: each is refused before any code is written, and so are damaged files."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import refused

from tcuq import InputError
from tcuq_device.graph.check import check
from tcuq_device.graph.model import Graph, Tensor
from tcuq_device.graph.steps import (
    HIGHEST,
    Add,
    Concat,
    Constant,
    Conv,
    Dense,
    Depthwise,
    Drop,
    FixedSoftmax,
    MeanPool,
    Mul,
    Pad,
    Pool,
    Softmax,
    Step,
    Strided,
    Table,
    TableAdd,
    View,
)
from tcuq_device.graph.storage import FIRST_FORMAT, HEADER, load_graph, save_graph
from tcuq_device.kernels.checked import cases

TABLE = np.array([65535 >> k if k < 16 else 0 for k in range(256)], dtype=np.uint16)
LINE = np.arange(256).astype(np.int32)
ONES = np.ones((2, 1, 1, 3), np.int8)


def ints(*values: int) -> Any:
    return np.array(values, dtype=np.int32)


AFFINE: Any = {"bias": ints(0, 0), "multiplier": ints(HIGHEST, HIGHEST)}
WINDOW: Any = {"stride": (1, 1), "padding": (0, 0, 0, 0)}
STEPS: dict[str, tuple[tuple[int, ...], tuple[int, ...], Step]] = {
    "conv": ((4, 5, 3), (4, 5, 2), Conv("a", "b", ONES, **AFFINE, **WINDOW, pad=np.zeros(3, np.int8))),
    "depthwise": (
        (4, 5, 2),
        (4, 5, 2),
        Depthwise("a", "b", ONES[:1, 0, :, :2], **AFFINE, **WINDOW, pad=np.zeros(2, np.int8)),
    ),
    "dense": ((3,), (2,), Dense("a", "b", ONES[:, 0, 0], **AFFINE)),
    "add": ((2,), (2,), Add("a", "a", "b", 128, 128, 0, 8)),
    "mean": ((4, 5, 3), (3,), MeanPool("a", "b", 0, HIGHEST)),
    "means": ((4, 5, 3), (3,), MeanPool("a", "b", 0, HIGHEST, -1)),
    "drop": ((2,), (2,), Drop("a", "b", 26, 2**15)),
    "pool": ((4, 4, 1), (2, 2, 1), Pool("a", "b", "mean", (2, 2), (2, 2), (0, 0, 0, 0))),
    "concat": ((2,), (2,), Concat(("a",), "b", 0)),
    "view": ((2,), (2,), View("a", "b")),
    "strided": ((2, 3), (4,), Strided("a", "b", 5, (2, 2), (-3, -1))),
    "pad": ((2,), (4,), Pad("a", "b", (1,), (1,), 0)),
    "table": ((2,), (2,), Table("a", "b", np.zeros(256, np.int8))),
    "constant": ((2,), (2,), Constant("b", np.zeros(2, np.int8))),
    "sum": ((2, 3), (2, 3), TableAdd("a", "a", "b", LINE, LINE, 2**30, -1)),
    "mul": ((2, 3), (2, 3), Mul("a", "a", "b", 2**30, 0)),
    "softmax": ((3,), (3,), Softmax("a", "b", TABLE)),
    "fixed": ((3,), (3,), FixedSoftmax("a", "b", np.full(256, HIGHEST, np.int32))),
}


def small(kind: str, /, shapes: tuple[Any, Any] | None = None, **changes: Any) -> Graph:
    """Return a graph of one step that is in order but for the changes."""
    source, target, step = STEPS[kind]
    source, target = shapes or (source, target)
    last = (1 / 256, -128) if kind in ("softmax", "fixed") else (0.5, 0)
    tensors = {"a": Tensor("a", source, 0.5, 0), "b": Tensor("b", target, *last)}
    return Graph("g", tensors, [replace(step, **changes)], "a", {"y": "b"})


@pytest.mark.parametrize("kind", STEPS)
def test_steps_in_order_are_taken(kind: str) -> None:
    graph = small(kind)
    assert check(graph) is graph


REFUSED: list[tuple[str, dict[str, Any], str, str]] = [
    ("conv", {"source": "z"}, "unknown", ""),
    ("conv", {"target": "z"}, "unknown", ""),
    ("conv", {"target": "a"}, "conflict", ""),
    ("conv", {"stride": (0, 1)}, "value", "stride"),
    ("conv", {"stride": (2, 2)}, "value", "target's shape"),
    ("conv", {"padding": [0, 0, 0, 0]}, "value", "padding"),
    ("conv", {"padding": (0, -1, 0, 0)}, "value", "padding"),
    ("conv", {"pad": np.zeros(2, np.int8)}, "value", "pad"),
    ("conv", {"weights": np.ones((2, 1, 1, 3), np.int16)}, "value", "weights"),
    ("conv", {"weights": np.ones((2, 5, 1, 3), np.int8)}, "value", "kernel"),
    ("conv", {"weights": np.ones((2, 3, 1, 3), np.int8), "dilation": (2, 1)}, "value", "kernel"),
    ("conv", {"bias": None}, "value", "bias"),
    ("conv", {"bias": ints(0, -HIGHEST)}, "limit", ""),
    ("conv", {"multiplier": ints(1, -1)}, "value", "multiplier"),
    ("conv", {"dilation": 2}, "value", "dilation"),
    ("conv", {"shift": ints(-32, 0)}, "value", "shift"),
    ("conv", {"shift": ints(0)}, "value", "shift"),
    ("conv", {"low": 5, "high": 4}, "value", "high"),
    ("depthwise", {"bias": ints(HIGHEST, 0)}, "limit", ""),
    ("depthwise", {"weights": np.ones((1, 1, 3), np.int8)}, "value", "outputs of the weights"),
    ("depthwise", {"shift": ints(0, 25)}, "limit", ""),
    ("dense", {"shift": ints(23, 0)}, "limit", ""),
    ("dense", {"weights": np.ones((2, 2), np.int8)}, "value", "inputs of the weights"),
    ("dense", {"weights": np.ones((3, 3), np.int8)}, "value", "target's shape"),
    ("strided", {"offset": 6}, "value", "offset"),
    ("strided", {"offset": 3}, "value", "places"),
    ("strided", {"strides": (1, -1)}, "value", "places"),
    ("strided", {"strides": (-3,)}, "value", "lengths and strides"),
    ("strided", {"lengths": (2, 3)}, "value", "lengths and strides"),
    ("strided", {"lengths": (4, True)}, "value", "length"),
    ("strided", {"strides": (-3, 7)}, "value", "stride"),
    ("add", {"left": 2**15}, "value", "left"),
    ("add", {"offset": HIGHEST}, "limit", ""),
    ("add", {"shift": 32}, "value", "shift"),
    ("add", {"second": "b"}, "missing", ""),
    ("mean", {"multiplier": 2**31}, "value", "multiplier"),
    ("mean", {"bias": HIGHEST}, "limit", ""),
    ("means", {"outer": 2}, "value", ""),
    ("means", {"tail": 7}, "value", ""),
    ("drop", {"threshold": 256}, "value", "threshold"),
    ("drop", {"multiplier": 2**24}, "value", "multiplier"),
    ("pool", {"kind": "least"}, "value", "kind"),
    ("pool", {"window": 3}, "value", "window"),
    ("pool", {"padding": (2, 0, 0, 0)}, "value", "padding"),
    ("pool", {"window": (5, 5)}, "value", "window"),
    ("pool", {"shapes": ((4,), (2,))}, "value", "shape of source a"),
    ("concat", {"sources": ()}, "missing", ""),
    ("concat", {"shapes": ((2,), (2, 1))}, "value", "shape of source a"),
    ("view", {"shapes": ((2,), (3,))}, "value", "target's shape"),
    ("concat", {"axis": 3}, "value", "axis"),
    ("concat", {"shapes": ((2,), (3,))}, "value", "target's shape"),
    ("pad", {"before": (1, 0)}, "value", "before"),
    ("pad", {"value": 128}, "value", "value"),
    ("pad", {"after": (2,)}, "value", "target's shape"),
    ("table", {"values": np.zeros(255, np.int8)}, "value", "values"),
    ("constant", {"values": np.zeros(3, np.int8)}, "value", "values"),
    ("means", {"shift": 40}, "value", "shift"),
    ("mean", {"outer": 3}, "value", "outer"),
    ("sum", {"right": LINE << 23}, "limit", ""),
    ("sum", {"right": LINE[:9]}, "value", "right"),
    ("sum", {"shift": 1}, "value", "shift"),
    ("mul", {"multiplier": 2**30, "shift": 16}, "limit", ""),
    ("mul", {"shift": -32}, "value", "shift"),
    ("softmax", {"shapes": ((2, 2), (2, 2))}, "value", "source's shape"),
    ("softmax", {"table": TABLE[:9]}, "value", "table"),
    ("softmax", {"table": TABLE[::-1].copy()}, "value", "table"),
    ("fixed", {"shapes": ((4096,), (4096,))}, "limit", ""),
    ("fixed", {"table": LINE}, "value", "first and least entry of the table"),
    ("drop", {"shapes": ((2,), (65535, 65535, 2))}, "limit", ""),
    ("drop", {"shapes": ((2,), (1, 1, 1, 2))}, "value", "shape of tensor b"),
]


@pytest.mark.parametrize(("kind", "changes", "code", "name"), REFUSED)
def test_steps_that_no_kernel_runs_are_refused(
    kind: str, changes: dict[str, Any], code: str, name: str
) -> None:
    with refused(code, name):
        check(small(kind, **changes))


def test_graphs_out_of_order_are_refused() -> None:
    graph = small("drop")
    odd = graph.tensors["b"]

    def other(**changes: Any) -> dict[str, Any]:
        return {"tensors": {**graph.tensors, "b": replace(odd, **changes)}}

    wrong: list[tuple[dict[str, Any], str, str]] = [
        ({"name": "a-b"}, "value", "name of the graph"),
        ({"name": "int"}, "value", "name of the graph"),
        ({"name": "tcuq_nn"}, "value", "name of the graph"),  # kernels have such names
        ({"input": "x"}, "value", "input"),
        ({"outputs": {}}, "missing", ""),
        ({"outputs": {"y": "z"}}, "value", "output y"),
        ({"tensors": {**graph.tensors, "c": Tensor("c", (1,), 1.0, 0)}}, "missing", ""),
        (other(zero=1), "value", "target's zero"),
        (other(zero=200), "value", "tensor b: zero"),
        (other(scale=0.0), "value", "scale of tensor b"),
        (other(name="x"), "value", ""),
        ({"steps": ["drop"]}, "unsupported", ""),
    ]
    for changes, code, name in wrong:
        with refused(code, name):
            check(replace(graph, **changes))
    view = small("view")
    with refused("value", "target's scale and zero"):
        check(replace(view, tensors={**view.tensors, "b": Tensor("b", (2,), 0.25, 0)}))
    soft = small("softmax")
    with refused("value", "target's scale and zero"):
        check(replace(soft, tensors={**soft.tensors, "b": Tensor("b", (3,), 0.5, 0)}))


def written(path: Path, change: Callable[[dict[str, Any]], Any] = bool, **more: Any) -> None:
    """Write a graph whose header is changed, with further arrays."""
    save_graph(path, small("conv"))
    with np.load(path) as found:
        arrays = dict(found)
    header = json.loads(bytes(arrays[HEADER]))
    change(header)
    arrays[HEADER] = np.frombuffer(json.dumps(header).encode(), np.uint8)
    buffer = io.BytesIO()
    np.savez(buffer, **{**arrays, **more})
    path.write_bytes(buffer.getvalue())


DAMAGED: dict[str, tuple[Callable[[dict[str, Any]], Any], dict[str, Any]]] = {
    "format": (lambda head: head.update(format="other"), {}),
    "no tensors": (lambda head: head.pop("tensors"), {}),
    "short tensors": (lambda head: head["tensors"].pop(), {}),
    "odd tensor": (lambda head: head.update(tensors=5), {}),
    "endless scale": (lambda head: head["tensors"].insert(0, ["a", [1], 10**400, 0]), {}),
    "unknown step": (lambda head: head["steps"][0].update(step="Guess"), {}),
    "unknown field": (lambda head: head["steps"][0].update(hue=1), {}),
    "lacking field": (lambda head: head["steps"][0].pop("source"), {}),
    "stray array": (bool, {"99.weights": np.zeros(1)}),
    "other weights": (bool, {"0.weights": np.zeros((3, 3), np.int8)}),
    "no JSON": (bool, {HEADER: np.frombuffer(b"{", np.uint8)}),
    "a list": (bool, {HEADER: np.frombuffer(b"[]", np.uint8)}),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_files_that_hold_no_graph(case: str, tmp_path: Path) -> None:
    change, more = DAMAGED[case]
    written(tmp_path / "g.npz", change, **more)
    with refused("damaged") as caught:
        load_graph(tmp_path / "g.npz")
    assert str(caught.value).startswith(f"{tmp_path / 'g.npz'}: ")


def test_the_first_format_is_read(tmp_path: Path) -> None:
    """It had one stride for both directions."""

    def old(head: dict[str, Any]) -> None:
        head["format"], head["steps"][0]["stride"] = FIRST_FORMAT, 1

    written(tmp_path / "g.npz", old)
    (step,) = load_graph(tmp_path / "g.npz").steps
    assert isinstance(step, Conv) and step.stride == (1, 1)


def test_files_that_are_cut_short(tmp_path: Path) -> None:
    path = tmp_path / "g.npz"
    written(path)
    for content in (b"", b"graph", path.read_bytes()[:300]):
        path.write_bytes(content)
        with pytest.raises(InputError):
            load_graph(path)
    with refused("value", "stride"):
        save_graph(path, small("conv", stride=(0, 1)))


def test_text_in_the_place_of_a_number_becomes_no_code() -> None:
    """A graph file may say anything; what a step says becomes arguments in C."""
    text = "0); system(0"
    seen = set()
    for case in cases():
        for number, step in enumerate(case.graph.steps):
            for each in fields(step):
                value = getattr(step, each.name)
                if isinstance(value, np.ndarray) or (type(step), each.name) in seen:
                    continue
                seen.add((type(step), each.name))
                parts = [(text, *value[1:]), (*value[:-1], text)] if isinstance(value, tuple) else []
                for wrong in (text, *parts):
                    steps = list(case.graph.steps)
                    steps[number] = replace(step, **{each.name: wrong})
                    with pytest.raises(ValueError):
                        check(replace(case.graph, steps=steps))
    assert {type(step) for case in cases() for step in case.graph.steps} <= {kind for kind, _ in seen}
