"""The oracle on cases made by hand, what `check` refuses, and graphs as files."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

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


def small(step: str, **changes: Any) -> Graph:
    """Return a graph of one step of each kind that is in order but for the changes."""
    two = np.ones((2, 1, 1, 3), dtype=np.int8)
    pad = np.zeros(3, dtype=np.int8)
    fixed = {"bias": ints(0, 0), "multiplier": ints(HALF, HALF)}
    picture, made = (4, 5, 3), (4, 5, 2)
    frame = (0, 0, 0, 0)
    steps: dict[str, tuple[list[tuple[int, ...]], Step]] = {
        "conv": ([picture, made], Conv("t0", "t1", two, **fixed, stride=(1, 1), padding=frame, pad=pad)),
        "depthwise": (
            [(4, 5, 2), (4, 5, 2)],
            Depthwise("t0", "t1", two[:, 0, :, :2][:1], **fixed, stride=(1, 1), padding=frame, pad=pad[:2]),
        ),
        "dense": ([(3,), (2,)], Dense("t0", "t1", two[:, 0, 0], **fixed)),
        "add": ([picture, picture], Add("t0", "t0", "t1", 128, 128, 0, 8)),
        "mean": ([picture, (3,)], MeanPool("t0", "t1", 0, HALF)),
        "drop": ([picture, picture], Drop("t0", "t1", 26, 2**15)),
    }
    shapes, plain = steps[step]
    return chain(shapes, [replace(plain, **changes)])


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
    graph = chain([(3,), (2,)], list(small("dense").steps))
    x = np.random.default_rng(0).integers(-128, 128, (2 * oracle.BATCH + 3, 3)).astype(np.int8)
    whole = oracle.run(graph, x)["y"]
    assert np.array_equal(whole, np.concatenate([oracle.run(graph, row[None])["y"] for row in x]))
    assert oracle.run(graph, x[:0])["y"].shape == (0, 2)
    assert list(oracle.run(graph, x, every=True)) == ["t0", "t1"]
    with pytest.raises(ValueError, match=r"input is int16 \(67, 3\), expected int8 \(n, 3\)"):
        oracle.run(graph, x.astype(np.int16))


@pytest.mark.parametrize("step", ["conv", "depthwise", "dense", "add", "mean", "drop"])
def test_graphs_in_order_pass(step: str) -> None:
    graph = small(step)
    assert check(graph) is graph


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("conv", {"source": "t7"}, "source 't7' is no tensor"),
    ("conv", {"target": "t7"}, "target 't7' is no tensor"),
    ("conv", {"target": "t0"}, "target t0 is made twice or is the input"),
    ("conv", {"stride": (0, 1)}, "stride is 0, expected 1 to 16"),
    ("conv", {"stride": (2, 2)}, "target's shape is (4, 5, 2), expected (2, 3, 2)"),
    ("conv", {"padding": (0, 0, 1, 0)}, "target's shape is (4, 5, 2), expected (5, 5, 2)"),
    ("conv", {"padding": [0, 0, 0, 0]}, "padding is [0, 0, 0, 0], expected (top, left, bottom, right)"),
    ("conv", {"padding": (0, -1, 0, 0)}, "padding is -1, expected 0 to 255"),
    ("conv", {"pad": np.zeros(2, np.int8)}, "pad is int8 (2,), expected int8 (3)"),
    ("conv", {"weights": np.ones((2, 1, 1, 4), np.int8)}, "weights is int8 (2, 1, 1, 4)"),
    ("conv", {"weights": np.ones((2, 1, 1, 3), np.int16)}, "weights is int16 (2, 1, 1, 3)"),
    (
        "conv",
        {"weights": np.ones((2, 5, 1, 3), np.int8)},
        "kernel is (5, 1), expected at most the padded picture",
    ),
    ("conv", {"bias": ints(0)}, "bias is int32 (1,), expected int32 (2)"),
    ("conv", {"bias": ints(0, -HIGHEST)}, f"a sum can reach {HIGHEST + 3 * 128}, expected {HIGHEST}"),
    ("conv", {"multiplier": ints(1, -1)}, f"multiplier is -1, expected 0 to {HIGHEST}"),
    ("depthwise", {"bias": ints(HIGHEST, 0)}, "a sum can reach"),
    (
        "depthwise",
        {"weights": np.ones((1, 1, 3), np.int8)},
        "weights are for 3 outputs, expected a multiple of 2",
    ),
    ("conv", {"dilation": (1, 0)}, "dilation is 0, expected 1 to 255"),
    ("conv", {"dilation": 2}, "dilation is 2, expected (down, across)"),
    (
        "conv",
        {"weights": np.ones((2, 3, 1, 3), np.int8), "dilation": (2, 1)},
        "kernel is (5, 1), expected at most the padded picture",
    ),
    ("conv", {"shift": ints(-32, 0)}, "shift is -32, expected -31 to 30"),
    ("conv", {"shift": ints(0, 31)}, "shift is 31, expected -31 to 30"),
    ("conv", {"shift": ints(0)}, "shift is int32 (1,), expected int32 (2)"),
    ("depthwise", {"shift": ints(0, 25)}, f"a sum can reach {128 << 25}, expected {HIGHEST}"),
    ("dense", {"shift": ints(23, 0)}, f"a sum can reach {3 * 128 << 23}, expected {HIGHEST}"),
    ("dense", {"low": -129}, "low is -129, expected -128 to 127"),
    ("conv", {"low": 5, "high": 4}, "high is 4, expected 5 to 127"),
    ("dense", {"weights": np.ones((2, 2), np.int8)}, "weights are for rows of 2, expected 3 or a part of it"),
    ("dense", {"bias": ints(0, HIGHEST)}, "a sum can reach"),
    ("dense", {"weights": np.ones((3, 3), np.int8)}, "target's shape is (2,), expected (3,)"),
    ("add", {"left": 2**15}, "left is 32768, expected -32768 to 32767"),
    ("add", {"offset": HIGHEST}, "a sum can reach"),
    ("add", {"shift": 32}, "shift is 32, expected 0 to 31"),
    ("add", {"second": "t1"}, "source t1 is not there yet"),
    ("mean", {"multiplier": 2**31}, f"multiplier is 2147483648, expected 0 to {HIGHEST}"),
    ("mean", {"bias": HIGHEST}, "a sum can reach"),
    ("drop", {"threshold": 256}, "threshold is 256, expected 0 to 255"),
    ("drop", {"multiplier": 2**24}, "multiplier is 16777216, expected 0 to 8421440"),
]


@pytest.mark.parametrize(("step", "changes", "message"), REFUSED)
def test_steps_out_of_order_are_refused(step: str, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as caught:
        check(small(step, **changes))
    text = str(caught.value)
    assert message in text and text.startswith("step 0 (") and "\n" not in text


def test_graphs_out_of_order_are_refused() -> None:
    graph = small("drop")
    odd = Tensor("t1", (4, 5, 3), 0.5, 1)
    more = {**graph.tensors, "t2": Tensor("t2", (1,), 1.0, 0)}
    cases: list[tuple[dict[str, Any], str]] = [
        ({"name": "a-b"}, "name of the graph is 'a-b', expected a C identifier"),
        ({"name": "int"}, "name of the graph is 'int'"),
        ({"input": "x"}, "input is 'x', expected one of t0, t1"),
        ({"outputs": {}}, "outputs are none; at least one is needed"),
        ({"outputs": {"y": "t9"}}, "output y is 't9', expected one of t0, t1"),
        ({"tensors": more}, "tensor t2 is made by no step"),
        ({"tensors": {**graph.tensors, "t1": odd}}, "target's zero is 1, expected 0, as of its source,"),
        ({"tensors": {**graph.tensors, "t1": replace(odd, zero=200)}}, "zero is 200, expected -128 to 127"),
        ({"tensors": {**graph.tensors, "t1": replace(odd, scale=0.0)}}, "has scale 0.0, expected a positive"),
        ({"tensors": {**graph.tensors, "t1": replace(odd, shape=(1, 2, 2, 2))}}, "one to three dimensions"),
        ({"tensors": {**graph.tensors, "t1": replace(odd, name="x")}}, "filed under another name"),
        ({"steps": ["drop"]}, "step 0 is a str"),
    ]
    for changes, message in cases:
        with pytest.raises(ValueError) as caught:
            check(replace(graph, **changes))
        assert message in str(caught.value)


def test_a_softmax_out_of_order_is_refused() -> None:
    tensors = {"t0": Tensor("t0", (3,), 0.5, 0), "t1": Tensor("t1", (3,), 1 / 256, -128)}
    graph = Graph("toy", tensors, [Softmax("t0", "t1", TABLE)], "t0", {"y": "t1"})
    check(graph)
    rising = TABLE.copy()
    rising[9] = 65535
    for table, message in ((rising, "table begins with 65535 or rises"), (TABLE[:9], "table is uint16 (9,)")):
        with pytest.raises(ValueError) as caught:
            check(replace(graph, steps=[Softmax("t0", "t1", table)]))
        assert message in str(caught.value)
    with pytest.raises(ValueError, match="expected 1/256 and -128"):
        check(replace(graph, tensors={**tensors, "t1": Tensor("t1", (3,), 0.5, 0)}))


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


def test_files_that_are_no_graphs_are_refused_in_a_line(tmp_path: Path) -> None:
    path = tmp_path / "g.npz"
    save_graph(path, mixed())
    good = path.read_bytes()
    with np.load(io.BytesIO(good)) as file:
        arrays = {name: file[name] for name in file.files}
    header = json.loads(bytes(arrays["header"]))

    def written(changes: dict[str, Any], **more: Any) -> bytes:
        buffer = io.BytesIO()
        text = json.dumps({**header, **changes}).encode()
        np.savez(buffer, **{**arrays, "header": np.frombuffer(text, np.uint8), **more})
        return buffer.getvalue()

    steps = header["steps"]
    bad = {
        "empty": b"",
        "text": b"graph",
        "cut": good[: len(good) // 2],
        "format": written({"format": "other"}),
        "no steps": written({"steps": None}),
        "short tensors": written({"tensors": header["tensors"][:-1]}),
        "odd tensor": written({"tensors": [1, *header["tensors"]]}),
        "endless scale": written({"tensors": [["a", [1], 10**400, 0], *header["tensors"]]}),
        "unknown step": written({"steps": [{**steps[0], "step": "Pool"}, *steps[1:]]}),
        "unknown field": written({"steps": [{**steps[0], "hue": 1}, *steps[1:]]}),
        "lacking field": written({"steps": [{"step": "Conv"}, *steps[1:]]}),
        "stray array": written({}, **{"99.weights": np.zeros(1)}),
        "other weights": written({}, **{"0.weights": np.zeros((3, 3), np.int8)}),
        "no JSON": written({}, header=np.frombuffer(b"{", np.uint8)),
        "a list": written({}, header=np.frombuffer(b"[]", np.uint8)),
        "no header": (lambda buffer: (np.savez(buffer, a=np.zeros(1)), buffer.getvalue())[1])(io.BytesIO()),
    }
    for case, content in bad.items():
        path.write_bytes(content)
        with pytest.raises(ValueError) as caught:
            load_graph(path)
        assert "\n" not in str(caught.value) and str(path) in str(caught.value), case
    with pytest.raises(ValueError, match="step 0"):
        save_graph(path, small("conv", stride=(0, 1)))
