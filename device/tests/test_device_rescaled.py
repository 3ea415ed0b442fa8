# SPDX-License-Identifier: MIT
"""Convolutions and dense layers in TFLite's arithmetic: the same bits everywhere, and their memory."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from compilers import builds, need_compiler
from device_graphs import expected
from device_programs import (
    MACHINES,
    MODES,
    QUICK_CORES,
    WARNINGS,
    GraphCase,
    check,
    compile_with,
    prepare,
    run_elsewhere,
    run_here,
    run_on_core,
)
from device_rescaled import KINDS, random_step, roundings

from tcuq_device.generate.arena import lag_of
from tcuq_device.graph import oracle
from tcuq_device.graph.check import check as checked
from tcuq_device.graph.model import Tensor
from tcuq_device.graph.steps import Conv, Dense

EACH = 12
"""Random steps of a kind that compilers and boards run."""


@cache
def cases() -> list[GraphCase]:
    found = [roundings(kind, 1500, 5, f"h{kind}_") for kind in ("conv", "depthwise", "dense")]
    for kind in KINDS:
        found += [random_step(kind, seed, f"{kind.replace(' ', '_')}{seed}_") for seed in range(EACH)]
    return found + [random_step(kind, 500, f"p{kind.replace(' ', '_')}_", shifted=False) for kind in KINDS]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rescaled")
    prepare(cases(), folder)
    return folder


@pytest.mark.parametrize("kind", KINDS)
def test_the_oracle_gives_the_bits_of_another_arithmetic(kind: str) -> None:
    inner = 0
    for seed in range(200):
        graph, x = random_step(kind, seed)
        checked(graph)
        found = oracle.run(graph, x)["y"]
        assert np.array_equal(found, expected(graph, x)["y"]), seed
        step = graph.steps[-1]
        inner += int(((found > step.low) & (found < step.high)).sum())
    assert inner > 2000


@pytest.mark.parametrize("kind", ["conv", "depthwise", "dense"])
def test_the_oracle_rounds_as_another_arithmetic(kind: str) -> None:
    for seed in range(5):
        graph, x = roundings(kind, 20000, seed)
        checked(graph)
        found = oracle.run(graph, x)["y"]
        assert np.array_equal(found, expected(graph, x)["y"])
        assert len(np.unique(found)) > 150


@pytest.mark.parametrize(("compiler", "mode"), builds(MODES))
def test_same_bits_here(compiler: str, mode: str, written: Path, tmp_path: Path) -> None:
    need_compiler(compiler, mode, tmp_path)
    command = [compiler, "-std=c99", *WARNINGS, *MODES[mode]]
    check(run_here(compile_with(command, written, tmp_path / "program")), cases())


@pytest.mark.parametrize("core", QUICK_CORES)
def test_same_bits_on_a_board(core: str, written: Path, tmp_path: Path) -> None:
    check(run_on_core(core, written, tmp_path), cases())


# Memory.


def reads_of(step: Conv, source: Tensor, row: int, column: int) -> list[int]:
    """Return where the values begin that a pixel of a convolution sees."""
    height, width, channels = source.shape
    found = []
    for i in range(step.weights.shape[1]):
        for j in range(step.weights.shape[2]):
            y = row * step.stride[0] - step.padding[0] + i * step.dilation[0]
            x = column * step.stride[1] - step.padding[1] + j * step.dilation[1]
            if 0 <= y < height and 0 <= x < width:
                found.append((y * width + x) * channels)
    return found


def survives(step: Conv | Dense, source: Tensor, target: Tensor, lag: int) -> bool:
    """Return whether a step finds its input untouched when its output begins `lag` before it."""
    size = source.size + target.size + abs(lag)
    written = np.zeros(2 * size, bool)
    if isinstance(step, Dense):
        outputs, inputs = step.weights.shape
        passes = [([row * inputs], inputs) for row in range(source.size // inputs)]
    else:
        outputs = target.shape[2]
        places = np.ndindex(target.shape[0], target.shape[1])
        passes = [(reads_of(step, source, *place), source.shape[2]) for place in places]
    for number, (begins, length) in enumerate(passes):
        if any(written[size + at : size + at + length].any() for at in begins):
            return False
        at = size - lag + number * outputs
        written[at : at + outputs] = True
    return True


@pytest.mark.parametrize("kind", ["conv", "conv line", "dense"])
def test_a_lag_is_enough(kind: str) -> None:
    tight = several = 0
    for seed in range(150):
        graph, _ = random_step(kind, seed)
        step = graph.steps[-1]
        assert isinstance(step, (Conv, Dense))
        source, target = graph.tensors[step.source], graph.tensors[step.target]
        lag = lag_of(step, source, target)
        assert lag is not None
        assert survives(step, source, target, lag), seed
        several += lag > -source.size
        tight += lag > -source.size and not survives(step, source, target, lag - 1)
    # A place that is never read, between strides or beyond a border, may make a lag larger than needed.
    assert several > 80 and tight > several // 2


@pytest.mark.slow
@pytest.mark.parametrize("machine", MACHINES)
def test_same_bits_on_the_other_architecture(machine: str, written: Path, tmp_path: Path) -> None:
    check(run_elsewhere(machine, written, tmp_path / "program"), cases())
