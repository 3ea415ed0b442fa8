"""Generalized ODIN: logits as a quotient, so that confidence and class similarity are parted."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from ..backbone import Backbone
from ..recipe import Recipe


class Decomposed(nn.Module):
    """A backbone whose logits are h(x) / g(x).

    h is the cosine between the features and a vector a class, g a sigmoid of one linear value under a norm.
    Gives the logits, the features, h and g.
    """

    def __init__(self, network: Backbone) -> None:
        super().__init__()
        self.backbone = network
        self.classes = nn.Parameter(torch.empty(network.classes, network.width))
        nn.init.kaiming_normal_(self.classes, nonlinearity="relu")
        self.confidence = nn.Sequential(nn.Linear(network.width, 1), nn.BatchNorm1d(1), nn.Sigmoid())

    @property
    def beside(self) -> int:
        """Multiply-adds in no layer: the product that gives h."""
        return self.classes.numel()

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        """Return (logits, features, h, g)."""
        features = self.backbone.taps(x)[-1].mean(dim=(2, 3))
        wide = self.backbone.drop(features).float()
        h = normalize(wide, dim=1) @ normalize(self.classes, dim=1).T
        g = self.confidence(wide).clamp_min(1e-6)  # a quotient by nothing would be infinite
        return h / g, features, h, g


class Godin(Recipe):
    """Cross-entropy of the quotient; no settings."""

    def wrap(self, network: Backbone) -> Decomposed:
        """Return the backbone with the decomposed head."""
        return Decomposed(network)
