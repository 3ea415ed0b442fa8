"""Temporal assistance: exits that are supervised in training and then thrown away."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn

from ..backbone import Backbone
from ..exits import Exits, spread
from ..recipe import Batch, Parts, Recipe, Setting


class Assisted(Recipe):
    """Cross-entropy of the final head plus weighted cross-entropies of the exits, over the sum of weights.

    Dividing by the sum changes next to nothing for Adam; with plain steps the weights would otherwise
    multiply the learning rate, and the training would diverge.

    Exit k of K, counted from 1, weighs first + k * step; over the first tenth of the training the weights
    rise from half to whole. Nothing in this is temporal: mini-batches are shuffled. It is deep supervision.

    Settings: `first` (3), `step` (0.5), `exits` (how many, evenly spread; the places of the backbone by
    default), `ramp` (0.1, share of the training), `transfer` (0: off). The paper moves "assistance weights"
    to the final head after every batch and does not say how. Our reading: the classifier of each exit has
    the shape of the final head, and after every step the head goes the share `transfer` of the way to the
    mean of those classifiers.
    """

    accepted = (
        Setting("first", 3.0, 0.0, 100.0),
        Setting("step", 0.5, 0.0, 100.0),
        Setting("exits", None, 1, 64),
        Setting("ramp", 0.1, 0.0, 1.0),
        Setting("transfer", 0.0, 0.0, 1.0),
    )

    def wrap(self, network: Backbone) -> Exits:
        """Return the backbone with exits whose classifiers have the shape of the head."""
        count = self.setting("exits")
        places = network.places if count is None else spread(network, count)
        return Exits(network, places, hidden=network.width)

    def weights(self, count: int, moment: float) -> list[float]:
        """Return what the exits weigh at a moment of the training.

        Examples
        --------
        >>> Assisted({}).weights(2, 0.5), Assisted({}).weights(2, 0.0)
        ([3.5, 4.0], [1.75, 2.0])
        """
        first, step, ramp = self.setting("first"), self.setting("step"), self.setting("ramp")
        grown = 1.0 if moment >= ramp else 0.5 + 0.5 * moment / ramp
        return [grown * (first + k * step) for k in range(1, count + 1)]

    def loss(self, parts: Parts, batch: Batch) -> Tensor:
        """Return the weighted sum."""
        final, _, *exits = parts
        weights = self.weights(len(exits), batch.moment)
        total = self.entropy(final, batch)
        for weight, logits in zip(weights, exits, strict=True):
            total = total + weight * self.entropy(logits, batch)
        return total / (1 + sum(weights))

    @torch.no_grad()
    def after(self, module: nn.Module) -> None:
        """Move the head towards the classifiers of the exits."""
        share = self.setting("transfer")
        if share:
            exits = cast(Exits, module)
            for name in ("weight", "bias"):
                mean = torch.stack([getattr(each.classifier, name) for each in exits.exits]).mean(0)
                getattr(exits.backbone.head, name).lerp_(mean, share)

    def kept(self, module: nn.Module) -> nn.Module:
        """Return the bare backbone: nothing of the assistance remains."""
        return cast(Exits, module).backbone
