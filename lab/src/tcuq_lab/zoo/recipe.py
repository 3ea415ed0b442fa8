"""What a recipe is: which modules are trained around a backbone, on which loss, and what of them is kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from tcuq.base.checks import integer, known, number

from .backbone import Backbone

Parts = tuple[Tensor, ...]


class Batch(NamedTuple):
    """What a loss may look at: prepared inputs, classes, and the share of the training that is done."""

    inputs: Tensor
    y: Tensor
    moment: float


class RecipeOption(NamedTuple):
    """A number that a recipe can be given."""

    name: str
    default: float | None  # none where the backbone decides
    low: float  # what is accepted; integers alone where both are
    high: float

    def checked(self, value: Any) -> Any:
        """Return an accepted value, an int or a float."""
        if isinstance(self.low, int) and isinstance(self.high, int):
            return integer(f"setting {self.name}", value, self.low, self.high)
        return number(f"setting {self.name}", value, self.low, self.high)


class Recipe:
    """The plain recipe: a backbone on cross-entropy."""

    accepted: tuple[RecipeOption, ...] = ()
    texts: tuple[str, ...] = ()
    teachers: tuple[nn.Module, ...] = ()
    """Networks of the files that `needs` names."""

    def __init__(self, settings: Mapping[str, Any], smoothing: float = 0.0) -> None:
        numbers = {each.name: each for each in self.accepted}
        for name, value in settings.items():
            if not numbers:
                raise ValueError(f"setting {name!r} is unknown; this recipe takes none")
            if known("setting", name, (*self.texts, *numbers)) in numbers:
                numbers[name].checked(value)
            elif not isinstance(value, str):
                raise ValueError(f"setting {name} is {value!r}, expected text")
        self.settings = dict(settings)
        self.smoothing = smoothing

    def setting(self, name: str) -> Any:
        """Return a number that was given, or its default."""
        wanted = next(each for each in self.accepted if each.name == name)
        return wanted.checked(self.settings[name]) if name in self.settings else wanted.default

    def needs(self, seed: int) -> tuple[str, ...]:
        """Return the names of the files of weights that must be there before a member is trained."""
        return ()

    def wrap(self, network: Backbone) -> nn.Module:
        """Return what is trained: a module from a prepared batch to a tuple of tensors."""
        return network

    def loss(self, parts: Parts, batch: Batch) -> Tensor:
        """Return what is made small."""
        return self.entropy(parts[0], batch)

    def terms(self, parts: Parts, batch: Batch) -> dict[str, Tensor]:
        """Return what is worth a curve over the training: the cross-entropy of the answer, by its name."""
        return {"head": self.entropy(parts[0], batch)}

    def after(self, module: nn.Module) -> None:
        """Do something after every step of the optimizer."""

    def kept(self, module: nn.Module) -> nn.Module:
        """Return what is needed at inference."""
        return module

    def rebuild(self, network: Backbone) -> nn.Module:
        """Return an untrained module of the shape of `kept`, for weights to be read into."""
        return self.kept(self.wrap(network))

    def entropy(self, logits: Tensor, batch: Batch) -> Tensor:
        """Return the cross-entropy of logits."""
        return cross_entropy(logits.float(), batch.y, label_smoothing=self.smoothing)
