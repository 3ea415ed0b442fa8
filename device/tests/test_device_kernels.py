# SPDX-License-Identifier: MIT
"""The int8 kernels give the integers of the arithmetic, with every compiler, optimization and core."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import device_rescaled
import device_step_maker
import numpy as np
import pytest
from compilers import need_compiler
from device_graphs import Maker
from device_programs import (
    CORES,
    MACHINES,
    MODES,
    WARNINGS,
    GraphCase,
    arm,
    check,
    compile_with,
    prepare,
    run_elsewhere,
    run_here,
    run_on_core,
)
from tiers import first_quick

from tcuq_device.graph.check import check as check_graph
from tcuq_device.graph.model import Graph, Tensor
from tcuq_device.graph.steps import Conv, Dense


def convolutions(extreme: bool) -> list[GraphCase]:
    """One convolution each: shape, outputs, kernel, stride, padding."""
    shapes = [
        ((7, 9, 1), 3, (3, 3), 1, (1, 1, 1, 1)),
        ((8, 8, 3), 16, (3, 3), 1, (1, 1, 1, 1)),
        ((9, 5, 5), 1, (3, 3), 2, (0, 1, 2, 1)),
        ((6, 12, 16), 5, (3, 3), 1, (1, 1, 1, 1)),
        ((8, 11, 4), 10, (3, 3), 2, (0, 0, 1, 1)),
        ((13, 10, 1), 8, (10, 4), 2, (4, 1, 5, 1)),
        ((12, 6, 3), 2, (10, 4), 1, (0, 3, 1, 0)),
        ((5, 5, 10), 16, (1, 1), 1, (0, 0, 0, 0)),
        ((5, 7, 16), 3, (1, 1), 2, (0, 0, 0, 0)),
        ((3, 3, 8), 4, (1, 1), 1, (1, 0, 0, 2)),
        ((1, 1, 20), 6, (3, 3), 1, (1, 1, 1, 1)),
        ((2, 3, 4), 6, (5, 7), 1, (3, 4, 2, 2)),
        ((3, 4, 12), 2, (2, 2), 3, (3, 0, 4, 5)),
        ((6, 19, 3), 3, (3, 3), 2, (0, 0, 1, 1)),
        ((5, 14, 2), 2, (3, 2), 1, (1, 0, 1, 1)),
    ]
    cases = []
    for number, (shape, *rest) in enumerate(shapes):
        make = Maker(shape, number, extreme, f"c{int(extreme)}_{number}_")
        cases.append((make.graph(y=make.conv("input", *rest)), make.input(1 + (number < 3))))
    return cases


def depthwise(extreme: bool) -> list[GraphCase]:
    shapes = [
        ((9, 5, 8), (3, 3), 1, (1, 1, 1, 1)),
        ((6, 6, 10), (3, 3), 1, (1, 1, 1, 1)),
        ((5, 4, 1), (3, 3), 1, (0, 2, 2, 0)),
        ((9, 8, 5), (3, 3), 2, (0, 0, 1, 1)),
        ((7, 7, 16), (3, 3), 2, (1, 1, 1, 1)),
        ((13, 6, 3), (10, 4), 2, (4, 1, 5, 2)),
        ((6, 7, 4), (1, 1), 1, (0, 0, 0, 0)),
        ((8, 7, 4), (4, 2), 2, (1, 0, 1, 1)),
        ((1, 1, 4), (3, 3), 1, (2, 1, 3, 4)),
        ((4, 4, 4), (3, 3), 1, (4, 4, 4, 4)),
        ((8, 9, 12), (3, 3), 1, (0, 0, 0, 0)),
        ((7, 5, 6), (2, 2), 3, (0, 0, 0, 0)),
        ((8, 9, 8), (3, 3), 2, (1, 1, 1, 1)),
        ((5, 3, 4), (3, 3), 2, (0, 0, 0, 0)),
        ((6, 8, 4), (3, 5), 2, (1, 2, 1, 2)),
    ]
    cases = []
    for number, (shape, *rest) in enumerate(shapes):
        make = Maker(shape, 50 + number, extreme, f"d{int(extreme)}_{number}_")
        # Behind a step of its own: only what lies in the arena can be written over.
        source = make.drop("input", 0)
        cases.append((make.graph(y=make.depthwise(source, *rest)), make.input(1)))
    return cases


def others(extreme: bool) -> list[GraphCase]:
    make = Maker((5, 7, 6), 90, extreme, f"o{int(extreme)}_")
    half = make.drop("input", 128)
    total = make.add(half, "input")
    again = make.add(half, total)
    pooled = make.mean(again)
    many = make.dense(again, 7)
    probs = make.softmax(make.dense(pooled, 10), 0.3)
    flat = make.softmax(make.dense(many, 300), 0.0)
    outputs = {"probs": probs, "features": pooled, "probs_1": flat, "dropped": half, "sum": again}
    # More pixels than 16 bits can sum, the lowest value everywhere.
    long = Maker((30, 23, 9), 91, extreme, f"p{int(extreme)}_")
    lowest = np.full((1, 30, 23, 9), -128, np.int8)
    return [(make.graph(**outputs), make.input(2)), (long.graph(y=long.mean("input")), lowest)]


def random_chain(seed: int) -> GraphCase:
    """A few steps of any kind, with branches that are added up and some values that are asked for."""
    draw = np.random.default_rng(1000 + seed)
    make = Maker(
        (int(draw.integers(4, 10)), int(draw.integers(4, 10)), int(draw.integers(1, 9))),
        seed,
        prefix=f"r{seed}_",
    )
    x, kept = "input", {}
    for number in range(6):
        height, width, channels = make.tensors[x].shape
        kind = draw.integers(6)
        padding = tuple(int(side) for side in draw.integers(0, 3, 4))
        if kind == 0:
            x = make.conv(x, int(draw.integers(1, 13)), (3, 3), 1, (1, 1, 1, 1))
        elif kind == 1:
            stride = int(draw.integers(1, 3)) if min(height, width) > 3 else 1
            x = make.conv(
                x, int(draw.integers(1, 9)), (int(draw.integers(1, 4)), 2), stride, (1, *padding[1:])
            )
        elif kind == 2:
            x = make.depthwise(x)
        elif kind == 3:
            x = make.add(make.conv(x, channels, (3, 3), 1, (1, 1, 1, 1)), x)
        elif kind == 4:
            x = make.add(x, make.conv(make.depthwise(x), channels, (1, 1)))
        else:
            x = make.drop(x)
        if draw.random() < 0.2:
            kept[f"kept_{number}"] = x
    features = make.mean(x)
    return make.graph(probs=make.softmax(make.dense(features, 4)), features=features, **kept), make.input(2)


def rounding() -> GraphCase:
    """Sums at the ends of 32 bits and products half way between two integers."""
    sums = [0, 1, -1, 2, -2, 3, -3, 2**31 - 1, 1 - 2**31, 2**30, -(2**30), 2**20 + 1, -(2**20) - 1]
    factors = [0, 1, 2**30, 2**31 - 1, 2**31 - 2, 3 << 29, 2**16, 2**16 + 1]
    bias, multiplier = np.array([(b, m) for b in sums for m in factors], np.int64).T
    n = len(bias)
    step = Dense(
        "input", "rounded", np.zeros((n, 1), np.int8), bias.astype(np.int32), multiplier.astype(np.int32)
    )
    tensors = {"input": Tensor("input", (1,), 1.0, 0), "rounded": Tensor("rounded", (n,), 1.0, 5)}
    return Graph("rounding", tensors, [step], "input", {"y": "rounded"}), np.zeros((1, 1), np.int8)


def largest_sum() -> GraphCase:
    """The lowest weights on the lowest inputs, with a bias that takes the sum to the end of 32 bits."""
    inputs, channels = 60, 5
    weights = np.full((2, 1, 1, inputs), -128, np.int8)
    bias = np.full(2, 2**31 - 1 - 128 * 128 * inputs, np.int32)
    step = Conv(
        "input",
        "peak",
        weights,
        bias,
        np.array([2**31 - 1, 150], np.int32),
        (1, 1),
        (0, 0, 0, 0),
        weights[0, 0, 0],
    )
    tensors = {
        "input": Tensor("input", (1, channels, inputs), 1.0, 0),
        "peak": Tensor("peak", (1, channels, 2), 1.0, 0),
    }
    x = np.full((1, 1, channels, inputs), -128, np.int8)
    return Graph("largest", tensors, [step], "input", {"y": "peak"}), x


def own() -> list[GraphCase]:
    found = [rounding(), largest_sum()]
    for extreme in (False, True):
        found += convolutions(extreme) + depthwise(extreme) + others(extreme)
    return found + [random_chain(seed) for seed in range(16)]


GROUPS = {"own": own, "rescaled": device_rescaled.cases, "steps": device_step_maker.cases}
"""Steps in our arithmetic, and those in TFLite's: with weights and without."""
Written = tuple[list[GraphCase], Path]


@pytest.fixture(scope="module", params=GROUPS)
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Written:
    """Cases, and a folder with their sources."""
    cases, folder = GROUPS[request.param](), tmp_path_factory.mktemp("networks")
    for graph, _ in cases:
        check_graph(graph)
    prepare(cases, folder)
    return cases, folder


@pytest.mark.parametrize("build", first_quick([(each, mode) for mode in MODES for each in ("gcc", "clang")]))
def test_same_bits_here(build: tuple[str, str], written: Written, tmp_path: Path) -> None:
    compiler, mode = build
    need_compiler(compiler, mode, tmp_path)
    command = [compiler, "-std=c99", *WARNINGS, *MODES[mode]]
    check(run_here(compile_with(command, written[1], tmp_path / "program")), written[0])


@pytest.mark.parametrize("machine", MACHINES)
def test_same_bits_on_the_other_architecture(machine: str, written: Written, tmp_path: Path) -> None:
    """A compiler for aarch64 broke a kernel that those for x86-64 did not: each side looks at the other."""
    check(run_elsewhere(machine, written[1], tmp_path / "program"), written[0])


@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_same_bits_as_cpp(compiler: str, written: Written, tmp_path: Path) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is missing: install the Debian package {compiler.replace('++', '')}")
    command = [compiler, "-x", "c++", "-std=c++11", *WARNINGS, "-O1", "-Werror"]
    check(run_here(compile_with(command, written[1], tmp_path / "program")), written[0])


@pytest.mark.parametrize("core", first_quick(CORES))
def test_same_bits_on_a_board(core: str, written: Written, tmp_path: Path) -> None:
    check(run_on_core(core, written[1], tmp_path), written[0])


@pytest.mark.cases(1)
@pytest.mark.parametrize("core", ["m4", "m4_plain", "m3"])
def test_the_extension_is_used_where_it_is(core: str, tmp_path: Path) -> None:
    prepare([rounding()], tmp_path)
    program = arm(core, tmp_path, tmp_path / "program")
    text = subprocess.run(
        ["arm-none-eabi-objdump", "-d", program], capture_output=True, text=True, check=True
    ).stdout
    assert ("smlad" in text) == (core == "m4")
