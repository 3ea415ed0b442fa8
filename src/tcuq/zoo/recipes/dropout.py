"""Monte Carlo dropout: dropout after some stages, which can stay on at inference."""

from __future__ import annotations

from torch import Tensor, nn

from ...checks import number
from ..backbone import Backbone
from ..recipe import Recipe


class Dropped(nn.Module):
    """A backbone with dropout after its places.

    Parameters
    ----------
    network : Backbone
    rate : float
    """

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
        """Let dropout act at inference, while norms keep their statistics."""
        self.eval()
        for drop in self.drops.values():
            drop.train(on)


class Dropout(Recipe):
    """Cross-entropy with dropout at the places where assistance has its exits.

    Settings: `rate` (0.1).
    """

    accepted = ("rate",)

    def wrap(self, network: Backbone) -> Dropped:
        """Return the backbone with its dropout."""
        return Dropped(network, number("rate", self.settings.get("rate", 0.1), 0, 0.95))
