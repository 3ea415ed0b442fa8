"""Random moves, mirrors, blanks and noise, on whole batches, on whatever device they lie."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import pad

from .config import Augment


def augmented(x: Tensor, plan: Augment, draw: torch.Generator) -> Tensor:
    """Return a disturbed copy of a prepared batch.

    Parameters
    ----------
    x : tensor (n, channels, height, width)
    plan : Augment
    draw : torch.Generator
        On the device of the batch.
    """
    if plan.shift != (0, 0):
        x = _moved(x, plan.shift, draw)
    if plan.flip:
        mirrored = torch.rand(len(x), device=x.device, generator=draw) < 0.5
        x = torch.where(mirrored[:, None, None, None], x.flip(3), x)
    if plan.erase:
        x = _erased(x, plan.erase, draw)
    if plan.noise:
        x = x + plan.noise * torch.randn(x.shape, device=x.device, generator=draw)
    return x


def _moved(x: Tensor, most: tuple[int, int], draw: torch.Generator) -> Tensor:
    n, _, height, width = x.shape
    down, right = most
    padded = pad(x, (right, right, down, down))
    rows = torch.randint(2 * down + 1, (n, 1), device=x.device, generator=draw)
    columns = torch.randint(2 * right + 1, (n, 1), device=x.device, generator=draw)
    rows = rows + torch.arange(height, device=x.device)
    columns = columns + torch.arange(width, device=x.device)
    each = torch.arange(n, device=x.device)[:, None, None]
    # Advanced indices beside a slice put the channels last.
    return padded[each, :, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)


def _erased(x: Tensor, side: int, draw: torch.Generator) -> Tensor:
    n, _, height, width = x.shape
    top = torch.randint(height, (n, 1), device=x.device, generator=draw) - side // 2
    left = torch.randint(width, (n, 1), device=x.device, generator=draw) - side // 2
    rows = torch.arange(height, device=x.device)
    columns = torch.arange(width, device=x.device)
    inside = ((rows >= top) & (rows < top + side))[:, :, None] & (
        (columns >= left) & (columns < left + side)
    )[:, None, :]
    return x.masked_fill(inside[:, None], 0.0)
