"""Running a network over examples in batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from ..zoo.outputs import BATCH, core

Arrays = tuple[npt.NDArray[Any], ...]


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
