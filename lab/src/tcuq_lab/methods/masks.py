"""Dropout whose masks are a function of the seed, the row, the pass and the place, and of nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from ..zoo.recipes import Dropped

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

    module.sampling(False)  # its own dropout draws from the global generator
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
