"""POSTNET: a Dirichlet from densities of the classes in a latent space."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .method import MethodCost, Recorded
from .rowwise import Rowwise
from .scores import entropy, unsure

KINDS = ("max", "evidence", "differential", "entropy", "expected", "information", "deviation", "winner")


class PostNet(Rowwise):
    """The mean alpha / alpha0 of a Dirichlet as the posterior, and kinds of its uncertainty as risks.

    "max": 1 minus the largest mean; "evidence": classes / alpha0; "differential" entropy of the Dirichlet;
    "entropy" of the mean; "expected" entropy of a drawn posterior; "information": the difference of these
    two; "deviation" of the posterior of the answer; "winner": 1 / the largest alpha.
    """

    name = "postnet"
    recipe = "postnet"
    bank = "postnet"
    grid = tuple({"kind": kind} for kind in KINDS)

    def record(self, x: npt.NDArray[Any], device: str = "cpu") -> Recorded:
        """Run the network once."""
        from .passes import parts

        _, features, alpha = parts(self.network, x, device)
        mean = alpha / alpha.sum(axis=1, keepdims=True)
        return Recorded(mean, features, {"risks": risks(alpha)})

    def cost(self, shape: tuple[int, ...]) -> MethodCost:
        """Return one pass; the linear head is not used, and a flow measures and moves a point a class."""
        from ..zoo.count import parameters
        from ..zoo.heads import Posterior
        from .counting import counted

        network = self.network
        assert isinstance(network, Posterior)
        depth, classes, latent = network.flows.center.shape
        # A distance and a move a flow, and the square of the end point.
        flows = (2 * depth + 1) * classes * latent
        return counted(self.loaded(), shape, more=flows, stored=-parameters(network.backbone.head))


def risks(alpha: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return all kinds of risk, a column each in the order of `KINDS`, from parameters (n, classes)."""
    import torch

    from .dirichlet import differential_entropy, expected_entropy

    exact = np.asarray(alpha, dtype=np.float64)
    wide = torch.from_numpy(exact)
    total, classes = exact.sum(axis=1), exact.shape[1]
    mean = exact / total[:, None]
    expected = expected_entropy(wide).numpy() / np.log(classes)
    whole, doubt = entropy(mean), unsure(mean)
    columns = (
        doubt,
        classes / total,
        differential_entropy(wide).numpy(),
        whole,
        expected,
        np.maximum(whole - expected, 0.0),
        np.sqrt(mean.max(axis=1) * doubt / (total + 1)),
        1 / exact.max(axis=1),
    )
    return np.stack(columns, axis=1)
