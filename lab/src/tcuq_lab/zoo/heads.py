"""Recipes that change the head: Generalized ODIN, HYDRA and the Posterior Network; all recipes by name."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import kl_div, normalize, one_hot, softplus

from tcuq.base.checks import known

from .backbone import Backbone
from .recipes import Assisted, Batch, Dropout, EarlyExit, Parts, Recipe, RecipeOption


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


class Heads(nn.Module):
    """A backbone whose last stage and classifier are there once a head.

    Gives the mean over heads of the posteriors as log-probabilities, the features of the first head, then
    the logits of all heads.
    """

    def __init__(self, network: Backbone, heads: int) -> None:
        super().__init__()
        self.backbone = network
        self.tails = nn.ModuleList(copy.deepcopy(network.stages[-1]) for _ in range(heads - 1))
        self.classifiers = nn.ModuleList(copy.deepcopy(network.head) for _ in range(heads - 1))
        for part in (*self.tails, *self.classifiers):
            for layer in part.modules():
                if isinstance(layer, (nn.Conv2d, nn.Linear)):
                    layer.reset_parameters()

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        """Return (log of the mean posterior, features, logits of the heads ...)."""
        for stage in list(self.backbone.stages)[:-1]:
            x = stage(x)
        first, features = self.backbone.top(self.backbone.stages[-1](x))
        heads = [first]
        for tail, classifier in zip(self.tails, self.classifiers, strict=True):
            heads.append(classifier(self.backbone.drop(tail(x).mean(dim=(2, 3)))))
        mean = torch.stack([each.float().softmax(1) for each in heads]).mean(0)
        return (mean.clamp_min(1e-12).log(), features, *heads)


class Hydra(Recipe):
    """Each head follows the softened posterior of its teacher.

    Settings: `teacher` (name of the weights of the ensemble; head k is taught by the member whose seed is
    the own one plus k), `heads` (5), `temperature` (1).
    """

    accepted = (RecipeOption("heads", 5, 2, 64), RecipeOption("temperature", 1.0, 0.1, 100.0))
    texts = ("teacher",)

    def needs(self, seed: int) -> tuple[str, ...]:
        """Return the names of the teachers' files."""
        if "teacher" not in self.settings:
            raise ValueError("setting 'teacher' is missing; the name of an ensemble's weights is needed")
        return tuple(f"{self.settings['teacher']}-{seed + k}.npz" for k in range(self.setting("heads")))

    def wrap(self, network: Backbone) -> Heads:
        """Return the body with its heads."""
        return Heads(network, self.setting("heads"))

    def loss(self, parts: Parts, batch: Batch) -> Tensor:
        """Return the mean divergence from the teachers, on the scale of the logits."""
        warm = self.setting("temperature")
        _, _, *heads = parts
        total = batch.inputs.new_zeros(())
        for teacher, logits in zip(self.teachers, heads, strict=True):
            with torch.no_grad():
                wanted = (teacher(batch.inputs)[0].float() / warm).log_softmax(1)
            ours = (logits.float() / warm).log_softmax(1)
            total = total + kl_div(ours, wanted, reduction="batchmean", log_target=True) * warm * warm
        return total / len(heads)


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


RECIPES: dict[str, type[Recipe]] = {
    "plain": Recipe,
    "assisted": Assisted,
    "early_exit": EarlyExit,
    "dropout": Dropout,
    "hydra": Hydra,
    "godin": Godin,
    "postnet": PostNet,
}


def recipe(name: str, settings: Mapping[str, Any], smoothing: float = 0.0) -> Recipe:
    """Return a recipe by its name."""
    return RECIPES[known("recipe", name, RECIPES)](settings, smoothing)
