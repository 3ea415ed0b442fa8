"""ODIN: temperature and a small step of the input, on a plain network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tcuq.metrics import auroc

from .given import check_clean
from .method import MethodCost
from .perturbed import Perturbed
from .scores import Doubles, Rows, energy, entropy, margin, softmax, unsure

if TYPE_CHECKING:
    from torch import Tensor

TEMPERATURES = (1000.0, 100.0, 10.0, 5.0, 2.0, 1.0)
"""Temperatures that are tried; the usual one first, which wins a tie."""
KINDS = ("max", "energy", "entropy", "margin")


class Odin(Perturbed):
    """One minus the largest tempered posterior of an input that was moved to raise its logarithm.

    Temperature and step are chosen on clean development examples alone. The temperature ranks the network's
    own errors there best, by 1 - max of the tempered posterior of the input as it is; the largest mean
    confidence, by which the step is chosen, would always be that of the lowest temperature. Other kinds of
    risk: the free energy -T log sum exp and the entropy at that temperature, the margin between logits.
    """

    name = "odin"
    bank = "odin"
    grid = tuple({"kind": kind, "gain": gain} for gain in (0.0, 1.0) for kind in KINDS)
    temperature: float = TEMPERATURES[0]

    def confidence(self, found: tuple[Tensor, ...]) -> Tensor:
        """Return the log of the largest tempered posterior."""
        return (found[0].float() / self.temperature).log_softmax(1).amax(1)

    def sureness(self, found: tuple[npt.NDArray[Any], ...]) -> Doubles:
        """Return the largest tempered posterior."""
        return np.asarray(softmax(found[0], self.temperature).max(axis=1))

    def risk(self, found: tuple[npt.NDArray[Any], ...], kind: str) -> Doubles:
        """Return a kind of risk from logits."""
        if kind == "energy":
            return energy(found[0], self.temperature)
        if kind == "margin":
            return margin(found[0])
        probs = softmax(found[0], self.temperature)
        return unsure(probs) if kind == "max" else entropy(probs)

    def doubt(self, logits: Rows, temperature: float) -> Doubles:
        """Return what is to rank errors best at the chosen temperature."""
        return unsure(softmax(logits, temperature))

    def ready(self, x: npt.NDArray[Any], y: npt.NDArray[np.int64]) -> None:
        """Choose the temperature, then the step."""
        from ..zoo.outputs import outputs
        from .passes import place_of

        check_clean(self.name, x, y)
        network = self.network
        logits = outputs(network, x, place_of(network)).logits
        wrong = logits.argmax(axis=1) != y
        # NaN, where there is no error, leaves the usual temperature.
        quality = [auroc(self.doubt(logits, warm), wrong) for warm in TEMPERATURES]
        self.temperature = TEMPERATURES[int(np.argmax(np.nan_to_num(quality)))]
        super().ready(x, y)

    def cost(self, shape: tuple[int, ...]) -> MethodCost:
        """Return two passes and a gradient; temperature and step are stored."""
        return self._cost(shape, stored=2)


class OdinEnergy(Odin):
    """The free energy of the moved input; clean examples alone decide, since no other kind is tried.

    The temperature is the one at which the energy of inputs as they are ranks errors best: where that of the
    posterior is high, the energy is little more than the mean logit.
    """

    name = "odin_energy"
    bank = "odin_energy"
    grid = ({"kind": "energy", "gain": 0.0},)

    def doubt(self, logits: Rows, temperature: float) -> Doubles:
        """Return the free energy."""
        return energy(logits, temperature)
