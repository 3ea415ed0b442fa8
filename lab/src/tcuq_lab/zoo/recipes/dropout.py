"""Monte Carlo dropout: dropout after some stages, which can stay on at inference."""

from __future__ import annotations

from torch import Tensor, nn

from ..backbone import Backbone
from ..recipe import Recipe, RecipeOption


class Dropped(nn.Module):
    """A backbone with dropout after its places."""

    def __init__(self, network: Backbone, rate: float) -> None:
        super().__init__()
        self.backbone = network
        self.drops = nn.ModuleDict({str(place): nn.Dropout(rate) for place in network.places})

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits and features."""
        for number_, stage in enumerate(self.backbone.stages):
            x = stage(x)
            if str(number_) in self.drops:
                x = self.drops[str(number_)](x)
        return self.backbone.top(x)

    def sampling(self, on: bool) -> None:
        """Let the dropout of this module act at inference, while norms keep their statistics.

        What dropout the backbone has of its own (DS-CNN: 0.2 after the stem, 0.4 before the head;
        MobileNetV2: 0.2 before the head) stays off: it is there against overfitting, in training alone, and
        the same for all recipes. Samples then differ by `rate` at the places of this recipe and by nothing
        else, so that the same rate means the same for every backbone.
        """
        self.eval()
        for drop in self.drops.values():
            drop.train(on)


class Dropout(Recipe):
    """Cross-entropy with dropout at the places where assistance has its exits.

    Only these layers can stay on at inference; see `Dropped.sampling` for dropout of the backbone's own.

    Settings: `rate` (0.1).
    """

    accepted = (RecipeOption("rate", 0.1, 0.0, 0.95),)

    def wrap(self, network: Backbone) -> Dropped:
        """Return the backbone with its dropout."""
        return Dropped(network, self.setting("rate"))
