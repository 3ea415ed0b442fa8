# SPDX-License-Identifier: MIT
"""Steps without weights in TFLite's arithmetic: the same integers from numpy, C, every compiler and core."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from compilers import need_compiler
from device_graphs import expected
from device_programs import (
    MACHINES,
    MODES,
    WARNINGS,
    GraphCase,
    check,
    compile_with,
    prepare,
    run_elsewhere,
    run_here,
    run_on_core,
)
from device_step_maker import StepMaker
from tiers import first_quick

from tcuq_device.graph import oracle
from tcuq_device.graph.check import check as check_graph
from tcuq_device.graph.model import Graph, Tensor
from tcuq_device.graph.steps import Mul, TableAdd


def fixed(extreme: bool) -> GraphCase:
    """Every kind once or more, with all shapes of broadcast, and views of everything."""
    make = StepMaker((6, 7, 5), 3, extreme, f"f{int(extreme)}_")
    curve = make.table("input")
    again = make.view(make.view(curve, (42, 5)), (6, 7, 5))
    total = make.table_add(again, make.table_add(curve, "input"), curved=True)
    row = make.constant((7, 1), "input")
    x = make.table_add(row, make.mul(total, row))
    x = make.table_add(make.view(row, (1, 7, 1)), x)
    x = make.mul(make.constant((1,), "input"), x)
    mean = make.pool(x, "mean", (3, 2), (2, 1), (1, 0, 1, 1))
    largest = make.pool(x, "max", (2, 3), (1, 2), (0, 1, 1, 1))
    eight = make.concat((x, x, x), 2)
    wide = [make.pool(eight, kind, (2, 2), (2, 2)) for kind in ("mean", "max")]
    framed = make.pad(largest, (1, 0, 2), (0, 3, 1))
    joined = make.concat((largest, make.concat((largest, largest), 1)), 1)
    height, width, channels = make.tensors[joined].shape
    means = [
        make.means(framed, 1, make.tensors[framed].shape[2:]),
        make.means(joined, height, (height, 1, channels)),
        make.means(joined, 1, (width,), tail=channels),
        make.means(joined, height * width, (height, width)),
    ]
    rows, one = make.fixed_softmax(joined), make.fixed_softmax(means[0], 0.01)
    outputs = [mean, *wide, *means, rows, make.view(one, (1, make.tensors[one].size))]
    return make.graph(**{f"out_{at}": name for at, name in enumerate(outputs)}), make.input(2)


def random_steps(seed: int) -> GraphCase:
    """Return a few steps of any kind in a row, some of whose values are asked for."""
    draw = np.random.default_rng(4000 + seed)
    shape = tuple(int(each) for each in draw.integers(3, 7, 3))
    make = StepMaker(shape, seed, seed % 5 == 4, f"r{seed}_")
    x, kept = "input", {}
    for number in range(7):
        height, width, channels = make.tensors[x].shape
        kind = int(draw.integers(12))
        if kind == 0:
            x = make.table(x)
        elif kind == 1:
            x = make.table_add(x, make.table(x))
        elif kind == 2:
            x = make.table_add(make.table(x), x, curved=True)
        elif kind == 3:
            some = tuple(int(side) if draw.random() < 0.5 else 1 for side in make.tensors[x].shape)
            pair = (x, make.constant(some[int(draw.integers(3)) :], x))
            x = (make.mul if draw.random() < 0.5 else make.table_add)(*pair[:: int(draw.choice([1, -1]))])
        elif kind == 4:
            x = make.mul(x, make.table(x))
        elif kind == 5 and min(height, width) > 2:
            window = tuple(int(each) for each in draw.integers(1, 4, 2))
            padding = tuple(int(draw.integers(0, side)) for side in (*window, *window))
            stride = tuple(int(each) for each in draw.integers(1, 3, 2))
            x = make.pool(x, str(draw.choice(["mean", "max"])), window, stride, padding)
        elif kind == 6 and max(height, width) < 9:
            before, after = (tuple(int(each) for each in draw.integers(0, 2, 3)) for _ in range(2))
            x = make.pad(x, before, after)
        elif kind == 7 and max(height, width, channels) < 9:
            x = make.concat(
                (x, make.view(make.view(x, (height * width, channels)), (height, width, channels))),
                int(draw.integers(3)),
            )
        elif kind == 9:
            x = make.strided(x)
        elif kind == 10:
            x = make.mul(make.state(x, int(draw.integers(-128, 128))), x)
        elif kind == 8:
            x = make.view(x, (width, height, channels))
        else:
            x = make.fixed_softmax(x)
        if draw.random() < 0.2:
            kept[f"kept_{number}"] = x
    features = make.means(x, 1, make.tensors[x].shape[2:])
    return make.graph(probs=make.fixed_softmax(features), features=features, **kept), make.input(3)


def halves() -> GraphCase:
    """Sums and products that lie half way between two integers, on both sides of zero, at every shift."""
    x = np.arange(-128, 128).astype(np.int8)
    tensors = {"input": Tensor("input", (256,), 1.0, 0)}
    steps: list[TableAdd | Mul] = []
    line = np.arange(-128, 128).astype(np.int32)
    for shift in (0, -1, -2, -3, -8):
        for multiplier in (2**30, 2**31 - 1, 0):
            for kind in ("sum", "product"):
                name = f"h{len(steps)}"
                tensors[name] = Tensor(name, (256,), 1.0, -3)
                if kind == "sum":
                    steps.append(
                        TableAdd("input", "input", name, line, line * 3, multiplier, shift, -100, 100)
                    )
                else:
                    steps.append(Mul("input", "input", name, multiplier, shift))
    graph = Graph("halves", tensors, steps, "input", {f"out_{at}": s.target for at, s in enumerate(steps)})
    return graph, x[None]


@cache
def cases() -> list[GraphCase]:
    return [halves(), fixed(False), fixed(True), *(random_steps(seed) for seed in range(24))]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("steps")
    prepare(cases(), folder)
    return folder


def test_the_oracle_and_the_loops_over_numbers_agree() -> None:
    inner = ends = 0
    for graph, x in cases():
        check_graph(graph)
        wanted = expected(graph, x)
        for name, values in oracle.run(graph, x).items():
            assert np.array_equal(values, wanted[name]), name
            inner += int(((values > -128) & (values < 127)).sum())
            ends += int(((values == -128) | (values == 127)).sum())
    assert inner > 5000 and ends > 500


@pytest.mark.parametrize("build", first_quick([(each, mode) for mode in MODES for each in ("gcc", "clang")]))
def test_same_bits_here(build: tuple[str, str], written: Path, tmp_path: Path) -> None:
    compiler, mode = build
    need_compiler(compiler, mode, tmp_path)
    command = [compiler, "-std=c99", *WARNINGS, *MODES[mode]]
    check(run_here(compile_with(command, written, tmp_path / "program")), cases())


@pytest.mark.parametrize("core", first_quick(["m4", "m4_plain", "m7", "m0"]))
def test_same_bits_on_a_board(core: str, written: Path, tmp_path: Path) -> None:
    check(run_on_core(core, written, tmp_path), cases())


@pytest.mark.slow
@pytest.mark.parametrize("machine", MACHINES)
def test_same_bits_on_the_other_architecture(machine: str, written: Path, tmp_path: Path) -> None:
    check(run_elsewhere(machine, written, tmp_path / "program"), cases())
