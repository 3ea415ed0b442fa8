"""What a network says of many examples, in batches, and what one answer takes: parameters, multiply-adds."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from .backbone import Backbone
from .transformer import Mix

BATCH = 500


class Outputs(NamedTuple):
    """Float32 posteriors (n, classes), features (n, width) and logits (n, classes)."""

    probs: npt.NDArray[np.float32]
    features: npt.NDArray[np.float32]
    logits: npt.NDArray[np.float32]


def core(module: nn.Module) -> Backbone:
    """Return the backbone inside what a recipe keeps."""
    found = module if isinstance(module, Backbone) else module.backbone
    assert isinstance(found, Backbone)
    return found


def outputs(module: nn.Module, x: npt.NDArray[Any], device: str = "cpu") -> Outputs:
    """Run a network over examples as its dataset gives them."""
    module.eval().to(device)
    network = core(module)
    logits, features = [], []
    with torch.inference_mode():
        for at in range(0, len(x), BATCH):
            batch = torch.from_numpy(np.ascontiguousarray(x[at : at + BATCH])).to(device)
            found, vector, *_ = module(network.prepare(batch))
            logits.append(found.float().cpu())
            features.append(vector.float().cpu())
    raw = torch.cat(logits) if logits else torch.zeros(0, network.classes)
    wide = torch.cat(features) if features else torch.zeros(0, network.width)
    return Outputs(raw.softmax(1).numpy(), wide.numpy(), raw.numpy())


def accuracy(module: nn.Module, x: npt.NDArray[Any], y: npt.NDArray[np.int64], device: str = "cpu") -> float:
    """Return the share of examples whose largest logit is at their class."""
    return float((outputs(module, x, device).logits.argmax(1) == y).mean())


class Use(NamedTuple):
    """What one answer takes: trained values that it depends on, and multiply-adds."""

    parameters: int
    multiply_adds: int


def parameters(network: nn.Module) -> int:
    """Return the number of trained values."""
    return sum(each.numel() for each in network.parameters())


def multiply_adds(network: nn.Module, shape: tuple[int, ...]) -> int:
    """Return the multiply-adds of one input: convolutions, linear layers, products within attention."""
    total = 0

    def count(layer: nn.Module, inputs: tuple[torch.Tensor, ...], output: torch.Tensor) -> None:
        nonlocal total
        if isinstance(layer, Mix):
            total += layer.multiply_adds(*inputs[:2])
        else:
            assert isinstance(layer.weight, torch.Tensor)
            total += layer.weight[0].numel() * output[0].numel()

    counted = [each for each in network.modules() if isinstance(each, (nn.Conv2d, nn.Linear, Mix))]
    hooks = [each.register_forward_hook(count) for each in counted]
    training = network.training
    try:
        network.eval()
        with torch.no_grad():
            network(torch.zeros(1, *shape))
    finally:
        network.train(training)
        for hook in hooks:
            hook.remove()
    return total


def used(network: nn.Module, shape: tuple[int, ...]) -> Use:
    """Return what inference uses: a head that a recipe has replaced is left out.

    Products that are in no layer, which a module gives as `beside`, are among the multiply-adds.
    """
    training = network.training
    network.eval()
    try:
        with torch.enable_grad():
            total = sum(each.sum() for each in network(torch.zeros(1, *shape)))
            values = list(network.parameters())
            slopes = torch.autograd.grad(total, values, allow_unused=True)
    finally:
        network.train(training)
    count = sum(value.numel() for value, slope in zip(values, slopes, strict=True) if slope is not None)
    return Use(count, multiply_adds(network, shape) + int(getattr(network, "beside", 0)))
