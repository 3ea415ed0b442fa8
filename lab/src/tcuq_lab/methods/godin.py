"""G-ODIN: a network whose logits are a quotient h / g, and a small step of the input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .method import MethodCost
from .perturbed import Perturbed
from .scores import Doubles, energy, softmax, unsure

if TYPE_CHECKING:
    from torch import Tensor

KINDS = ("h", "g", "energy", "max")


class Godin(Perturbed):
    """How far the largest class similarity h of a moved input is from 1.

    The step is towards a larger max h. Other kinds of risk: 1 - g (g is meant to be the chance that an input
    is of the distribution), the free energy of the logits h / g, and 1 minus their largest posterior.
    """

    name = "godin"
    recipe = "godin"
    bank = "godin"
    grid = tuple({"kind": kind, "gain": gain} for gain in (0.0, 1.0) for kind in KINDS)

    def confidence(self, found: tuple[Tensor, ...]) -> Tensor:
        """Return the largest h."""
        return found[2].amax(1)

    def sureness(self, found: tuple[npt.NDArray[Any], ...]) -> Doubles:
        """Return the largest h."""
        return np.asarray(found[2].max(axis=1), dtype=np.float64)

    def risk(self, found: tuple[npt.NDArray[Any], ...], kind: str) -> Doubles:
        """Return a kind of risk."""
        if kind == "h":
            return 1 - self.sureness(found)
        if kind == "g":
            return np.asarray(1 - found[3][:, 0].astype(np.float64))
        return energy(found[0]) if kind == "energy" else unsure(softmax(found[0]))

    def cost(self, shape: tuple[int, ...]) -> MethodCost:
        """Return two passes and a gradient; the linear head of the backbone is not used, h is a product."""
        from ..zoo.count import parameters
        from ..zoo.outputs import core

        body = core(self.network)
        # h in every run; the gradient is that of h, which g has no part in.
        more = (3 * body.classes - 1) * body.width
        return self._cost(shape, more=more, stored=1 - parameters(body.head))


class GodinEnergy(Godin):
    """The free energy of the logits h / g of the moved input, at the step of G-ODIN; nothing else is chosen.

    There is no temperature: g stands for it, and is learned.
    """

    name = "godin_energy"
    columns = Godin.grid
    grid = ({"kind": "energy", "gain": 0.0},)
