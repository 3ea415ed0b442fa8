"""Small models for the tests of recordings, and pictures of a bright bar at the left, middle or right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from places import ROOT

MODELS = ROOT / "tests" / "record" / "models"
NAMES = ("left", "middle", "right")


def bars(
    count: int, seed: int = 0, noise: float = 0.6
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """Return pictures (count, 8, 8, 1) in [0, 1] and the place of their bar."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, count)
    pictures = rng.uniform(0, noise, (count, 8, 8, 1))
    for picture, label in zip(pictures, labels, strict=True):
        picture[:, 3 * label : 3 * label + 2] += 1 - noise
    return pictures.astype(np.float32), labels


def write_pictures(folder: Path, count: int = 12, side: int = 8) -> None:
    """Write PNG files of bars into class folders."""
    image = pytest.importorskip("PIL.Image", reason="pictures need Pillow: pip install pillow")
    for number, (picture, label) in enumerate(zip(*bars(count), strict=True)):
        place = folder / NAMES[label]
        place.mkdir(parents=True, exist_ok=True)
        pixels = np.round(picture[:, :, 0] * 255).astype(np.uint8)
        image.fromarray(pixels).resize((side, side)).save(place / f"{number:03}.png")


def weights(seed: int = 0) -> dict[str, npt.NDArray[np.float32]]:
    """Return weights of a network of 64 inputs, 8 hidden units and 3 outputs."""
    rng = np.random.default_rng(seed)
    sizes = {"w1": (64, 8), "b1": (8,), "w2": (8, 3), "b2": (3,)}
    return {name: rng.normal(0, 0.4, size).astype(np.float32) for name, size in sizes.items()}


def expected(x: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
    """Return logits, posteriors and hidden layer of the network with these weights."""
    w = weights()
    hidden = np.maximum(0, x.reshape(len(x), -1) @ w["w1"] + w["b1"])
    logits = hidden @ w["w2"] + w["b2"]
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    return logits, shares / shares.sum(axis=1, keepdims=True), hidden


def torch_net(softmax: bool = True, dropout: float = 0) -> Any:
    """Return the network as a PyTorch module."""
    torch = pytest.importorskip("torch", reason="PyTorch is missing: pip install torch")
    w = {name: torch.from_numpy(values) for name, values in weights().items()}
    first, last = torch.nn.Linear(64, 8), torch.nn.Linear(8, 3)
    with torch.no_grad():
        for layer, part in ((first, "1"), (last, "2")):
            layer.weight.copy_(w["w" + part].T)
            layer.bias.copy_(w["b" + part])
    parts = [torch.nn.Flatten(), first, torch.nn.ReLU(), torch.nn.Dropout(dropout), last]
    return torch.nn.Sequential(*parts, *([torch.nn.Softmax(1)] if softmax else []))


def write_graph(
    path: Path, steps: Sequence[Any], inputs: Any, outputs: Any, constants: Mapping[str, Any] | None = None
) -> Path:
    """Write an ONNX model of nodes (kind, inputs, output, options) and tensors (name, f or i or s, shape)."""
    onnx = pytest.importorskip("onnx", reason="the test writes its model with onnx: pip install onnx")
    make = onnx.helper
    kinds = {"f": onnx.TensorProto.FLOAT, "i": onnx.TensorProto.INT64, "s": onnx.TensorProto.STRING}
    graph = make.make_graph(
        [make.make_node(kind, given, [output], **more) for kind, given, output, more in steps],
        "tiny",
        *(
            [make.make_tensor_value_info(n, kinds[k], shape) for n, k, shape in each]
            for each in (inputs, outputs)
        ),
        [onnx.numpy_helper.from_array(values, name) for name, values in (constants or {}).items()],
    )
    model = make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=9)
    path.write_bytes(model.SerializeToString())
    return path


def write_onnx(path: Path, softmax: bool = True, batch: Any = "n", more: tuple[str, ...] = ()) -> Path:
    """Write the network as ONNX; inputs are (1, 8, 8)."""
    steps = [("Flatten", ["x"], "flat"), ("Gemm", ["flat", "w1", "b1"], "sums"), ("Relu", ["sums"], "hidden")]
    steps += [("Gemm", ["hidden", "w2", "b2"], "logits"), ("Softmax", ["logits"], "shares")][: 1 + softmax]
    outputs = [(name, "f", [batch, None]) for name in (steps[-1][2], *more)]
    return write_graph(
        path, [(*each, {}) for each in steps], [("x", "f", [batch, 1, 8, 8])], outputs, weights()
    )


def bar_net(x: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return posteriors and features of bars: how bright the left, the middle and the right are."""
    columns = np.asarray(x, np.float64).reshape(len(x), 8, 8).mean(axis=1)
    places = np.stack([columns[:, 3 * each : 3 * each + 2].mean(axis=1) for each in range(3)], axis=1)
    shares = np.exp(30 * (places - places.max(axis=1, keepdims=True)))
    return shares / shares.sum(axis=1, keepdims=True), np.concatenate([places, columns], axis=1)
