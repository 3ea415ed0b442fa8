# SPDX-License-Identifier: MIT
"""Models and data that a recording cannot use: each is refused, or left out with a note, in one line."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from refusals import refuses
from tiny_models import MODELS, bars, write_graph, write_pictures

import tcuq
from tcuq.recording.onnx import fields, nodes, tail_output
from tcuq.recording.run import read_names
from tcuq.recording.shifts import MOST

X = np.linspace(0, 1, 40, dtype=np.float32).reshape(10, 4)


def thirds(x: Any) -> Any:
    return np.full((len(x), 3), 1 / 3)


class TestOutputs:
    def test_posteriors_are_no_logits(self) -> None:
        refuses("conflict", tcuq.record, thirds, X, logits=True)
        refuses("conflict", tcuq.record, lambda x: thirds(x).astype(np.float16), X, logits=True, batch=3)
        one_row = tcuq.record(thirds, X[:4], logits=True)  # too few rows to tell
        assert one_row.classes == 3
        logits = tcuq.record(lambda x: x, X, logits=True)
        assert logits.probs.shape == (10, 4) and logits.notes == ()

    def test_int8_posteriors_are_no_logits(self) -> None:
        pytest.importorskip("ai_edge_litert", reason="TFLite: pip install ai-edge-litert")
        x = bars(20)[0]
        for name in ("int8", "sigmoid", "float"):
            refuses("conflict", tcuq.record, MODELS / f"{name}.tflite", x, logits=True)

    def test_an_autoencoder_is_asked_whether_it_is_a_classifier(self) -> None:
        x = np.random.default_rng(0).uniform(0, 0.3, (20, 640)).astype(np.float32)  # rows sum to about 100
        refuses("value", tcuq.record, lambda x: x, x)
        log = tcuq.record(lambda x: x, x, logits=True)
        assert any("as many outputs as inputs, 640. Is it a classifier?" in each for each in log.notes)
        refuses("value", tcuq.record, lambda x: 2 * x[:, :630] - 0.01, x)
        refuses("value", tcuq.record, lambda x: x[:, :9], x)
        refuses("value", tcuq.record, lambda x: 100 * thirds(x), x)
        refuses("value", tcuq.record, lambda x: np.round(100 * thirds(x)).astype(np.int8), x)

    def test_names_that_do_not_go_with_the_outputs(self, tmp_path: Path) -> None:
        pytest.importorskip("PIL", reason="pictures need Pillow: pip install pillow")
        names = [f"c{each:02}" for each in range(9)]
        write_pictures(tmp_path / "some")
        for each in names:
            shutil.copytree(tmp_path / "some" / "left", tmp_path / "all" / each)
        refuses("conflict", tcuq.record, thirds, tmp_path / "all", input_shape=(8, 8))
        ten = [*names, "c09"]

        def tens(x: Any) -> Any:
            return np.full((len(x), 10), 0.1)

        refuses("conflict", tcuq.record, tens, tmp_path / "all", input_shape=(8, 8))
        assert tcuq.record(tens, tmp_path / "all", input_shape=(8, 8), names=ten).classes == 10
        refuses("conflict", tcuq.record, thirds, tmp_path / "all", input_shape=(8, 8), names=ten)
        refuses("unknown", tcuq.record, tens, tmp_path / "all", names=[*"abcdefghij"])


SOFTMAX: Any = ("Softmax", ["x"], "shares", {})


class TestONNX:
    @pytest.fixture(autouse=True)
    def _runtime(self) -> None:
        pytest.importorskip("onnxruntime", reason="ONNX models need onnxruntime: pip install onnxruntime")

    def test_inputs_and_outputs_that_are_no_classifier(self, tmp_path: Path) -> None:
        one, two = ("x", "f", ["n", 4]), ("z", "f", ["n", 4])
        add: Any = ("Add", ["x", "z"], "sum", {})
        path = write_graph(tmp_path / "m.onnx", [add], [one, two], [("sum", "f", ["n", 4])])
        refuses("unsupported", tcuq.record, path, X)
        text = write_graph(
            tmp_path / "m.onnx",
            [("Identity", ["x"], "y", {})],
            [("x", "s", ["n", 4])],
            [("y", "s", ["n", 4])],
        )
        refuses("unsupported", tcuq.record, text, X)
        best = ("ArgMax", ["x"], "class", {"axis": 1, "keepdims": 0})
        path = write_graph(tmp_path / "m.onnx", [best], [one], [("class", "i", ["n"])])
        refuses("missing", tcuq.record, path, X)
        again = ("ArgMax", ["x"], "other", {"axis": 1, "keepdims": 0})
        path = write_graph(
            tmp_path / "m.onnx", [best, again], [one], [("class", "i", ["n"]), ("other", "i", ["n"])]
        )
        refuses("missing", tcuq.record, path, X)
        path = write_graph(tmp_path / "m.onnx", [SOFTMAX], [one], [("shares", "f", ["n", 4])])
        refuses("unknown", tcuq.record, path, X, posteriors="odds")

    def test_features_that_cannot_be_had_are_left_out_with_a_note(self, tmp_path: Path) -> None:
        one, out = ("x", "f", ["n", 4]), ("shares", "f", ["n", None])
        path = write_graph(tmp_path / "m.onnx", [SOFTMAX], [one], [out])
        log = tcuq.record(path, X)
        assert log.features is None and "the model has no fully connected layer" in log.notes[0]
        constants = {"w": np.eye(4, dtype=np.float32)}
        only: list[Any] = [("MatMul", ["x", "w"], "y", {}), ("Softmax", ["y"], "shares", {})]
        log = tcuq.record(write_graph(tmp_path / "m.onnx", only, [one], [out], constants), X)
        assert (
            log.features is None and "the only fully connected layer reads the input itself" in log.notes[0]
        )
        wide = [
            ("Concat", ["x"] * 65, "wide", {"axis": 1}),
            ("MatMul", ["wide", "v"], "y", {}),
            ("Softmax", ["y"], "shares", {}),
        ]
        path = write_graph(tmp_path / "m.onnx", wide, [one], [out], {"v": np.zeros((260, 3), np.float32)})
        log = tcuq.record(path, X)
        assert log.features is None and "'wide' has 260 values, a log takes at most 256" in log.notes[0]
        refuses("limit", tcuq.record, path, X, features="wide")
        whole = [SOFTMAX, ("ArgMax", ["x"], "best", {"axis": 1, "keepdims": 0})]
        path = write_graph(tmp_path / "m.onnx", whole, [one], [out])
        refuses("value", tcuq.record, path, X, features="best")
        mean = [SOFTMAX, ("ReduceMean", ["x"], "mean", {"axes": [0], "keepdims": 1})]
        path = write_graph(tmp_path / "m.onnx", mean, [one], [out])
        refuses("value", tcuq.record, path, X, features="mean")

    def test_an_input_of_indices_takes_whole_numbers_alone(self, tmp_path: Path) -> None:
        onnx = pytest.importorskip("onnx")
        cast = ("Cast", ["x"], "y", {"to": onnx.TensorProto.FLOAT})
        steps: list[Any] = [cast, ("Softmax", ["y"], "shares", {})]
        path = write_graph(tmp_path / "m.onnx", steps, [("x", "i", ["n", 4])], [("shares", "f", ["n", 4])])
        assert tcuq.record(path, np.eye(4)).probs.argmax(axis=1).tolist() == [0, 1, 2, 3]
        refuses("value", tcuq.record, path, X)

    def test_a_graph_that_fails_where_it_runs(self, tmp_path: Path) -> None:
        steps: list[Any] = [("Reshape", ["x", "shape"], "y", {}), ("Softmax", ["y"], "shares", {})]
        path = write_graph(
            tmp_path / "m.onnx",
            steps,
            [("x", "f", ["n", 4])],
            [("shares", "f", [None, None])],
            {"shape": np.array([7, 3])},
        )
        refuses("failed", tcuq.record, path, X)

    def test_bytes_of_a_graph(self) -> None:
        fixed = bytes([1 << 3 | 1, *range(8), 2 << 3 | 5, *range(4), 3 << 3 | 2, 1, 65])
        assert list(fields(fixed, 0, len(fixed))) == [(3, 16, 17)]
        for wrong in (b"\x0a\x05a", b"\x0b", b"\xff" * 12):
            refuses("damaged", list, fields(wrong, 0, len(wrong)))
        long = "n" * 500
        added = tail_output(long)
        assert long.encode() in added and len(added) > 500 and nodes(added) == []


class Dense:
    """A layer as Keras has it, as far as a recording looks."""

    def __init__(self, name: str, width: int) -> None:
        self.name = name
        self.input = self.output = SimpleNamespace(shape=(None, width))


class Like:
    """A model that looks like one of Keras."""

    def __init__(self, width: int = 4) -> None:
        self.layers = [Dense("hidden", width), Dense("last", width)]
        self.inputs, self.outputs = ["x"], ["shares"]

    def predict(self, x: Any, verbose: int, batch_size: int) -> Any:
        if x.shape[1] != 4:
            raise ValueError("Input 0 of layer is incompatible\nwith the layer")
        return thirds(x)


@pytest.fixture
def keras(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Give a package that makes models of two outputs, and loads one."""

    class Two(Like):
        def __init__(self, inputs: Any, outputs: Any) -> None:
            super().__init__()

        def predict(self, x: Any, verbose: int, batch_size: int) -> Any:
            return [thirds(x), x * 2]

    def load_model(path: Any, compile: bool) -> Any:
        if Path(path).read_bytes() != b"a model":
            raise OSError("file signature not found")
        return Like()

    package = ModuleType("keras")
    package.Model, package.models = Two, SimpleNamespace(load_model=load_model)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "keras", package)
    monkeypatch.setattr(Like, "__module__", "keras.src.models")
    return package


class TestKeras:
    def test_features_are_what_the_last_dense_layer_reads(self, keras: ModuleType) -> None:
        np.testing.assert_array_equal(tcuq.record(Like(), X).features, X * 2)
        np.testing.assert_array_equal(tcuq.record(Like(), X, features="hidden").features, X * 2)
        assert tcuq.record(Like(), X, features=False).features is None
        refuses("unknown", tcuq.record, Like(), X, features="no")
        assert "'input of last' has 300 values" in tcuq.record(Like(300), X).notes[0]

    def test_a_shape_that_it_refuses_is_one_line(self, keras: ModuleType) -> None:
        refuses("failed", tcuq.record, Like(), X[:, :3], features=False)

    def test_a_file(self, keras: ModuleType, tmp_path: Path) -> None:
        (tmp_path / "m.keras").write_bytes(b"a model")
        assert tcuq.record(tmp_path / "m.keras", X).classes == 3
        (tmp_path / "m.keras").write_bytes(b"x")
        refuses("damaged", tcuq.record, tmp_path / "m.keras", X)
        (tmp_path / "f.onnx").mkdir()
        refuses("value", tcuq.record, tmp_path / "f.onnx", X)


class TestTorch:
    @pytest.fixture
    def torch(self) -> Any:
        return pytest.importorskip("torch", reason="PyTorch is missing: pip install torch")

    @staticmethod
    def module(torch: Any, forward: Callable[..., Any], inner: Any = None) -> Any:
        """Return a module with one part, whose forward is given."""

        class Module(torch.nn.Module):  # type: ignore[misc]
            def __init__(self) -> None:
                super().__init__()
                self.inner = inner

            def forward(self, x: Any) -> Any:
                return forward(x) if self.inner is None else forward(self.inner, x)

        return Module()

    def test_a_model_of_doubles_gets_doubles(self, torch: Any) -> None:
        net = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Softmax(1)).double()
        log = tcuq.record(net, X)
        assert log.probs.shape == (10, 3)
        assert log.features is not None and np.allclose(log.features, X)

    def test_modules_that_give_something_else(self, torch: Any) -> None:
        named = self.module(torch, lambda x: {"shares": x})
        refuses("value", tcuq.record, named, X)
        outer = self.module(torch, lambda inner, x: torch.softmax(inner(x)["shares"], 1), named)
        refuses("value", tcuq.record, outer, X, features="inner")

        def other_count(inner: Any, x: Any) -> Any:
            inner(x[:1].repeat(2, 1))
            return torch.softmax(x, 1)

        odd = self.module(torch, other_count, torch.nn.Linear(4, 4))
        log = tcuq.record(odd, X)
        assert log.features is None and "has shape (2, 4) for 10 outputs; name a module" in log.notes[0]
        refuses("value", tcuq.record, odd, X, features="inner")


class TestData:
    def test_paths_that_do_not_exist(self, tmp_path: Path) -> None:
        for each in ("nowhere", "nowhere.npz", "nowhere.npy"):
            with pytest.raises(FileNotFoundError, match=f"No such file or directory: '.*{each}'"):
                tcuq.record(thirds, tmp_path / each)
        refuses("missing", tcuq.record, tmp_path / "nowhere", X)
        refuses("value", tcuq.record, tmp_path, X)

    def test_files_that_hold_something_else(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "x.npy").write_bytes(b"no array")
        refuses("damaged", tcuq.record, thirds, tmp_path / "x.npy")

        def broken(*args: Any, **named: Any) -> Any:
            raise OSError(5, "Input/output error")

        monkeypatch.setattr(np, "load", broken)
        with pytest.raises(OSError, match=r"Input/output error: '.*x\.npy'"):
            tcuq.record(thirds, tmp_path / "x.npy")

    def test_functions_that_give_arrays_or_fail(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        module = ModuleType("my_data")
        monkeypatch.setitem(sys.modules, "my_data", module)

        def batches() -> Iterator[Any]:
            yield X[:0], None
            yield X, None

        def fails() -> Any:
            raise RuntimeError("no disk\nat all")

        for name, value in {"whole": lambda: X, "batches": batches, "fails": fails, "number": 3}.items():
            setattr(module, name, value)
        assert len(tcuq.record(thirds, "my_data:whole")) == len(tcuq.record(thirds, "my_data:batches")) == 10
        refuses("failed", tcuq.record, thirds, "my_data:fails")
        refuses("value", tcuq.record, thirds, "my_data:number")

    def test_inputs_that_no_model_takes(self) -> None:
        refuses("value", tcuq.record, thirds, np.array([["a"], ["b"]]))
        refuses("value", tcuq.record, thirds, X, np.zeros((10, 1)))

        class Shaped(Like):
            name, input_shape = "shaped", (None, 1, 8, 6)

        refuses("value", tcuq.record, Shaped(), np.zeros((3, 6, 1, 8)), features=False)
        refuses("value", tcuq.record, Shaped(), np.zeros((3, 48)), features=False)

    def test_bytes_of_pictures_are_noted(self) -> None:
        class Floats(Like):
            name, input_shape = "floats", (None, 4)

        log = tcuq.record(Floats(), np.zeros((3, 4), np.uint8), features=False)
        assert "x is uint8 and goes in as 0 to 255; pass `input_range=(0, 1)`" in log.notes[0]

    def test_half_floats_and_wide_integers_of_a_model(self) -> None:
        assert tcuq.record(lambda x: thirds(x).astype(np.float16), X).probs.dtype == np.float32
        refuses("value", tcuq.record, lambda x: [[0.5, 0.5], [1.0]] * 5, X)

    def test_too_many_shifts(self) -> None:
        shifts = {f"s{number}": (lambda x, rng: x) for number in range(MOST + 1)}
        refuses("limit", tcuq.record, thirds, np.zeros((60, 4)), shifts=shifts)

    def test_names_of_classes_in_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "names.txt").write_text("\ufeffcat\n\n dog \n", encoding="utf-8")
        assert read_names(str(tmp_path / "names.txt")) == ["cat", "dog"]
        (tmp_path / "names.txt").write_bytes(b"\xff\xfe\x00")
        refuses("damaged", read_names, str(tmp_path / "names.txt"))
