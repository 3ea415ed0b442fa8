# SPDX-License-Identifier: MIT
"""Memory of steps without weights: views share bytes, constants have none, nothing is lost too early."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from device_step_maker import StepMaker

from tcuq_device.generate.arena import in_flash, lag_of, lay_out
from tcuq_device.generate.source import sources
from tcuq_device.graph import oracle
from tcuq_device.graph.model import Graph, Tensor
from tcuq_device.graph.steps import (
    Constant,
    Pool,
)
from tcuq_device.kernels.host import Network

Access = tuple[set[int], set[int]]
"""Bytes of the source that are read, then bytes of the target that are written."""


def windows(step: Pool, source: Tensor, target: Tensor) -> Iterator[Access]:
    """Give what a pool reads and writes, four channels at a time."""
    height, width, channels = source.shape
    for row, column in np.ndindex(*target.shape[:2]):
        top, left = row * step.stride[0] - step.padding[0], column * step.stride[1] - step.padding[1]
        rows = range(max(top, 0), min(top + step.window[0], height))
        columns = range(max(left, 0), min(left + step.window[1], width))
        for first in range(0, channels, 4):
            some = range(first, min(first + 4, channels))
            read = {(i * width + j) * channels + c for i in rows for j in columns for c in some}
            yield read, {(row * target.shape[1] + column) * channels + c for c in some}


def survives(accesses: Iterator[Access], lag: int) -> bool:
    """Return whether all is read before it is overwritten, when the target begins `lag` before the source."""
    written: set[int] = set()
    for read, made in accesses:
        if read & written:
            return False
        written |= {at - lag for at in made}
    return True


@pytest.mark.parametrize("seed", range(12))
def test_the_lag_of_a_pool_is_enough_and_no_more(seed: int) -> None:
    draw = np.random.default_rng(seed)
    make = StepMaker((int(draw.integers(3, 9)), int(draw.integers(3, 9)), int(draw.integers(1, 11))), seed)
    window = tuple(int(each) for each in draw.integers(1, 4, 2))
    stride = tuple(int(each) for each in draw.integers(1, 4, 2))
    padding = tuple(int(draw.integers(0, side)) for side in (*window, *window))
    name = make.pool("input", "max", window, stride, padding)
    step, source, target = make.steps[0], make.tensors["input"], make.tensors[name]
    assert isinstance(step, Pool)
    lag = lag_of(step, source, target)
    assert lag is not None and lag >= 0
    assert survives(windows(step, source, target), lag)
    if lag > 0:
        assert not survives(windows(step, source, target), lag - 1)


def random_graph(seed: int) -> Graph:
    """Return a graph with views of views, of the input and of constants, read early and late."""
    draw = np.random.default_rng(seed)
    make = StepMaker((4, 4, 4), seed)
    names = ["input", make.constant((4, 4, 4), "input")]
    for _ in range(int(draw.integers(4, 12))):
        first, second = (str(draw.choice(names)) for _ in range(2))
        kind = int(draw.integers(8))
        if kind <= 2:
            names.append(make.view(make.view(first, (16, 4)), (4, 4, 4)))
        elif kind == 3:
            names.append(make.table_add(first, second))
        elif kind == 4:
            names.append(make.mul(first, make.constant((4,), "input")))
        elif kind == 5:
            names.append(make.pool(first, "mean", (3, 3), (1, 1), (1, 1, 1, 1)))
        elif kind == 6:
            names.append(make.table(first))
        else:
            names.append(make.fixed_softmax(first))
    last = [str(each) for each in draw.choice(names, 2)]
    return make.graph(probs=names[-1], features=last[0], other=last[1])


@pytest.mark.parametrize("seed", range(12))
def test_memory_that_is_used_again_changes_no_number(seed: int) -> None:
    graph = random_graph(seed)
    assert not in_flash(graph) & set(lay_out(graph).offsets)
    x = np.random.default_rng(seed).integers(-128, 128, (3, 4, 4, 4)).astype(np.int8)
    wanted = oracle.run(graph, x)
    for use, values in Network(graph).run(x).items():
        assert np.array_equal(values, wanted[use]), use


def test_outputs_that_are_views_of_the_input_or_of_constants() -> None:
    make = StepMaker((2, 3), 1)
    flat, row = make.view("input", (6,)), make.constant((2, 2), "input")
    graph = make.graph(flat=flat, row=make.view(row, (4,)), input="input")
    x = make.input(3)
    found = Network(graph).run(x)
    assert np.array_equal(found["flat"], x.reshape(3, 6))
    constant = make.steps[1]
    assert isinstance(constant, Constant)
    assert np.array_equal(found["row"], np.tile(constant.values.ravel(), (3, 1)))
    text = sources(graph, "tiny")["tiny.c"]
    assert "tcuq_nn_" not in text.split("{", 1)[1].replace('#include "tcuq_nn.h"', "")
