"""What a network says of many examples: posteriors and features, in batches."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from .backbone import Backbone

BATCH = 500


class Outputs(NamedTuple):
    """Float32 posteriors (n, classes), features (n, width) and logits (n, classes)."""

    probs: npt.NDArray[np.float32]
    features: npt.NDArray[np.float32]
    logits: npt.NDArray[np.float32]


def core(module: nn.Module) -> Backbone:
    """Return the backbone inside what a recipe keeps."""
    found = module if isinstance(module, Backbone) else module.backbone
    assert isinstance(found, Backbone)
    return found


def outputs(module: nn.Module, x: npt.NDArray[Any], device: str = "cpu") -> Outputs:
    """Run a network over examples as its dataset gives them."""
    module.eval().to(device)
    network = core(module)
    logits, features = [], []
    with torch.inference_mode():
        for at in range(0, len(x), BATCH):
            batch = torch.from_numpy(np.ascontiguousarray(x[at : at + BATCH])).to(device)
            found, vector, *_ = module(network.prepare(batch))
            logits.append(found.float().cpu())
            features.append(vector.float().cpu())
    raw = torch.cat(logits) if logits else torch.zeros(0, network.classes)
    wide = torch.cat(features) if features else torch.zeros(0, network.width)
    return Outputs(raw.softmax(1).numpy(), wide.numpy(), raw.numpy())


def accuracy(module: nn.Module, x: npt.NDArray[Any], y: npt.NDArray[np.int64], device: str = "cpu") -> float:
    """Return the share of examples whose largest logit is at their class."""
    return float((outputs(module, x, device).logits.argmax(1) == y).mean())
