"""Recordings of ONNX, PyTorch, Keras and scikit-learn models and of functions."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import refused, refuses
from tiny_models import bars, expected, torch_net, weights, write_onnx

import tcuq

X, Y = bars(70)
FIRST = X.transpose(0, 3, 1, 2)  # channels first
LOGITS, PROBS, HIDDEN = expected(X)


class TestONNX:
    @pytest.fixture(autouse=True)
    def _runtime(self) -> None:
        pytest.importorskip("onnxruntime", reason="ONNX models need onnxruntime: pip install onnxruntime")

    @pytest.mark.parametrize("batch", ["n", 1])
    def test_posteriors_and_penultimate_layer(self, tmp_path: Path, batch: Any) -> None:
        log = tcuq.record(write_onnx(tmp_path / "m.onnx", batch=batch), FIRST, Y)
        np.testing.assert_allclose(log.probs, PROBS, atol=1e-5)
        np.testing.assert_allclose(log.features, HIDDEN, atol=1e-5)
        assert log.labels is not None and log.labels.tolist() == Y.tolist()

    def test_the_file_is_not_touched_and_needs_no_package_onnx(self, tmp_path: Path) -> None:
        path = write_onnx(tmp_path / "m.onnx")
        before = path.read_bytes()
        code = (
            "import sys; sys.modules['onnx'] = None; import numpy as np, tcuq; "
            f"print(tcuq.record({str(path)!r}, np.ones((2, 1, 8, 8))).width)"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert (done.stdout, done.returncode) == ("8\n", 0), done.stderr
        assert path.read_bytes() == before

    def test_features_by_name(self, tmp_path: Path) -> None:
        path = write_onnx(tmp_path / "m.onnx")
        log = tcuq.record(path, FIRST, features="logits")
        np.testing.assert_allclose(log.features, LOGITS, atol=1e-5)
        assert tcuq.record(path, FIRST, features=False).features is None
        refuses("unknown", tcuq.record, path, FIRST, features="h")

    def test_logits(self, tmp_path: Path) -> None:
        path = write_onnx(tmp_path / "m.onnx", softmax=False)
        refuses("value", tcuq.record, path, FIRST)
        np.testing.assert_allclose(tcuq.record(path, FIRST, logits=True).probs, PROBS, atol=1e-5)

    def test_several_outputs_need_a_name(self, tmp_path: Path) -> None:
        path = write_onnx(tmp_path / "m.onnx", more=("hidden",))
        refuses("missing", tcuq.record, path, FIRST)
        log = tcuq.record(path, FIRST, posteriors="shares")
        np.testing.assert_allclose(log.features, HIDDEN, atol=1e-5)

    def test_a_file_that_is_cut_short_is_one_line(self, tmp_path: Path) -> None:
        path = write_onnx(tmp_path / "m.onnx")
        path.write_bytes(path.read_bytes()[:300])
        with refused("damaged") as caught:
            tcuq.record(path, FIRST)
        assert "\n" not in str(caught.value)

    def test_a_wrong_shape_says_what_is_expected(self, tmp_path: Path) -> None:
        path = write_onnx(tmp_path / "m.onnx")
        refuses("value", tcuq.record, path, np.zeros((3, 5, 8)))
        assert len(tcuq.record(path, X[:, :, :, 0])) == 70  # a length of 1 may be missing


class TestTorch:
    @pytest.fixture
    def net(self) -> Any:
        return torch_net(dropout=0.5)

    def test_posteriors_and_penultimate_layer(self, net: Any) -> None:
        log = tcuq.record(net, X, Y)
        np.testing.assert_allclose(log.probs, PROBS, atol=1e-5)
        np.testing.assert_allclose(log.features, HIDDEN, atol=1e-5)
        assert net.training and not any(part._forward_pre_hooks for part in net)

    def test_features_by_submodule(self, net: Any) -> None:
        np.testing.assert_allclose(tcuq.record(net, X, features="4").features, LOGITS, atol=1e-5)
        relu = tcuq.record(net, X, features="2").features
        np.testing.assert_allclose(relu, tcuq.record(net, X).features)
        sums = tcuq.record(net, X, features=1).features
        np.testing.assert_array_equal(np.maximum(sums, 0), relu, "number 1 is a submodule, too, and not True")
        assert (sums < 0).any()
        assert tcuq.record(net, X, features=False).features is None
        refuses("unknown", tcuq.record, net, X, features="fc")

    def test_logits_and_wrong_shapes(self, net: Any) -> None:
        refuses("value", tcuq.record, net[:-1], X)
        np.testing.assert_allclose(tcuq.record(net[:-1], X, logits=True).probs, PROBS, atol=1e-5)
        refuses("failed", tcuq.record, net, X[:, :4])

    def test_wide_features_are_left_out_with_a_note(self, net: Any) -> None:
        torch = pytest.importorskip("torch")
        wide = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(300, 3), torch.nn.Softmax(1))
        log = tcuq.record(wide, np.zeros((40, 300), np.float32))
        assert log.features is None and len(log.notes) == 1
        assert "has 300 values, a log takes at most 256" in log.notes[0]


class TestKeras:
    def test_posteriors_and_penultimate_layer(self) -> None:
        keras = pytest.importorskip("keras", reason="Keras is missing: pip install keras")
        layers = keras.layers
        dense = [layers.Dense(8, "relu"), layers.Dense(3, "softmax")]
        model = keras.Sequential([layers.Input((8, 8, 1)), layers.Flatten(), *dense])
        for layer, part in zip(dense, "12", strict=True):
            layer.set_weights([weights()["w" + part], weights()["b" + part]])
        log = tcuq.record(model, X, Y)
        np.testing.assert_allclose(log.probs, PROBS, atol=1e-5)
        np.testing.assert_allclose(log.features, HIDDEN, atol=1e-5)

    def test_what_looks_like_keras_is_run_without_it(self) -> None:
        class Like:
            name, layers, input_shape = "like", (), (None, 8, 8, 1)

            def predict(self, x: Any, verbose: int, batch_size: int) -> Any:
                assert x.shape == (batch_size, 8, 8, 1) and x.dtype == np.float32
                return expected(x)[1]

        log = tcuq.record(Like(), X[:, :, :, 0].astype(np.float64), Y)
        np.testing.assert_allclose(log.probs, PROBS, atol=1e-5)
        assert log.features is None and "no dense layer" in log.notes[0]
        refuses("value", tcuq.record, Like(), X[:, :4])


class TestPlain:
    @pytest.mark.parametrize("classes", [[0, 1, 2], [3, 5, 9], ["a", "b", "c"]])
    def test_predict_proba_and_its_classes(self, classes: list[Any]) -> None:
        linear = pytest.importorskip("sklearn.linear_model", reason="scikit-learn: pip install scikit-learn")
        flat, labels = X.reshape(70, -1), np.array(classes)[Y]
        model = linear.LogisticRegression(max_iter=500).fit(flat, labels)
        log = tcuq.record(model, flat, labels)
        np.testing.assert_array_equal(log.probs, model.predict_proba(flat))
        assert log.labels is not None and log.labels.tolist() == Y.tolist()
        assert log.names == (None if classes == [0, 1, 2] else tuple(map(str, classes)))

    def test_a_label_that_the_model_never_saw(self) -> None:
        class Known:
            classes_ = (3, 5)

            def predict_proba(self, x: Any) -> Any:
                return np.full((len(x), 2), 0.5)

        refuses("unknown", tcuq.record, Known(), np.zeros((2, 2)), [3, 4])
        log = tcuq.record(Known(), np.zeros((2, 2)), [5, -1])
        assert log.labels is not None and log.labels.tolist() == [1, -1]

    def test_functions_that_fail_or_give_something_else(self) -> None:
        def fails(x: Any) -> Any:
            raise RuntimeError("no model\nat all")

        for model, code in (
            (fails, "failed"),
            (lambda x: [[0.5, 0.5]], "value"),
            (lambda x: np.array(["a"] * len(x)), "value"),
            (lambda x: np.full(len(x), 3.5), "value"),
            (lambda x: (expected(x)[1], np.zeros((len(x), 300))), "limit"),
            (lambda x: np.full((len(x), len(x)), 1 / len(x)), "value"),
        ):
            refuses(code, tcuq.record, model, X)
        refuses("unsupported", tcuq.record, fails, X, features="hidden")
        refuses("value", tcuq.record, 3, X)


@pytest.mark.parametrize(
    ("package", "model", "extra"),
    [("ai_edge_litert", "m.tflite", "ai-edge-litert"), ("onnxruntime", "m.onnx", "onnxruntime")],
)
def test_a_missing_package_is_one_line(
    package: str, model: str, extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (package, f"{package}.interpreter"):
        monkeypatch.setitem(sys.modules, name, None)
    (tmp_path / model).write_bytes(b"x")
    with pytest.raises(ValueError) as caught:
        tcuq.record(tmp_path / model, X)
    assert str(caught.value).endswith(f"needs the package {package}; install it with: pip install {extra}")


@pytest.mark.parametrize(("missing", "code"), [("keras", "needs"), ("tensorflow", "needs")])
def test_keras_says_whether_it_or_its_backend_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str, code: str
) -> None:
    (tmp_path / "m.keras").write_bytes(b"")
    (tmp_path / "keras.py").write_text(f"raise ModuleNotFoundError('No module', name={missing!r})\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "keras", raising=False)
    refuses(code, tcuq.record, tmp_path / "m.keras", np.zeros((2, 4)))
