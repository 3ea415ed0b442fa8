"""Parameters and multiply-adds of a network, counted on the network itself."""

from __future__ import annotations

import torch
from torch import nn

from .transformer import Mix


def parameters(network: nn.Module) -> int:
    """Return the number of trained values."""
    return sum(each.numel() for each in network.parameters())


def multiply_adds(network: nn.Module, shape: tuple[int, ...]) -> int:
    """Return the multiply-adds of one input: convolutions, linear layers, products within attention.

    Parameters
    ----------
    network : module
    shape : tuple of int
        Of one prepared input: channels, height, width.

    Examples
    --------
    >>> multiply_adds(nn.Linear(3, 4), (3,))
    12
    """
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
