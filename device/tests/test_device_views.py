# SPDX-License-Identifier: MIT
"""Memory of steps without weights: views share bytes, constants have none, nothing is lost too early."""

from __future__ import annotations

import numpy as np
import pytest
from device_step_maker import StepMaker

from tcuq_device.generate.arena import in_flash, lay_out
from tcuq_device.generate.source import sources
from tcuq_device.graph import oracle
from tcuq_device.graph.model import Graph
from tcuq_device.graph.steps import Constant
from tcuq_device.kernels.host import Network


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
