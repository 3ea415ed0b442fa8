"""An int8 network as a list of steps over typed tensors: made from a model, read by all else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from .steps import Step


@dataclass(frozen=True)
class Tensor:
    """A value: (height, width, channels), (rows, channels) or (channels,); `zero` stands for 0."""

    name: str
    shape: tuple[int, ...]
    scale: float
    zero: int

    @property
    def size(self) -> int:
        """Values, which are bytes."""
        return int(np.prod(self.shape))


@dataclass(frozen=True, eq=False)
class Graph:
    """A network: steps in the order in which they run.

    Names are C identifiers. `outputs` say what a tensor is for: "probs" and "features" for the monitor,
    "probs_1" and so on where a network gives several posteriors. `about` says where it comes from.
    """

    name: str
    tensors: Mapping[str, Tensor]
    steps: Sequence[Step]
    input: str
    outputs: Mapping[str, str]
    about: Mapping[str, object] = field(default_factory=dict)
