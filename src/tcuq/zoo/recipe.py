"""What a recipe is: which modules are trained around a backbone, on which loss, and what of them is kept."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from .backbone import Backbone

Parts = tuple[Tensor, ...]


class Batch(NamedTuple):
    """What a loss may look at: prepared inputs, classes, and the share of the training that is done."""

    inputs: Tensor
    y: Tensor
    moment: float


class Recipe:
    """The plain recipe: a backbone on cross-entropy.

    Parameters
    ----------
    settings : mapping
        Of the recipe, from the configuration.
    smoothing : float
        Of the labels.
    """

    accepted: tuple[str, ...] = ()

    def __init__(self, settings: Mapping[str, Any], smoothing: float = 0.0) -> None:
        from ..checks import known

        for name in settings:
            if not self.accepted:
                raise ValueError(f"setting {name!r} is unknown; this recipe takes none")
            known("setting", name, self.accepted)
        self.settings = dict(settings)
        self.smoothing = smoothing

    def ready(self, folder: Path, seed: int, device: str) -> None:
        """Get what the loss needs beside the batch: files of the folder of weights, for instance."""

    def wrap(self, network: Backbone) -> nn.Module:
        """Return what is trained: a module from a prepared batch to a tuple of tensors."""
        return network

    def loss(self, parts: Parts, batch: Batch) -> Tensor:
        """Return what is made small."""
        return self.entropy(parts[0], batch)

    def after(self, module: nn.Module) -> None:
        """Do something after every step of the optimiser."""

    def kept(self, module: nn.Module) -> nn.Module:
        """Return what is needed at inference."""
        return module

    def rebuild(self, network: Backbone) -> nn.Module:
        """Return an untrained module of the shape of `kept`, for weights to be read into."""
        return self.kept(self.wrap(network))

    def entropy(self, logits: Tensor, batch: Batch) -> Tensor:
        """Return the cross-entropy of logits."""
        return cross_entropy(logits.float(), batch.y, label_smoothing=self.smoothing)
