"""Temporal assistance: exits that are supervised in training and then thrown away."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import torch
from torch import Tensor, nn

from ..backbone import Backbone
from ..exits import Exits, spread
from ..recipe import Batch, Parts, RecipeOption
from .supervised import Supervised


class Assisted(Supervised):
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

    `probe` (0: off) shows what the exits would lose without assistance. At 1 they learn from features that
    pass no gradient back, each with the share of the loss that it has under assistance, while the head has
    a weight of one: the backbone is trained as by the plain recipe, on a CPU to the last bit.
    """

    accepted = (
        RecipeOption("first", 3.0, 0.0, 100.0),
        RecipeOption("step", 0.5, 0.0, 100.0),
        RecipeOption("exits", None, 1, 64),
        RecipeOption("ramp", 0.1, 0.0, 1.0),
        RecipeOption("transfer", 0.0, 0.0, 1.0),
        RecipeOption("probe", 0, 0, 1),
    )

    def __init__(self, settings: Mapping[str, Any], smoothing: float = 0.0) -> None:
        super().__init__(settings, smoothing)
        if self.setting("probe") and self.setting("transfer"):
            raise ValueError(
                f"setting transfer is {self.setting('transfer'):g}, expected 0 with probe, "
                "under which the head learns nothing from the exits"
            )

    def wrap(self, network: Backbone) -> Exits:
        """Return the backbone with exits whose classifiers have the shape of the head."""
        count = self.setting("exits")
        places = network.places if count is None else spread(network, count)
        return Exits(network, places, hidden=network.width, detached=bool(self.setting("probe")))

    def weights(self, count: int, moment: float) -> list[float]:
        """Return what the exits weigh at a moment of the training."""
        first, step, ramp = self.setting("first"), self.setting("step"), self.setting("ramp")
        grown = 1.0 if moment >= ramp else 0.5 + 0.5 * moment / ramp
        return [grown * (first + k * step) for k in range(1, count + 1)]

    def loss(self, parts: Parts, batch: Batch) -> Tensor:
        """Return the weighted sum."""
        head, *exits = self.terms(parts, batch).values()
        weights = self.weights(len(exits), batch.moment)
        whole = 1 + sum(weights)
        if self.setting("probe"):  # dividing the head's loss would train the backbone at another rate
            weights, whole = [weight / whole for weight in weights], 1.0
        total = head
        for weight, each in zip(weights, exits, strict=True):
            total = total + weight * each
        return total / whole

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
