"""HYDRA: one body, several heads, each taught by one member of an ensemble."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.functional import kl_div

from ..backbone import Backbone
from ..recipe import Batch, Parts, Recipe, RecipeOption


class Heads(nn.Module):
    """A backbone whose last stage and classifier are there once a head.

    Gives the mean over heads of the posteriors as log-probabilities, the features of the first head, then
    the logits of all heads.
    """

    def __init__(self, network: Backbone, heads: int) -> None:
        super().__init__()
        import copy

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
    teachers: tuple[nn.Module, ...] = ()

    def needs(self, seed: int) -> tuple[str, ...]:
        """Return the names of the teachers' files."""
        if "teacher" not in self.settings:
            raise ValueError("setting 'teacher' is missing; the name of an ensemble's weights is needed")
        return tuple(f"{self.settings['teacher']}-{seed + k}.npz" for k in range(self.setting("heads")))

    def ready(self, folder: Path, seed: int, device: str) -> None:
        """Load the teachers."""
        from ..weights import load_weights

        files = [folder / name for name in self.needs(seed)]
        for file in files:
            if not file.exists():
                raise ValueError(f"{file} is missing; train the teachers of this member first")
        self.teachers = tuple(load_weights(file)[0].to(device) for file in files)

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
