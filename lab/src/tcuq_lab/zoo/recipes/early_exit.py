"""Early-exit ensemble: exits that stay, all supervised alike."""

from __future__ import annotations

from torch import Tensor

from ..backbone import Backbone
from ..exits import Exits
from ..recipe import Batch, Parts, RecipeOption
from .supervised import Supervised


class EarlyExit(Supervised):
    """The mean of the cross-entropies of the exits and of the head.

    Settings: `hidden`, the width of a hidden layer in each exit (64); 0 makes light exits.
    """

    accepted = (RecipeOption("hidden", 64, 0, 4096),)

    def wrap(self, network: Backbone) -> Exits:
        """Return the backbone with its exits."""
        return Exits(network, network.places, self.setting("hidden"))

    def loss(self, parts: Parts, batch: Batch) -> Tensor:
        """Return the plain mean."""
        total, *exits = self.terms(parts, batch).values()
        for each in exits:
            total = total + each
        return total / (1 + len(exits))
