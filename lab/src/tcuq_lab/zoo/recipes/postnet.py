"""Posterior Network: a density a class over a small latent space, and a Dirichlet from it."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot, softplus

from ..backbone import Backbone
from ..recipe import Batch, Parts, Recipe, RecipeOption


class Radial(nn.Module):
    """A density a class: radial flows from the latent space to a standard normal."""

    def __init__(self, classes: int, latent: int, depth: int) -> None:
        super().__init__()
        bound = 1 / math.sqrt(latent)
        self.center = nn.Parameter(torch.empty(depth, classes, latent).uniform_(-bound, bound))
        self.reach = nn.Parameter(torch.empty(depth, classes).uniform_(-bound, bound))
        self.pull = nn.Parameter(torch.empty(depth, classes).uniform_(-bound, bound))

    def forward(self, z: Tensor) -> Tensor:
        """Return log-densities (n, classes) of latent vectors (n, latent)."""
        latent = z.shape[1]
        point = z[:, None, :].expand(-1, self.center.shape[1], -1)
        log_volume = torch.zeros(point.shape[:2], device=z.device)
        for center, reach, pull in zip(self.center, self.reach, self.pull, strict=True):
            a = softplus(reach)
            b = softplus(pull) - a  # above -a: the flow can be inverted
            away = point - center
            r = away.norm(dim=2)
            h = 1 / (a + r)
            along = 1 + b * h
            log_volume = log_volume + (latent - 1) * along.log() + (along - b * r * h * h).log()
            point = point + (b * h)[:, :, None] * away
        normal = -0.5 * (point * point).sum(2) - 0.5 * latent * math.log(2 * math.pi)
        return normal + log_volume


class Posterior(nn.Module):
    """A backbone whose evidence for a class is the number of its examples times its density.

    Gives the log of the mean posterior, the features, and the Dirichlet's parameters.
    """

    counts: Tensor

    def __init__(self, network: Backbone, latent: int, depth: int, examples: float) -> None:
        super().__init__()
        self.backbone = network
        self.latent = nn.Sequential(nn.Linear(network.width, latent), nn.BatchNorm1d(latent))
        self.flows = Radial(network.classes, latent, depth)
        self.register_buffer("counts", torch.full((network.classes,), examples / network.classes))

    @property
    def beside(self) -> int:
        """Multiply-adds in no layer: a distance and a move a flow, and the square of the end point."""
        depth, classes, latent = self.flows.center.shape
        return (2 * depth + 1) * classes * latent

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        """Return (log of the mean posterior, features, alpha)."""
        features = self.backbone.taps(x)[-1].mean(dim=(2, 3))
        with torch.autocast(x.device.type, enabled=False):
            density = self.flows(self.latent(self.backbone.drop(features).float()))
            # Bounded, or one close example would end the training in infinities.
            alpha = 1 + (self.counts.log() + density).clamp(-30, 30).exp()
            mean = alpha / alpha.sum(1, keepdim=True)
        return mean.clamp_min(1e-12).log(), features, alpha


class PostNet(Recipe):
    """Expected cross-entropy under the Dirichlet, less a little of its entropy.

    Settings: `latent` (6), `depth` (6), `examples` (1000 a dataset of ours: evidence at density 1),
    `regular` (1e-5).
    """

    accepted = (
        RecipeOption("latent", 6, 1, 64),
        RecipeOption("depth", 6, 1, 64),
        RecipeOption("examples", 1000.0, 1.0, 1e9),
        RecipeOption("regular", 1e-5, 0.0, 1.0),
    )

    def wrap(self, network: Backbone) -> Posterior:
        """Return the backbone with densities."""
        return Posterior(network, *(self.setting(name) for name in ("latent", "depth", "examples")))

    def loss(self, parts: Parts, batch: Batch) -> Tensor:
        """Return the loss of Posterior Networks."""
        alpha = parts[2].float()
        total = alpha.sum(1)
        chosen = (alpha * one_hot(batch.y, alpha.shape[1])).sum(1)
        expected = torch.digamma(total) - torch.digamma(chosen)
        entropy: Tensor = torch.distributions.Dirichlet(alpha).entropy()
        total_loss: Tensor = (expected - self.setting("regular") * entropy).mean()
        return total_loss
