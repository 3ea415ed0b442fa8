"""What ODIN and its generalization share: inputs moved towards more confidence by a small step."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .given import check_clean
from .method import MethodCost, Recorded
from .rowwise import Rowwise
from .scores import Doubles, Rows, softmax

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

    The step epsilon is the one of `EPSILONS` with the largest mean confidence on clean development examples;
    no shifted and no foreign example has a say. Answers and posteriors are those of the input as it is. A
    setting's risk is that of the moved input; with `gain` 1, its change by the step is added, since a
    familiar input is meant to gain more.
    """

    epsilon: float | None = None

    def __init__(self, networks: Sequence[nn.Module] = ()) -> None:
        super().__init__(networks)
        if self.networks:
            from ..zoo.outputs import core

            if core(self.network).symbols:
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
        from .passes import place_of

        check_clean(self.name, x, y)
        rows = np.unique(np.linspace(0, len(x) - 1, min(EXAMPLES, len(x))).astype(np.int64))
        found = self._runs(x[rows], place_of(self.network), EPSILONS)
        means = [float(self.sureness(each).mean()) for each in found[1:]]
        self.epsilon = EPSILONS[int(np.argmax(means))]

    def record(self, x: npt.NDArray[Any], device: str = "cpu") -> Recorded:
        """Run the network, its gradient, and the network again."""
        if self.epsilon is None:
            raise ValueError(f"{self.name} has no step; ready() with clean development examples is needed")
        here, moved = self._runs(x, device, (self.epsilon,))
        columns = []
        for setting in self.columns or self.grid:
            there = self.risk(moved, setting["kind"])
            columns.append(there + setting["gain"] * (there - self.risk(here, setting["kind"])))
        risks = np.stack(columns, axis=1)
        return Recorded(softmax(here[0]).astype(np.float32), here[1], {"risks": risks})

    def _runs(
        self, x: npt.NDArray[Any], device: str, steps: tuple[float, ...]
    ) -> list[tuple[npt.NDArray[Any], ...]]:
        """Return what the network gives for examples as they are and after every step."""
        import torch

        from .passes import batches, joined, plain

        network = self.network
        runs: list[list[tuple[npt.NDArray[Any], ...]]] = [[] for _ in range(1 + len(steps))]
        for _, inputs in batches(network, x, device):
            found, slope = gradient(network, inputs, self.confidence)
            runs[0].append(plain(found))
            with torch.inference_mode():
                for run, step in zip(runs[1:], steps, strict=True):
                    run.append(plain(network(inputs + step * slope.sign())))
        return [joined(run) for run in runs]

    def _cost(self, shape: tuple[int, ...], more: int = 0, stored: int = 0) -> MethodCost:
        from .counting import counted

        return counted(self.loaded(), shape, repeats=3, more=more, stored=stored, gradient=True)
