"""HYDRA: one body, several heads, each taught by one member of an ensemble."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.functional import kl_div

from ...checks import integer, number
from ..backbone import Backbone
from ..recipe import Batch, Parts, Recipe


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

    Settings: `teachers` (weight files, one a head), `heads` (as many as teachers by default),
    `temperature` (1).
    """

    accepted = ("teachers", "heads", "temperature")

    def _heads(self) -> int:
        files = self.settings.get("teachers", [])
        return integer("heads", self.settings.get("heads", len(files)), 2, 64)

    def wrap(self, network: Backbone) -> Heads:
        """Return the body with its heads."""
        return Heads(network, self._heads())

    def _teach(self, device: torch.device) -> list[nn.Module]:
        from ..weights import load_weights

        if not hasattr(self, "_teachers"):
            files = [Path(file) for file in self.settings.get("teachers", [])]
            if len(files) < self._heads():
                raise ValueError(f"{len(files)} teachers for {self._heads()} heads; one a head is needed")
            self._teachers = [load_weights(file)[0].to(device) for file in files[: self._heads()]]
        return self._teachers

    def loss(self, parts: Parts, batch: Batch) -> Tensor:
        """Return the mean divergence from the teachers, on the scale of the logits."""
        warm = number("temperature", self.settings.get("temperature", 1.0), 0.1, 100)
        _, _, *heads = parts
        total = batch.inputs.new_zeros(())
        for teacher, logits in zip(self._teach(batch.inputs.device), heads, strict=True):
            with torch.no_grad():
                wanted = (teacher(batch.inputs)[0].float() / warm).log_softmax(1)
            ours = (logits.float() / warm).log_softmax(1)
            total = total + kl_div(ours, wanted, reduction="batchmean", log_target=True) * warm * warm
        return total / len(heads)
