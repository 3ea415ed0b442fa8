"""Exits: small classifiers on what a stage gives."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from .backbone import Backbone


class Exit(nn.Module):
    """The mean over places, a hidden layer where asked for, and a classifier."""

    def __init__(self, inputs: int, classes: int, hidden: int) -> None:
        super().__init__()
        self.hidden = nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU()) if hidden else nn.Identity()
        self.classifier = nn.Linear(hidden or inputs, classes)

    def forward(self, x: Tensor) -> Tensor:
        """Return logits."""
        logits: Tensor = self.classifier(self.hidden(x.mean(dim=(2, 3))))
        return logits


class Exits(nn.Module):
    """A backbone with exits; gives the final logits, the features, then the logits of every exit."""

    def __init__(self, network: Backbone, places: Sequence[int], hidden: int, detached: bool = False) -> None:
        super().__init__()
        last = len(network.stages) - 1
        for place in places:
            if not 0 <= place < last:
                raise ValueError(f"exit after stage {place}, expected 0 to {last - 1}")
        self.backbone, self.places, self.detached = network, tuple(places), detached
        widths = stage_widths(network)
        self.exits = nn.ModuleList(Exit(widths[place], network.classes, hidden) for place in places)

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        """Return (logits, features, logits of the exits ...)."""
        taps = self.backbone.taps(x)
        logits, features = self.backbone.top(taps[-1])
        seen = (taps[place].detach() if self.detached else taps[place] for place in self.places)
        return (logits, features, *(each(tap) for each, tap in zip(self.exits, seen, strict=True)))


def stage_widths(network: Backbone) -> list[int]:
    """Return the number of channels that every stage gives.

    Examples
    --------
    >>> from tcuq_lab.zoo.resnet8 import resnet8
    >>> stage_widths(resnet8())
    [16, 32, 64]
    """
    was = network.training
    with torch.no_grad():
        # Norms must not learn from it.
        taps = network.eval().taps(torch.zeros(1, len(network.mean), *network.size))
    network.train(was)
    return [int(tap.shape[1]) for tap in taps]


def spread(network: Backbone, count: int) -> tuple[int, ...]:
    """Return `count` places, evenly over all stages but the last."""
    room = len(network.stages) - 1
    if not 1 <= count <= room:
        raise ValueError(f"{count} exits, expected 1 to {room}")
    return tuple(int((2 * number + 1) * room / (2 * count)) for number in range(count))
