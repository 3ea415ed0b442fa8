"""What a recipe is: what is trained around a backbone, on which loss, and what is kept; exits and dropout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

import torch
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


class Exit(nn.Module):
    """The mean over places, a hidden layer where asked for, and a classifier."""

    def __init__(self, inputs: int, classes: int, hidden: int) -> None:
        super().__init__()
        self.hidden = nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU()) if hidden else nn.Identity()
        self.classifier = nn.Linear(hidden or inputs, classes)

    def forward(self, x: Tensor) -> Tensor:
        """Return logits."""
        logits: Tensor = self.classifier(self.hidden(x.mean(dim=(2, 3))))
        return logits


class Exits(nn.Module):
    """A backbone with exits; gives the final logits, the features, then the logits of every exit."""

    def __init__(self, network: Backbone, places: Sequence[int], hidden: int, detached: bool = False) -> None:
        super().__init__()
        last = len(network.stages) - 1
        for place in places:
            if not 0 <= place < last:
                raise ValueError(f"exit after stage {place}, expected 0 to {last - 1}")
        self.backbone, self.places = network, tuple(places)
        self.detached = detached  # no gradient passes from the exits into the backbone
        widths = stage_widths(network)
        self.exits = nn.ModuleList(Exit(widths[place], network.classes, hidden) for place in places)

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        """Return (logits, features, logits of the exits ...)."""
        taps = self.backbone.taps(x)
        logits, features = self.backbone.top(taps[-1])
        seen = (taps[place].detach() if self.detached else taps[place] for place in self.places)
        return (logits, features, *(each(tap) for each, tap in zip(self.exits, seen, strict=True)))


def stage_widths(network: Backbone) -> list[int]:
    """Return the number of channels that every stage gives."""
    was = network.training
    with torch.no_grad():
        # Norms must not learn from it.
        taps = network.eval().taps(torch.zeros(1, len(network.mean), *network.size))
    network.train(was)
    return [int(tap.shape[1]) for tap in taps]


def spread(network: Backbone, count: int) -> tuple[int, ...]:
    """Return `count` places, evenly over all stages but the last."""
    room = len(network.stages) - 1
    if not 1 <= count <= room:
        raise ValueError(f"{count} exits, expected 1 to {room}")
    return tuple(int((2 * number + 1) * room / (2 * count)) for number in range(count))


class Supervised(Recipe):
    """A recipe whose module is `Exits`: every exit has a cross-entropy of its own."""

    def terms(self, parts: Parts, batch: Batch) -> dict[str, Tensor]:
        """Return the cross-entropies of the head and of every exit, the first exit first."""
        final, _, *exits = parts
        found = {"head": self.entropy(final, batch)}
        for which, logits in enumerate(exits, 1):
            found[f"exit_{which}"] = self.entropy(logits, batch)
        return found


class EarlyExit(Supervised):
    """The mean of the cross-entropies of the exits and of the head.

    Settings: `hidden`, the width of a hidden layer in each exit (64); 0 makes light exits.
    """

    accepted = (RecipeOption("hidden", 64, 0, 4096),)

    def wrap(self, network: Backbone) -> Exits:
        """Return the backbone with its exits."""
        return Exits(network, network.places, self.setting("hidden"))

    def loss(self, parts: Parts, batch: Batch) -> Tensor:
        """Return the plain mean."""
        total, *exits = self.terms(parts, batch).values()
        for each in exits:
            total = total + each
        return total / (1 + len(exits))


class Assisted(Supervised):
    """Cross-entropy of the final head plus weighted cross-entropies of the exits, over the sum of weights.

    Dividing by the sum changes next to nothing for Adam; with plain steps the weights would otherwise
    multiply the learning rate, and the training would diverge.

    Exit k of K, counted from 1, weighs first + k * step; over the first tenth of the training the weights
    rise from half to whole. Nothing in this is temporal: mini-batches are shuffled. It is deep supervision.

    Settings: `first` (3), `step` (0.5), `exits` (how many, evenly spread; the places of the backbone by
    default), `ramp` (0.1, share of the training), `transfer` (0: off). The paper moves "assistance weights"
    to the final head after every batch and does not say how. Our reading: the classifier of each exit has
    the shape of the final head, and after every step the head goes the share `transfer` of the way to the
    mean of those classifiers.

    `probe` (0: off) shows what the exits would lose without assistance. At 1 they learn from features that
    pass no gradient back, each with the share of the loss that it has under assistance, while the head has
    a weight of one: the backbone is trained as by the plain recipe, on a CPU to the last bit.
    """

    accepted = (
        RecipeOption("first", 3.0, 0.0, 100.0),
        RecipeOption("step", 0.5, 0.0, 100.0),
        RecipeOption("exits", None, 1, 64),
        RecipeOption("ramp", 0.1, 0.0, 1.0),
        RecipeOption("transfer", 0.0, 0.0, 1.0),
        RecipeOption("probe", 0, 0, 1),
    )

    def __init__(self, settings: Mapping[str, Any], smoothing: float = 0.0) -> None:
        super().__init__(settings, smoothing)
        if self.setting("probe") and self.setting("transfer"):
            raise ValueError(
                f"setting transfer is {self.setting('transfer'):g}, expected 0 with probe, "
                "under which the head learns nothing from the exits"
            )

    def wrap(self, network: Backbone) -> Exits:
        """Return the backbone with exits whose classifiers have the shape of the head."""
        count = self.setting("exits")
        places = network.places if count is None else spread(network, count)
        return Exits(network, places, hidden=network.width, detached=bool(self.setting("probe")))

    def weights(self, count: int, moment: float) -> list[float]:
        """Return what the exits weigh at a moment of the training."""
        first, step, ramp = self.setting("first"), self.setting("step"), self.setting("ramp")
        grown = 1.0 if moment >= ramp else 0.5 + 0.5 * moment / ramp
        return [grown * (first + k * step) for k in range(1, count + 1)]

    def loss(self, parts: Parts, batch: Batch) -> Tensor:
        """Return the weighted sum."""
        head, *exits = self.terms(parts, batch).values()
        weights = self.weights(len(exits), batch.moment)
        whole = 1 + sum(weights)
        if self.setting("probe"):  # dividing the head's loss would train the backbone at another rate
            weights, whole = [weight / whole for weight in weights], 1.0
        total = head
        for weight, each in zip(weights, exits, strict=True):
            total = total + weight * each
        return total / whole

    @torch.no_grad()
    def after(self, module: nn.Module) -> None:
        """Move the head towards the classifiers of the exits."""
        share = self.setting("transfer")
        if share:
            exits = cast(Exits, module)
            for name in ("weight", "bias"):
                mean = torch.stack([getattr(each.classifier, name) for each in exits.exits]).mean(0)
                getattr(exits.backbone.head, name).lerp_(mean, share)

    def kept(self, module: nn.Module) -> nn.Module:
        """Return the bare backbone: nothing of the assistance remains."""
        return cast(Exits, module).backbone


class Dropped(nn.Module):
    """A backbone with dropout after its places."""

    def __init__(self, network: Backbone, rate: float) -> None:
        super().__init__()
        self.backbone = network
        self.drops = nn.ModuleDict({str(place): nn.Dropout(rate) for place in network.places})

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits and features."""
        for place, stage in enumerate(self.backbone.stages):
            x = stage(x)
            if str(place) in self.drops:
                x = self.drops[str(place)](x)
        return self.backbone.top(x)


class Dropout(Recipe):
    """Cross-entropy with dropout at the places where assistance has its exits.

    Only these layers can stay on at inference. What dropout a backbone has of its own is there against
    overfitting, in training alone, so that the same rate means the same for every backbone.

    Settings: `rate` (0.1).
    """

    accepted = (RecipeOption("rate", 0.1, 0.0, 0.95),)

    def wrap(self, network: Backbone) -> Dropped:
        """Return the backbone with its dropout."""
        return Dropped(network, self.setting("rate"))
