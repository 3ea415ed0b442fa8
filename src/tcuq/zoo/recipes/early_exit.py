"""Early-exit ensemble: exits that stay, all supervised alike."""

from __future__ import annotations

from torch import Tensor

from ...checks import integer
from ..backbone import Backbone
from ..exits import Exits
from ..recipe import Batch, Parts, Recipe


class EarlyExit(Recipe):
    """The mean of the cross-entropies of the exits and of the head.

    Settings: `hidden`, the width of a hidden layer in each exit (64); 0 makes light exits.
    """

    accepted = ("hidden",)

    def wrap(self, network: Backbone) -> Exits:
        """Return the backbone with its exits."""
        return Exits(network, network.places, integer("hidden", self.settings.get("hidden", 64), 0, 4096))

    def loss(self, parts: Parts, batch: Batch) -> Tensor:
        """Return the plain mean."""
        final, _, *exits = parts
        total = self.entropy(final, batch)
        for logits in exits:
            total = total + self.entropy(logits, batch)
        return total / (1 + len(exits))
