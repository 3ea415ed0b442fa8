"""ODIN and its generalization: inputs moved towards more confidence by a small step."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tcuq.metrics import auroc

from ..detectors.scores import Doubles, Rows, energy, entropy, margin, softmax, unsure
from ..harness.types import Outputs
from .ensembles import Rowwise
from .method import check_clean

if TYPE_CHECKING:
    from torch import Tensor, nn


EPSILONS = (0.0025, 0.005, 0.01, 0.02, 0.04, 0.08)
"""Steps that are tried, in standard deviations of the input."""
EXAMPLES = 2000
"""Clean examples, evenly spread, on which a step is chosen."""


def gradient(
    network: nn.Module, inputs: Tensor, confidence: Callable[[tuple[Tensor, ...]], Tensor]
) -> tuple[tuple[Tensor, ...], Tensor]:
    """Return what a network gives, and the gradient of a confidence (one value an example) to the inputs."""
    import torch

    with torch.inference_mode(False), torch.enable_grad():
        moving = inputs.detach().clone().requires_grad_(True)
        found = network(moving)
        (slope,) = torch.autograd.grad(confidence(found).sum(), moving)
    return found, slope


class Perturbed(Rowwise):
    """A method that looks at an input and at one moved by epsilon times the sign of a gradient.

    The step is the one of `EPSILONS` with the largest mean confidence on clean development examples. A
    setting's risk is that of the moved input; with `gain` 1, its change by the step is added.
    """

    epsilon: float | None = None
    needs: Mapping[str, Any] = MappingProxyType({"repeats": 3, "gradient": True, "stored": 1})

    def __init__(self, networks: Sequence[nn.Module] = ()) -> None:
        super().__init__(networks)
        if self.networks and self.body.symbols:
            raise ValueError(
                f"{self.name} is given a network of symbols, which have no gradient, expected "
                "one of pictures or sound"
            )

    @abstractmethod
    def confidence(self, found: tuple[Tensor, ...]) -> Tensor:
        """Return what is made larger, one value an example, from what the network gives."""

    @abstractmethod
    def sureness(self, found: tuple[npt.NDArray[Any], ...]) -> Doubles:
        """Return what has the largest mean at the chosen step, one value an example."""

    @abstractmethod
    def risk(self, found: tuple[npt.NDArray[Any], ...], kind: str) -> Rows:
        """Return a kind of risk, one value an example."""

    def ready(self, x: npt.NDArray[Any], y: npt.NDArray[np.int64]) -> None:
        """Choose the step; labels decide nothing, but one below 0 is refused."""
        from ..zoo.outputs import place_of

        check_clean(self.name, x, y)
        rows = np.unique(np.linspace(0, len(x) - 1, min(EXAMPLES, len(x))).astype(np.int64))
        found = self._runs(x[rows], place_of(self.network), EPSILONS)
        means = [float(self.sureness(each).mean()) for each in found[1:]]
        self.epsilon = EPSILONS[int(np.argmax(means))]

    def record(self, x: npt.NDArray[Any], device: str = "cpu") -> Outputs:
        """Run the network, its gradient, and the network again."""
        if self.epsilon is None:
            raise ValueError(f"{self.name} has no step; ready() with clean development examples is needed")
        here, moved = self._runs(x, device, (self.epsilon,))
        columns = []
        for setting in self.columns or self.grid:
            there = self.risk(moved, setting["kind"])
            columns.append(there + setting["gain"] * (there - self.risk(here, setting["kind"])))
        risks = np.stack(columns, axis=1)
        return Outputs(softmax(here[0]).astype(np.float32), here[1], {"risks": risks})

    def _runs(
        self, x: npt.NDArray[Any], device: str, steps: tuple[float, ...]
    ) -> list[tuple[npt.NDArray[Any], ...]]:
        """Return what the network gives for examples as they are and after every step."""
        import torch

        from ..zoo.outputs import batches, joined, plain

        network = self.network
        runs: list[list[tuple[npt.NDArray[Any], ...]]] = [[] for _ in range(1 + len(steps))]
        for _, inputs in batches(network, x, device):
            found, slope = gradient(network, inputs, self.confidence)
            runs[0].append(plain(found))
            with torch.inference_mode():
                for run, step in zip(runs[1:], steps, strict=True):
                    run.append(plain(network(inputs + step * slope.sign())))
        return [joined(run) for run in runs]


TEMPERATURES = (1000.0, 100.0, 10.0, 5.0, 2.0, 1.0)
"""Temperatures that are tried; the usual one first, which wins a tie."""
ODIN_KINDS = ("max", "energy", "entropy", "margin")


class Odin(Perturbed):
    """One minus the largest tempered posterior of an input that was moved to raise its logarithm.

    The temperature is the one that ranks the network's errors on clean examples best: the largest mean
    confidence, by which the step is chosen, would always be that of the lowest temperature.
    """

    name = "odin"
    bank = "odin"
    grid = tuple({"kind": kind, "gain": gain} for gain in (0.0, 1.0) for kind in ODIN_KINDS)
    temperature: float = TEMPERATURES[0]
    needs: Mapping[str, Any] = MappingProxyType({**Perturbed.needs, "stored": 2})

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
        from ..zoo.outputs import outputs, place_of

        check_clean(self.name, x, y)
        network = self.network
        logits = outputs(network, x, place_of(network)).logits
        wrong = logits.argmax(axis=1) != y
        # NaN, where there is no error, leaves the usual temperature.
        quality = [auroc(self.doubt(logits, warm), wrong) for warm in TEMPERATURES]
        self.temperature = TEMPERATURES[int(np.argmax(np.nan_to_num(quality)))]
        super().ready(x, y)


class OdinEnergy(Odin):
    """The free energy of the moved input, at the temperature at which it ranks errors best."""

    name = "odin_energy"
    bank = "odin_energy"
    grid = ({"kind": "energy", "gain": 0.0},)

    def doubt(self, logits: Rows, temperature: float) -> Doubles:
        """Return the free energy."""
        return energy(logits, temperature)


GODIN_KINDS = ("h", "g", "energy", "max")


class Godin(Perturbed):
    """How far the largest class similarity h of an input, moved to raise it, is from 1."""

    name = "godin"
    recipe = "godin"
    bank = "godin"
    grid = tuple({"kind": kind, "gain": gain} for gain in (0.0, 1.0) for kind in GODIN_KINDS)

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

    @property
    def needs(self) -> Mapping[str, Any]:  # type: ignore[override]
        """Leave out the linear head of the backbone; h is a product in every run, and has the gradient."""
        from ..zoo.outputs import parameters

        body = self.body
        more = (3 * body.classes - 1) * body.width
        return {**Perturbed.needs, "more": more, "stored": 1 - parameters(body.head)}


class GodinEnergy(Godin):
    """The free energy of the logits h / g of the moved input; g stands for a temperature, and is learned."""

    name = "godin_energy"
    columns = Godin.grid
    grid = ({"kind": "energy", "gain": 0.0},)
