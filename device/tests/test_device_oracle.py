"""The oracle on cases made by hand, and graphs as files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tcuq_device.graph import oracle
from tcuq_device.graph.check import check
from tcuq_device.graph.model import Graph, Tensor
from tcuq_device.graph.steps import HIGHEST, Add, Conv, Dense, MeanPool, Softmax, Step
from tcuq_device.graph.storage import load_graph, save_graph
from tcuq_device.kernels.checked import cases

TABLE = np.array([65535 >> k if k < 16 else 0 for k in range(256)], dtype=np.uint16)


def ints(*values: int) -> Any:
    return np.array(values, dtype=np.int32)


def chain(shapes: list[tuple[int, ...]], steps: list[Step], zeros: list[int] | None = None) -> Graph:
    """Return a graph of tensors t0, t1, ..., the last one being its output y."""
    center = zeros or [0] * len(shapes)
    tensors = {
        f"t{at}": Tensor(f"t{at}", shape, 0.5, zero)
        for at, (shape, zero) in enumerate(zip(shapes, center, strict=True))
    }
    return Graph("toy", tensors, steps, "t0", {"y": f"t{len(shapes) - 1}"})


def result(graph: Graph, x: Any) -> Any:
    check(graph)
    return oracle.run(graph, np.asarray(x, dtype=np.int8))["y"]


def test_one_multiplication_rounds_once_and_halves_go_up() -> None:
    # acc * 2**30 / 2**32 is acc / 4: 2 / 4 is a half, -2 / 4 is minus a half.
    quarter = Dense("t0", "t1", np.array([[1]], np.int8), ints(0), ints(2**30))
    found = result(chain([(1,), (1,)], [quarter]), [[1], [2], [3], [-1], [-2], [-3], [-6]])
    assert found.ravel().tolist() == [0, 1, 1, 0, 0, -1, -1]


def test_the_widest_sums_stay_exact() -> None:
    """Extremes of 32 bits, where a float would lose digits."""
    many = np.full((1, 1000), 127, dtype=np.int8)
    bias = HIGHEST - 1000 * 127 * 128
    graph = chain([(1000,), (1,)], [Dense("t0", "t1", many, ints(bias), ints(1))], [0, -128])
    low, high = np.full((1, 1000), -128), np.full((1, 1000), 127)
    for x, acc in ((low, bias - 1000 * 127 * 128), (high, bias + 1000 * 127 * 127)):
        assert result(graph, x).item() == min(127, ((acc + 2**31) >> 32) - 128)
    graph = replace(graph, steps=[replace(graph.steps[0], multiplier=ints(HIGHEST))])
    assert result(graph, high).item() == 127
    negative = Dense("t0", "t1", -many, ints(-bias), ints(HIGHEST))
    assert result(replace(graph, steps=[negative]), high).item() == -128


def test_a_convolution_by_hand() -> None:
    x = np.array([[[[1], [2]], [[3], [4]]]])
    kernel = np.array([[[[1], [0]], [[10], [100]]]], dtype=np.int8)
    # Windows of a frame of 7s above and to the left, stride 1: every output is a dot product by hand.
    step = Conv("t0", "t1", kernel, ints(0), ints(2**30), (1, 1), (1, 1, 0, 0), np.array([7], np.int8))
    wide = result(chain([(2, 2, 1), (2, 2, 1)], [step]), x)
    sums = [[7 + 70 + 100, 7 + 10 + 200], [7 + 70 + 300, 1 + 30 + 400]]
    assert wide[0, :, :, 0].tolist() == [[(each * 2**30 + 2**31) >> 32 for each in row] for row in sums]


def test_sums_and_means_by_hand() -> None:
    graph = chain([(1, 1, 1), (1, 1, 1)], [Add("t0", "t0", "t1", 300, -45, 128, 8)])
    # (255 q + 128) >> 8 rounds down, also below 0.
    assert result(graph, [[[[100]]], [[[-100]]], [[[-128]]]]).ravel().tolist() == [100, -100, -127]
    pool = chain([(2, 2, 1), (1,)], [MeanPool("t0", "t1", 4 * 128, 2**30)], [-128, -128])
    assert result(pool, [[[[-128], [-128]], [[-128], [-126]]]]).tolist() == [[-127]]  # 2 / 4 goes up
    assert result(pool, np.full((1, 2, 2, 1), 127)).tolist() == [[127]]


def test_posteriors_by_hand() -> None:
    graph = chain([(3,), (3,)], [Softmax("t0", "t1", TABLE)])
    graph = replace(graph, tensors={**graph.tensors, "t1": Tensor("t1", (3,), 1 / 256, -128)})
    e = [65535, 32767, 65535 >> 15]
    expected = [min(255, (each * 512 + sum(e)) // (2 * sum(e))) - 128 for each in e]
    assert result(graph, [[-5, -6, -20], [127, -128, -128]]).tolist() == [expected, [127, -128, -128]]


def test_every_kind_of_step_comes_back_from_its_file(tmp_path: Path) -> None:
    one, other = tmp_path / "one.npz", tmp_path / "other.npz"
    for case in {tuple(map(type, case.graph.steps)): case for case in cases()}.values():
        save_graph(one, case.graph)
        back = load_graph(one)
        for old, new in zip(case.graph.steps, back.steps, strict=True):
            assert type(old) is type(new)
            for key, value in vars(old).items():
                found = getattr(new, key)
                assert type(found) is type(value) and np.array_equal(found, value), (case.name, key)
        assert (back.tensors, back.outputs) == (case.graph.tensors, case.graph.outputs)
        save_graph(other, back)
        assert other.read_bytes() == one.read_bytes()
