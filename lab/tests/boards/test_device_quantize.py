"""Quantized networks follow their float ones, whatever their weights; what cannot be quantized is named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="pip install torch")

from torch import nn  # noqa: E402

from tcuq_device.graph import oracle  # noqa: E402
from tcuq_device.graph.check import check  # noqa: E402
from tcuq_device.graph.model import Graph  # noqa: E402
from tcuq_device.graph.steps import HIGHEST, Conv, Dense  # noqa: E402
from tcuq_device.graph.storage import save_graph  # noqa: E402
from tcuq_lab.boards.quantize import input_of, quantize  # noqa: E402
from tcuq_lab.boards.steps import QuantizeSettings  # noqa: E402
from tcuq_lab.boards.trace import trace_of, values_of  # noqa: E402
from tcuq_lab.zoo.backbone import Backbone  # noqa: E402
from tcuq_lab.zoo.backbones import (  # noqa: E402
    cnn4,
    dscnn,
    mobilenetv2,
    resnet8,
)
from tcuq_lab.zoo.heads import Heads  # noqa: E402
from tcuq_lab.zoo.outputs import core  # noqa: E402
from tcuq_lab.zoo.recipes import (  # noqa: E402
    Dropped,
    Exits,
)

pytestmark = pytest.mark.slow


def inverted() -> Backbone:
    """Return the first stages of a MobileNetV2: random weights of all would turn rounding into chaos."""
    return Backbone(list(mobilenetv2(width=0.25).stages)[:3], 8, 10, 3, places=(1,))


NETWORKS: dict[str, Callable[[], nn.Module]] = {
    "cnn4": lambda: cnn4(width=8),
    "dscnn": lambda: dscnn(width=16),
    "resnet8": lambda: resnet8(width=8),
    "inverted": inverted,
    "exits": lambda: Exits(resnet8(width=8), (0, 1), hidden=12),
    "light exits": lambda: Exits(cnn4(width=8), (1,), hidden=0),
    "heads": lambda: Heads(cnn4(width=8), 3),
    "dropped": lambda: Dropped(resnet8(width=8), 0.2),
}


def pictures(n: int, channels: int, seed: int = 0, side: int = 12) -> Any:
    """Return smooth random pictures, so that means over places differ between them."""
    rng = np.random.default_rng(seed)
    coarse = rng.integers(0, 256, (n, side // 4, side // 4, channels))
    fine = coarse.repeat(4, axis=1).repeat(4, axis=2) + rng.integers(-30, 30, (n, side, side, channels))
    return np.clip(fine, 0, 255).astype(np.uint8)


def lively(make: Callable[[], nn.Module], x: Any, seed: int = 0) -> nn.Module:
    """Return a network with random weights whose norms know the data, and gains and shifts of all sizes."""
    torch.manual_seed(seed)
    module = make()
    network = core(module)
    network.fit_input(torch.from_numpy(x))
    with torch.no_grad():
        for layer in module.modules():
            if isinstance(layer, nn.BatchNorm2d):
                layer.weight.uniform_(0.3, 1.5)
                layer.bias.uniform_(-0.5, 0.5)
                layer.momentum = None
        module.train()
        for _ in range(2):
            module(network.prepare(torch.from_numpy(x)))
        for layer in module.modules():
            if isinstance(layer, nn.Linear):
                layer.weight.mul_(6)  # posteriors that are not all alike
    return module.eval()


def channels_of(name: str) -> int:
    return 1 if name in ("cnn4", "dscnn", "heads", "light exits") else 3


def built(name: str, seed: int = 0) -> tuple[nn.Module, Any]:
    x = pictures(48, channels_of(name), seed)
    return lively(NETWORKS[name], x, seed), x


def real(graph: Graph, name: str, q: Any) -> Any:
    tensor = graph.tensors[name]
    return (q.astype(np.float64) - tensor.zero) * tensor.scale


def prepared(module: nn.Module, x: Any) -> Any:
    return core(module).prepare(torch.from_numpy(x))


@pytest.mark.parametrize("name", NETWORKS)
def test_layers_compute_what_the_network_does(name: str) -> None:
    module, x = built(name)
    traced = trace_of(module)
    with torch.inference_mode():
        said = module(prepared(module, x))
        values = values_of(traced, prepared(module, x))
    wanted = [said[0], *said[2:]] if name != "heads" else said[2:]
    assert len(traced.logits) == len(wanted)
    for logits, found in zip(wanted, traced.logits, strict=True):
        assert torch.allclose(values[found], logits, atol=1e-3)
    assert torch.allclose(values[traced.features], said[1], atol=1e-4)


@pytest.mark.parametrize("name", [name for name in NETWORKS if name != "dropped"])
def test_int8_follows_float(name: str) -> None:
    module, x = built(name)
    graph = quantize(module, x, "net")
    fresh = pictures(40, channels_of(name), 50)
    found = oracle.run(graph, input_of(graph, fresh), every=True)
    with torch.inference_mode():
        said = [each.numpy() for each in module(prepared(module, fresh))]
    logits = [said[0], *said[2:]] if name != "heads" else said[2:]
    features = real(graph, "features", found["features"])
    assert np.linalg.norm(features - said[1]) < 0.1 * np.linalg.norm(said[1])
    ends = [f"_{at}" if at else "" for at in range(len(logits))]
    assert sorted(graph.outputs) == sorted(["features", *(f"probs{end}" for end in ends)])
    for end, each in zip(ends, logits, strict=True):
        wanted = torch.from_numpy(each).softmax(1).numpy()
        gap = np.abs(real(graph, f"probs{end}", found[f"probs{end}"]) - wanted)
        assert gap.mean() < 0.2 * np.abs(wanted - wanted.mean(0)).mean(), f"probs{end}"


def test_extreme_weights_stay_within_32_bits() -> None:
    """Dead channels, huge and tiny ones, and a bias that dwarfs its weights."""
    module, x = built("cnn4")
    network = core(module)
    with torch.no_grad():
        conv: Any = network.stages[1][0]
        norm: Any = network.stages[1][1]
        conv.weight[0] = 0
        norm.weight[1], norm.weight[2] = 1e4, 1e-9
        norm.bias[3], norm.bias[4] = 1e5, -1e5
        norm.weight[5], norm.bias[5] = 0, 3.0
    for settings in (QuantizeSettings(), QuantizeSettings(False, False, 0.0)):
        graph = check(quantize(module, x, "net", settings=settings))
        for step in graph.steps:
            if isinstance(step, (Conv, Dense)):
                assert (step.multiplier > 0).all() and (step.multiplier <= HIGHEST).all()
        found = oracle.run(graph, input_of(graph, x))
        assert set(np.unique(found["probs"])) <= set(range(-128, 128))
    still = lively(NETWORKS["cnn4"], x)
    with torch.no_grad():
        for layer in still.modules():
            if isinstance(layer, nn.Conv2d):
                layer.weight.zero_()
    check(quantize(still, x, "net"))
    check(quantize(still, np.zeros((1, 12, 12, 1), dtype=np.uint8), "net"))


def test_the_same_network_gives_the_same_bytes(tmp_path: Path) -> None:
    module, x = built("dropped")
    for number in range(2):
        torch.manual_seed(number)
        save_graph(tmp_path / f"{number}.npz", quantize(module, x, "net", about={"seed": 3}))
    assert (tmp_path / "0.npz").read_bytes() == (tmp_path / "1.npz").read_bytes()
    assert quantize(module, x, "net", about={"seed": 3}).about == {"seed": 3, "calibration": 48}
