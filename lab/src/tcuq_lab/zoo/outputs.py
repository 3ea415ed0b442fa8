"""Running networks over examples: what they say, what it costs, masks of dropout, Dirichlet entropies."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from .backbone import Backbone
from .recipes import Dropped
from .transformer import Mix

BATCH = 500
Arrays = tuple[npt.NDArray[Any], ...]


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


def place_of(network: nn.Module) -> str:
    """Return the device on which a network lies."""
    return str(next(network.parameters()).device)


def batches(network: nn.Module, x: npt.NDArray[Any], device: str) -> Iterator[tuple[int, Tensor]]:
    """Give the first row and the prepared inputs of every batch; no examples make one empty batch."""
    network.eval().to(device)
    body = core(network)
    for at in range(0, max(1, len(x)), BATCH):
        rows = torch.from_numpy(np.ascontiguousarray(x[at : at + BATCH])).to(device)
        yield at, body.prepare(rows)


def parts(network: nn.Module, x: npt.NDArray[Any], device: str) -> Arrays:
    """Return all that a network gives for examples, as float32 arrays."""
    with torch.inference_mode():
        return joined([plain(network(inputs)) for _, inputs in batches(network, x, device)])


def plain(found: tuple[Tensor, ...]) -> Arrays:
    """Return tensors as float32 arrays."""
    return tuple(each.detach().float().cpu().numpy() for each in found)


def joined(found: list[Arrays]) -> Arrays:
    """Return batches as one."""
    return tuple(np.concatenate(each) for each in zip(*found, strict=True))


def outputs(module: nn.Module, x: npt.NDArray[Any], device: str = "cpu") -> Outputs:
    """Run a network over examples as its dataset gives them."""
    logits, features, *_ = parts(module, x, device)
    return Outputs(torch.from_numpy(logits).softmax(1).numpy(), features, logits)


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


@dataclass(frozen=True)
class MethodCost:
    """What a method costs a device."""

    passes: float  # forward passes a step, in units of the plain backbone
    parameters: int  # of all networks, and constants that a device stores beside them
    multiply_adds: int  # a step, of all networks
    state: int  # bytes kept from one step to the next
    gradient: bool = False  # whether a step needs a gradient through the network


def counted(
    networks: Sequence[nn.Module],
    shape: tuple[int, ...],
    *,
    repeats: int = 1,
    more: int = 0,
    stored: int = 0,
    state: int = 0,
    gradient: bool = False,
) -> MethodCost:
    """Return the cost of running every network on one input."""
    # Counting is done where no device is needed.
    bare = [copy.deepcopy(each).cpu() for each in networks]
    total = repeats * sum(multiply_adds(each, shape) for each in bare) + more
    plain = multiply_adds(core(bare[0]), shape)
    kept = sum(parameters(each) for each in bare) + stored
    return MethodCost(total / plain, kept, total, state, gradient)


HALF = 2**31


def mask(shape: tuple[int, ...], rate: float, keys: npt.NDArray[np.uint32], device: str = "cpu") -> Tensor:
    """Return 0 where a value is dropped, and 1 / (1 - rate) elsewhere.

    A value is dropped by a hash of its place and the key of its row: no generator runs through a batch, so
    the same row gets the same mask in any batch and on any device.
    """
    places = torch.arange(int(np.prod(shape[1:])), dtype=torch.int32, device=device)
    rows = torch.from_numpy(keys.astype(np.uint32).view(np.int32)).to(device)
    mixed = _mixed(_mixed(places)[None, :] + rows[:, None])
    kept = (mixed & (HALF - 1)) >= int(rate * HALF)
    return kept.reshape(shape).float() / (1 - rate)


def keys_of(seed: int, rows: npt.NDArray[np.int64], number: int, place: int) -> npt.NDArray[np.uint32]:
    """Return a key a row, for one pass and one place of dropout.

    Examples
    --------
    >>> keys_of(0, np.arange(3), 1, 0)[1:].tolist() == keys_of(0, np.arange(1, 3), 1, 0).tolist()
    True
    """
    found = np.full(len(rows), seed, dtype=np.uint64)
    for each in (rows.astype(np.uint64), np.uint64(number), np.uint64(place)):
        found = _spread(found + each)
    return (found >> np.uint64(32)).astype(np.uint32)


def sampled(module: Dropped, inputs: Tensor, first: int, number: int, seed: int) -> tuple[Tensor, ...]:
    """Run a network once with dropout."""
    rows = np.arange(first, first + len(inputs))

    def hook(place: int, rate: float) -> Callable[[nn.Module, Any, Tensor], Tensor]:
        keys = keys_of(seed, rows, number, place)
        return lambda layer, given, x: x * mask(tuple(x.shape), rate, keys, str(x.device))

    module.eval()  # its own dropout draws from the global generator
    drops = [each for each in module.drops.values() if isinstance(each, nn.Dropout)]
    hooks = [each.register_forward_hook(hook(place, each.p)) for place, each in enumerate(drops)]
    try:
        found: tuple[Tensor, ...] = module(inputs)
    finally:
        for each in hooks:
            each.remove()
    return found


def _mixed(x: Tensor) -> Tensor:
    """Hash 32-bit integers; products wrap around, and shifts must not carry the sign."""
    x = (x ^ ((x >> 16) & 0xFFFF)) * 0x7FEB352D
    x = (x ^ ((x >> 15) & 0x1FFFF)) * (0x846CA68B - 2**32)
    return x ^ ((x >> 16) & 0xFFFF)


def _spread(x: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Hash 64-bit integers."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))


def differential_entropy(alpha: Tensor) -> Tensor:
    """Return the differential entropy (nats) of Dirichlet distributions, one a row."""
    total, classes = alpha.sum(1), alpha.shape[1]
    volume = torch.lgamma(alpha).sum(1) - torch.lgamma(total)
    inner = ((alpha - 1) * torch.digamma(alpha)).sum(1)
    return volume + (total - classes) * torch.digamma(total) - inner


def expected_entropy(alpha: Tensor) -> Tensor:
    """Return the mean entropy (nats) of posteriors that are drawn from Dirichlet distributions."""
    total = alpha.sum(1, keepdim=True)
    mean = alpha / total
    return (mean * (torch.digamma(total + 1) - torch.digamma(alpha + 1))).sum(1)
