"""The oracle on cases made by hand, and graphs as files."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import refused

from tcuq_device.graph import oracle
from tcuq_device.graph.check import check
from tcuq_device.graph.model import Graph, Tensor
from tcuq_device.graph.steps import HIGHEST, Add, Conv, Dense, Depthwise, Drop, MeanPool, Softmax, Step
from tcuq_device.graph.storage import load_graph, save_graph

HALF = HIGHEST  # a multiplier that all but halves
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


@pytest.mark.parametrize(
    ("stride", "padding", "inputs", "kernel"),
    [*product((1, 2), ((0, 0, 0, 0), (1, 0, 2, 1)), (1, 3), ((1, 1), (3, 2))), (3, (4, 1, 5, 1), 2, (5, 4))],
)
def test_convolutions_equal_plain_loops(
    stride: int, padding: tuple[int, int, int, int], inputs: int, kernel: tuple[int, int]
) -> None:
    rng = np.random.default_rng(inputs)
    x = rng.integers(-128, 128, (2, 6, 5, inputs)).astype(np.int8)
    weights = rng.integers(-127, 128, (4, *kernel, inputs)).astype(np.int8)
    bias, multiplier = rng.integers(-9999, 9999, 4), rng.integers(0, 2**26, 4)
    pad = rng.integers(-128, 128, inputs).astype(np.int8)
    top, left, bottom, right = padding
    rows = (6 + top + bottom - kernel[0]) // stride + 1
    columns = (5 + left + right - kernel[1]) // stride + 1

    def seen(n: int, row: int, column: int, channel: int) -> int:
        inside = 0 <= row < 6 and 0 <= column < 5
        return int(x[n, row, column, channel] if inside else pad[channel])

    def value(acc: int, channel: int) -> int:
        return max(-128, min(127, ((acc * int(multiplier[channel]) + 2**31) >> 32) - 3))

    common = (ints(*bias), ints(*multiplier), (stride, stride), padding, pad)
    found = result(
        chain([(6, 5, inputs), (rows, columns, 4)], [Conv("t0", "t1", weights, *common)], [5, -3]), x
    )
    places = list(product(range(kernel[0]), range(kernel[1])))
    for n, r, c, o in product(range(2), range(rows), range(columns), range(4)):
        acc = int(bias[o]) + sum(
            seen(n, r * stride - top + i, c * stride - left + j, k) * int(weights[o, i, j, k])
            for i, j in places
            for k in range(inputs)
        )
        assert found[n, r, c, o] == value(acc, o)
    each = weights[0]
    common = (ints(*bias[:inputs]), ints(*multiplier[:inputs]), (stride, stride), padding, pad)
    found = result(
        chain([(6, 5, inputs), (rows, columns, inputs)], [Depthwise("t0", "t1", each, *common)], [5, -3]), x
    )
    for n, r, c, k in product(range(2), range(rows), range(columns), range(inputs)):
        acc = int(bias[k]) + sum(
            seen(n, r * stride - top + i, c * stride - left + j, k) * int(each[i, j, k]) for i, j in places
        )
        assert found[n, r, c, k] == value(acc, k)


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


def test_dropping_uses_a_byte_a_value_example_after_example() -> None:
    graph = chain([(1, 2, 3), (1, 2, 3)], [Drop("t0", "t1", 128, 40000)], [-128, -128])
    x = np.arange(-120, -108, dtype=np.int8).reshape(2, 1, 2, 3)
    state, drawn = 1, []
    for _ in range(4):  # six values take two steps of the generator, the second one's last two bytes are lost
        state ^= state << 13 & 0xFFFFFFFF
        state ^= state >> 17
        state ^= state << 5 & 0xFFFFFFFF
        drawn.append(list(state.to_bytes(4, "little")))
    taken = [drawn[0] + drawn[1][:2], drawn[2] + drawn[3][:2]]
    kept = [
        -128 if byte < 128 else min(127, (((int(q) + 128) * 40000 + 2**14) >> 15) - 128)
        for row, bytes_ in zip(x.reshape(2, 6), taken, strict=True)
        for q, byte in zip(row, bytes_, strict=True)
    ]
    draw = oracle.Random(1)
    assert oracle.run(graph, x, random=draw)["y"].ravel().tolist() == kept
    assert draw.state == state
    assert -128 in kept and len(set(kept)) > 2


def test_batches_do_not_matter_and_none_is_a_batch() -> None:
    weights = np.ones((2, 3), np.int8)
    graph = chain([(3,), (2,)], [Dense("t0", "t1", weights, ints(0, 0), ints(HALF, HALF))])
    x = np.random.default_rng(0).integers(-128, 128, (2 * oracle.BATCH + 3, 3)).astype(np.int8)
    whole = oracle.run(graph, x)["y"]
    assert np.array_equal(whole, np.concatenate([oracle.run(graph, row[None])["y"] for row in x]))
    assert oracle.run(graph, x[:0])["y"].shape == (0, 2)
    assert list(oracle.run(graph, x, every=True)) == ["t0", "t1"]
    with refused("value", "input"):
        oracle.run(graph, x.astype(np.int16))


def mixed() -> Graph:
    """Return a graph with every kind of step."""
    rng = np.random.default_rng(0)

    def whole(*shape: int) -> Any:
        return rng.integers(-20, 20, shape).astype(np.int8)

    def fixed(n: int) -> tuple[Any, Any]:
        return ints(*rng.integers(-500, 500, n)), ints(*rng.integers(2**24, 2**28, n))

    shapes = {"a": (5, 4, 2), "b": (5, 4, 3), "c": (5, 4, 3), "d": (5, 4, 3), "e": (5, 4, 3), "f": (3,)}
    tensors = {name: Tensor(name, shape, 0.1, -128 if name in "de" else 1) for name, shape in shapes.items()}
    tensors |= {"g": Tensor("g", (4,), 0.25, 0), "h": Tensor("h", (4,), 1 / 256, -128)}
    frame = (1, 1, 1, 1)
    steps: list[Step] = [
        Conv("a", "b", whole(3, 3, 3, 2), *fixed(3), (1, 1), frame, np.array([1, -1], np.int8)),
        Depthwise("b", "c", whole(3, 3, 3), *fixed(3), (1, 1), frame, np.ones(3, np.int8)),
        Add("b", "c", "d", 300, -200, 128, 8),
        Drop("d", "e", 77, 46000),
        MeanPool("e", "f", 20 * 128, 2**29),
        Dense("f", "g", whole(4, 3), *fixed(4)),
        Softmax("g", "h", TABLE),
    ]
    return Graph("mixed", tensors, steps, "a", {"probs": "h", "features": "f"}, {"seed": 0, "from": "a test"})


def test_a_graph_comes_back_from_its_file(tmp_path: Path) -> None:
    graph = mixed()
    save_graph(tmp_path / "g.npz", graph)
    back = load_graph(tmp_path / "g.npz")
    assert (back.name, back.input, back.outputs, back.about) == (
        graph.name,
        graph.input,
        graph.outputs,
        graph.about,
    )
    assert back.tensors == graph.tensors
    x = np.random.default_rng(1).integers(-128, 128, (5, 5, 4, 2)).astype(np.int8)
    one, other = (oracle.run(each, x, every=True) for each in (graph, back))
    assert all(np.array_equal(one[name], other[name]) for name in graph.tensors)
    save_graph(tmp_path / "again.npz", back)
    assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "g.npz").read_bytes()
