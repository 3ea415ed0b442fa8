# SPDX-License-Identifier: MIT
"""Convolutions and dense layers in TFLite's arithmetic: the same bits everywhere, and their memory."""

from __future__ import annotations

import subprocess
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
    arm,
    check,
    compile_with,
    prepare,
    run_elsewhere,
    run_here,
    run_on_core,
)
from device_rescaled import KINDS, random_step, roundings

from tcuq_device.generate.arena import lag_of
from tcuq_device.generate.pack import factors
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


def in_python(factor: int, power: int, sums: np.ndarray) -> np.ndarray:
    """Return what the DSP extension does: a sum in the upper half, two rounded products."""
    wide = (sums << 32) + sums * factor + 2**31
    assert wide.dtype == object and np.abs(wide).max() < 2**63
    high = wide >> 32
    return np.asarray(((high + (high >> 31)) * power + 2**31) >> 32)


@pytest.mark.parametrize("shift", range(-31, -1))
def test_two_products_are_two_roundings(shift: int) -> None:
    """Every multiplier of one bit and random ones, at sums around every half way and at both ends."""
    draw = np.random.default_rng(-shift)
    for multiplier in [2**30, 2**31 - 1, 3 << 29, *draw.integers(2**30, 2**31, 40).tolist()]:
        ties = np.arange(-300, 300) * 2.0 ** (30 - shift) / multiplier
        sums = np.concatenate([np.floor(ties) + each for each in (-1, 0, 1, 2)]).clip(1 - 2**31, 2**31 - 1)
        sums = np.concatenate(
            [sums.astype(np.int64), draw.integers(1 - 2**31, 2**31, 1000), [1 - 2**31, 2**31 - 1]]
        )
        step = Conv(
            "x",
            "y",
            np.zeros((1, 1, 1, 1), np.int8),
            np.zeros(1, np.int32),
            np.array([multiplier], np.int32),
            (1, 1),
            (0, 0, 0, 0),
            np.zeros(1, np.int8),
            np.array([shift], np.int32),
        )
        factor, power = (int(each[0]) for each in factors(step))
        assert -(2**31) <= factor < 0 < power <= 2**30
        wanted = oracle._twice(sums, multiplier, shift)
        found = in_python(factor, power, sums.astype(object)).astype(np.int64)
        assert np.array_equal(found, wanted), multiplier


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


def test_the_extension_rounds_where_it_is(written: Path, tmp_path: Path) -> None:
    """Two roundings take no call of the library and no product of 64 bits in the loops of an M4."""
    program = arm("m4", written, tmp_path / "program")
    text = subprocess.run(
        ["arm-none-eabi-objdump", "-d", program], capture_output=True, text=True, check=True
    ).stdout
    for name in ("four_columns_twice", "two_rows_twice"):
        body = text.split(f"<{name}>:")[1].split("\n\n")[0]
        assert body.count("smmlar") == 16 and "bl\t" not in body and "smull" not in body


@pytest.mark.slow
@pytest.mark.parametrize("machine", MACHINES)
def test_same_bits_on_the_other_architecture(machine: str, written: Path, tmp_path: Path) -> None:
    check(run_elsewhere(machine, written, tmp_path / "program"), cases())
