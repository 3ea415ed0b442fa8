"""An int8 network as a list of steps over typed tensors: made from a model, read by all else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from .steps import Step


@dataclass(frozen=True)
class Tensor:
    """A value of the graph.

    Parameters
    ----------
    name : str
        A C identifier, unique in the graph.
    shape : tuple of int
        (height, width, channels), (rows, channels) or (channels,).
    zero : int
        The value that stands for 0.
    """

    name: str
    shape: tuple[int, ...]
    scale: float
    zero: int

    @property
    def size(self) -> int:
        """Values, which are bytes.

        Examples
        --------
        >>> Tensor("x", (4, 4, 3), 1.0, 0).size
        48
        """
        return int(np.prod(self.shape))


@dataclass(frozen=True, eq=False)
class Graph:
    """A network.

    Parameters
    ----------
    name : str
        A C identifier.
    steps : sequence of steps
        In the order in which they run.
    outputs : mapping of str to str
        What a tensor is for, and its name: "probs" and "features" for the monitor; "probs_1" and so on where
        a network gives several posteriors.
    about : mapping
        Where it comes from: backbone, seed, data set, examples of the calibration.
    """

    name: str
    tensors: Mapping[str, Tensor]
    steps: Sequence[Step]
    input: str
    outputs: Mapping[str, str]
    about: Mapping[str, object] = field(default_factory=dict)
