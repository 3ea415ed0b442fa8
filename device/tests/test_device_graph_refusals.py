# SPDX-License-Identifier: MIT
"""Graphs that no kernel could run: each is refused in one line before any code is written."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tcuq_device.graph.check import check
from tcuq_device.graph.model import Graph, Tensor
from tcuq_device.graph.steps import Concat, Dense, Drop, Pool, Softmax, View
from tcuq_device.graph.storage import HEADER, load_graph, save_graph
from tcuq_device.kernels.checked import cases

INT32 = np.int32


def tensors(**shapes: Any) -> dict[str, Tensor]:
    return {name: Tensor(name, shape, 0.5, 0) for name, shape in shapes.items()}


def graph(steps: list[Any], target: str = "b", source: str = "a", **shapes: Any) -> Graph:
    return Graph("g", tensors(**shapes), steps, source, {"y": target})


def drop(**more: Any) -> Graph:
    return graph([Drop("a", "b", 26, 2**15)], **{"a": (2,), "b": (2,), **more})


def changed(act: Callable[[Any], Any]) -> Graph:
    found = drop()
    act(found)
    return found


def dense(inputs: int = 4, outputs: int = 2, **more: Any) -> Dense:
    given: dict[str, Any] = {
        "weights": np.ones((outputs, inputs), np.int8),
        "bias": np.zeros(outputs, INT32),
        "multiplier": np.full(outputs, 2**20, INT32),
    }
    return Dense("a", "b", **{**given, **more})


def pool(**more: Any) -> Pool:
    given: dict[str, Any] = {"kind": "mean", "window": (2, 2), "stride": (2, 2), "padding": (0, 0, 0, 0)}
    return Pool("a", "b", **{**given, **more})


def table(first: int = 65535) -> Any:
    found = np.zeros(256, np.uint16)
    found[0] = first
    return found


def softmax(shape: Any = (3,), scale: float = 1 / 256, zero: int = -128, first: int = 65535) -> Graph:
    found: Any = graph([Softmax("a", "b", table(first))], a=shape, b=shape)
    found.tensors["b"] = Tensor("b", shape, scale, zero)
    made: Graph = found
    return made


PICTURE: Any = {"a": (4, 4, 1), "b": (2, 2, 1)}
REFUSED: dict[str, tuple[Callable[[], Graph], str]] = {
    "input": (lambda: graph([], "a", "x", a=(2,)), "input is 'x', expected one of a"),
    "no step": (lambda: graph([3], a=(2,), b=(2,)), "step 0 is a int, expected "),
    "made by nobody": (lambda: drop(c=(2,)), "tensor c is made by no step; every one but the input must be"),
    "no outputs": (lambda: changed(lambda g: g.outputs.clear()), "outputs are none; at least one is needed"),
    "output": (
        lambda: graph([Drop("a", "b", 26, 2**15)], "z", a=(2,), b=(2,)),
        "output y is 'z', expected one",
    ),
    "name of the kernels": (
        lambda: graph([], "tcuq_a", "tcuq_a", tcuq_a=(2,)),
        "names that begin with tcuq bel",
    ),
    "filed elsewhere": (
        lambda: changed(lambda g: g.tensors.update(b=g.tensors["a"])),
        "tensor b is filed under another name or is none",
    ),
    "dimensions": (lambda: drop(b=(1, 1, 1, 2)), "tensor b has shape .*, expected one to three dimensions"),
    "values": (lambda: drop(b=(65535, 65535, 2)), "values, expected at most "),
    "scale": (
        lambda: changed(lambda g: g.tensors.update(b=Tensor("b", (2,), -0.5, 0))),
        "tensor b has scale -0.5, expected a positive number",
    ),
    "no source": (
        lambda: graph([Drop("z", "b", 26, 2**15)], a=(2,), b=(2,)),
        "source 'z' is no tensor of the",
    ),
    "too early": (
        lambda: graph([Drop("c", "b", 26, 2**15), Drop("a", "c", 26, 2**15)], a=(2,), b=(2,), c=(2,)),
        "source c is not there yet; an earlier step or the input makes it",
    ),
    "no target": (
        lambda: graph([Drop("a", "z", 26, 2**15)], a=(2,), b=(2,)),
        "target 'z' is no tensor of the",
    ),
    "twice": (
        lambda: graph([Drop("a", "b", 26, 2**15)] * 2, a=(2,), b=(2,)),
        "target b is made twice or is the input",
    ),
    "zero of a drop": (
        lambda: changed(lambda g: g.tensors.update(b=Tensor("b", (2,), 0.5, 3))),
        "target's zero is 3, expected 0, as of its source",
    ),
    "multiplier": (
        lambda: graph([dense(multiplier=np.full(2, -1, INT32))], a=(4,), b=(2,)),
        "multiplier is -1, expected 0 to ",
    ),
    "kind of weights": (
        lambda: graph([dense(weights=np.ones((2, 4), np.int16))], a=(4,), b=(2,)),
        r"weights is int16 \(2, 4\), expected int8 \(n, n\)",
    ),
    "bias that is none": (
        lambda: graph([dense(bias=None)], a=(4,), b=(2,)),
        r"bias is NoneType, expected int32 \(2\)",
    ),
    "rows": (
        lambda: graph([dense(3)], a=(4,), b=(2,)),
        "weights are for rows of 3, expected 4 or a part of it",
    ),
    "target of rows": (
        lambda: graph([dense()], a=(4,), b=(3,)),
        r"target's shape is \(3,\), expected \(2,\)",
    ),
    "a sum": (
        lambda: graph([dense(bias=np.full(2, 2**31 - 1, INT32))], a=(4,), b=(2,)),
        "a sum can reach .*, expected ",
    ),
    "a picture": (
        lambda: graph([pool()], a=(4,), b=(2,)),
        r"source a has shape \(4,\), expected \(height, width",
    ),
    "kind of pool": (
        lambda: graph([pool(kind="least")], **PICTURE),
        "kind is 'least', expected 'mean' or 'max'",
    ),
    "window": (lambda: graph([pool(window=3)], **PICTURE), r"window is 3, expected \(down, across\)"),
    "padding": (
        lambda: graph([pool(padding=(0, 0))], **PICTURE),
        r"padding is \(0, 0\), expected \(top, left, bottom, right\)",
    ),
    "much padding": (
        lambda: graph([pool(padding=(2, 0, 0, 0))], **PICTURE),
        "expected less than the window, which is",
    ),
    "large window": (lambda: graph([pool(window=(5, 5))], **PICTURE), "expected at most the padded picture"),
    "target of a pool": (
        lambda: graph([pool()], a=(4, 4, 1), b=(3, 2, 1)),
        r"target's shape is \(3, 2, 1\), expected \(2, 2, 1\)",
    ),
    "nothing to join": (
        lambda: graph([Concat((), "b", 0)], a=(2,), b=(2,)),
        "sources are none; at least one is",
    ),
    "joined ranks": (
        lambda: graph([Concat(("a",), "b", 0)], a=(2,), b=(2, 1)),
        r"source a has shape \(2,\), target \(2, 1\)",
    ),
    "another view": (
        lambda: graph([View("a", "b")], a=(2,), b=(3,)),
        r"shapes \(2,\) and \(3,\) differ in the number of values",
    ),
    "classes": (lambda: softmax((2, 2)), r"source a has shape \(2, 2\), expected 2 to"),
    "scale of shares": (
        lambda: softmax(scale=0.5),
        "target has scale 0.5 and zero -128, expected 1/256 and -128",
    ),
    "table of shares": (lambda: softmax(first=7), "table begins with 7 or rises, expected 65535, falling"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_kernel_runs_is_refused_in_one_line(name: str) -> None:
    make, message = REFUSED[name]
    with pytest.raises(ValueError, match=message) as error:
        check(make())
    assert "\n" not in str(error.value)


def test_what_is_right_is_taken() -> None:
    for each in (drop(), graph([dense()], a=(4,), b=(2,)), graph([pool()], **PICTURE), softmax()):
        assert check(each) is each


def stored(path: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    save_graph(path, drop())
    with np.load(path) as found:
        arrays = dict(found)
    header = json.loads(bytes(arrays[HEADER]))
    change(header)
    arrays[HEADER] = np.frombuffer(json.dumps(header).encode(), np.uint8)
    arrays |= {name: np.zeros(1) for name in header.get("more", ())}
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    path.write_bytes(buffer.getvalue())
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda head: head.update(format="other"), "no graph that can be run: format is 'other', expected"),
        (lambda head: head.pop("tensors"), "lacks 'tensors'; not a tcuq graph, or a damaged one"),
        (lambda head: head["steps"][0].update(step="Guess"), "step 0 is 'Guess', expected one of"),
        (lambda head: head["steps"][0].pop("threshold"), "no graph that can be run: .*threshold"),
        (lambda head: head.update(tensors=5), "no graph that can be run: "),
        (lambda head: head.update(more=["7.weights"]), "array '7.weights' belongs to no step"),
    ],
)
def test_files_that_hold_no_graph(change: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message) as error:
        load_graph(stored(tmp_path / "g.npz", change))
    assert "\n" not in str(error.value) and "g.npz" in str(error.value)


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
                wrongs = [
                    text,
                    *([(text, *value[1:]), (*value[:-1], text)] if isinstance(value, tuple) else []),
                ]
                for wrong in wrongs:
                    steps = list(case.graph.steps)
                    steps[number] = replace(step, **{each.name: wrong})
                    with pytest.raises(ValueError):
                        check(replace(case.graph, steps=steps))
    assert {type(step) for case in cases() for step in case.graph.steps} <= {kind for kind, _ in seen}
