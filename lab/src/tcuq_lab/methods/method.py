"""What a method is: it records examples, is tuned on dev streams, and answers streams without labels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import known

from ..harness.types import Answers, Dev, Outputs
from ..metrics import aurc
from ..metrics.drops import Measure, objective

if TYPE_CHECKING:
    from torch import nn

    from ..zoo.backbone import Backbone
    from ..zoo.outputs import MethodCost
    from ..zoo.outputs import Outputs as Said


MODULES = {
    "plain": ("..zoo.backbone", "Backbone"),
    "assisted": ("..zoo.backbone", "Backbone"),
    "early_exit": ("..zoo.recipes", "Exits"),
    "dropout": ("..zoo.recipes", "Dropped"),
    "hydra": ("..zoo.heads", "Heads"),
    "godin": ("..zoo.heads", "Decomposed"),
    "postnet": ("..zoo.heads", "Posterior"),
}
"""Where the module lies that a recipe keeps. Assistance keeps the bare backbone."""


def networks_of(name: str, networks: Sequence[nn.Module], recipe: str, members: int) -> tuple[nn.Module, ...]:
    """Return the networks of a method, none or as many as it needs."""
    if not networks:
        return ()
    if len(networks) != members:
        raise ValueError(f"{name} is given {len(networks)} networks, expected {members} of recipe {recipe}")
    home, kind = MODULES[known("recipe", recipe, MODULES)]
    accepted = getattr(import_module(home, __package__), kind)
    for each in networks:
        if not isinstance(each, accepted):
            raise ValueError(f"{name} is given a {type(each).__name__}, expected a {kind} of recipe {recipe}")
    return tuple(networks)


def check_clean(name: str, x: npt.NDArray[Any], y: npt.NDArray[np.int64]) -> None:
    """Refuse examples that cannot be clean ones: none, or of no class.

    Examples
    --------
    >>> check_clean("odin", np.zeros((2, 3, 3)), np.array([0, -1]))
    Traceback (most recent call last):
    ...
    ValueError: odin is given an example of class -1, expected 0 or more, clean examples alone
    """
    if not len(x):
        raise ValueError(f"{name} is given no examples, expected one clean development example or more")
    if y.min() < 0:
        raise ValueError(
            f"{name} is given an example of class {y.min()}, expected 0 or more, clean examples alone"
        )


Floats = npt.NDArray[np.floating[Any]]
TRIALS = 8
"""Settings that a method with anything to tune may try; the same for all."""


@dataclass(frozen=True, eq=False)
class Labeled:
    """A development stream: what is observed, true labels (below 0: none of the classes), kinds of shift."""

    observed: Outputs
    labels: npt.NDArray[np.int64]
    kinds: npt.NDArray[np.uint8]


def labeled(dev: Dev) -> Labeled:
    """Return the steps of a development stream that are judged; without labels, all, and none of a class."""
    if dev.truth is None:
        return Labeled(dev.outputs(), np.full(len(dev), -1), np.zeros(len(dev), np.uint8))
    kept = dev.labels >= 0
    if kept.all():
        return Labeled(dev.outputs(), dev.labels, dev.shifted)
    return Labeled(dev.taken(kept), dev.labels[kept], dev.shifted[kept])


class Answer(NamedTuple):
    """Posteriors that the method stands by, and a score a step: higher means riskier.

    `evidence` is what its alarm adds up, where that is another question than the risk of one answer.
    """

    probs: Floats
    score: Floats
    evidence: Floats | None = None

    def predictions(self) -> npt.NDArray[np.int64]:
        """Return the classes answered."""
        return np.asarray(self.probs.argmax(axis=1), dtype=np.int64)


class Method(ABC):
    """A method."""

    name: ClassVar[str]
    recipe: ClassVar[str] = "plain"
    """Recipe that its networks were trained by."""
    members: ClassVar[int] = 1
    """Networks that it needs."""
    bank: ClassVar[str] = "plain"
    """Methods with the same networks and the same `bank` share what was recorded."""
    reads_features: ClassVar[bool] = True
    """Whether a score reads features; else recordings leave them out. The same for all with one `bank`."""
    said: dict[int, Said] | None = None
    """What networks said to the examples that are recorded now, where methods share networks."""
    grid: ClassVar[tuple[Mapping[str, Any], ...]] = ({},)
    """Settings that are tried on development streams: one where there is nothing to tune, else `TRIALS`."""
    choice: ClassVar[str | None] = None
    """Classes that state the same choice would keep the same setting on a stream, so that one may `follow`
    another. None: the method chooses for itself."""
    measure: Measure | None = None
    """What settings are chosen by; None stands for `objective.objective`."""
    own_answer: ClassVar[bool] = False
    """Whether it answers with a class of its own, another one with another setting."""
    calibrated: ClassVar[bool] = False
    """Whether 1 less its score is the chance that its answer is right, so that means expect an accuracy."""

    def __init__(self, networks: Sequence[nn.Module] = ()) -> None:
        self.networks = networks_of(self.name, networks, self.recipe, self.members)
        self.setting: Mapping[str, Any] = self.grid[0]

    def loaded(self) -> tuple[nn.Module, ...]:
        """Return the networks, for what cannot be done without."""
        if not self.networks:
            raise ValueError(f"{self.name} has no network, expected {self.members} of recipe {self.recipe}")
        return self.networks

    @property
    def network(self) -> nn.Module:
        """The first network."""
        return self.loaded()[0]

    @property
    def body(self) -> Backbone:
        """The backbone of the first network."""
        from ..zoo.outputs import core

        return core(self.network)

    def learn(self, clean: Outputs, y: npt.NDArray[np.int64]) -> None:  # noqa: B027
        """Learn from what was recorded of clean development examples, before any stream is seen."""

    def ready(self, x: npt.NDArray[Any], y: npt.NDArray[np.int64]) -> None:
        """Learn from clean examples before anything is recorded, where recording cannot do without."""
        if type(self).learn is not Method.learn:
            from ..zoo.outputs import place_of

            self.learn(self.record(x, place_of(self.network)), y)

    def record(self, x: npt.NDArray[Any], device: str = "cpu") -> Outputs:
        """Run the networks over examples as a backbone takes them."""
        found = self.heard(self.network, x, device)
        return Outputs(found.probs, found.features, {"logits": found.logits})

    def heard(self, network: nn.Module, x: npt.NDArray[Any], device: str) -> Said:
        """Return what a network says to examples; it is run once for all methods that share `said`."""
        from ..zoo.outputs import outputs

        if self.said is None:
            return outputs(network, x, device)
        if id(network) not in self.said:
            self.said[id(network)] = outputs(network, x, device)
        return self.said[id(network)]

    @abstractmethod
    def score(self, seen: Outputs, setting: Mapping[str, Any]) -> Answer:
        """Answer a stream with a setting of the grid; the past of a segment's first step is empty."""

    def fit(self, dev: Labeled) -> None:
        """Keep the setting whose scores find the method's own errors best, and drops of accuracy if asked.

        Where settings answer differently, errors do too: there the area under risk and coverage decides.
        """
        measure = self.measure or objective

        def quality(setting: Mapping[str, Any]) -> float:
            found = self.score(dev.observed, setting)
            wrong = found.predictions() != dev.labels
            if self.own_answer:
                return -aurc(found.score, wrong)
            return float(
                np.nan_to_num(measure(found.score, wrong, dev.kinds, dev.observed.stretches), nan=-1)
            )

        # A grid begins with its simplest setting, which wins a tie.
        self.setting = max(self.grid, key=quality) if len(self.grid) > 1 else self.grid[0]

    def answer(self, seen: Outputs) -> Answer:
        """Answer a stream with the setting that was kept."""
        return self.score(seen, self.setting)

    def prediction_risk(self, seen: Outputs, found: Answer) -> Floats | None:
        """Return what an answer says of the plain network's prediction; None: what its posteriors do."""
        plain = self.recipe == "plain" and self.members == 1
        return found.score if plain and not self.own_answer else None

    def fit_posteriors(self, dev: Labeled) -> None:
        """Fit no more than `posteriors` needs; all, where scores and posteriors go together."""
        self.fit(dev)

    def posteriors(self, seen: Outputs) -> Floats:
        """Return the posteriors that the method stands by."""
        return self.answer(seen).probs

    def deployed(self) -> Sequence[nn.Module]:
        """Return the networks that a device runs."""
        return self.loaded()

    @property
    def needs(self) -> Mapping[str, Any]:
        """Return what a step needs beside a pass through every network, as `zoo.outputs.counted` takes it."""
        return {}

    def cost(self, shape: tuple[int, ...]) -> MethodCost:
        """Return what a step costs, for a prepared input of a shape (channels, height, width)."""
        from ..zoo.outputs import counted

        return counted(self.deployed(), shape, **self.needs)


HORIZON = 200
"""Steps that an expected accuracy looks back."""


def causal_mean(values: Floats, last: int) -> npt.NDArray[np.float64]:
    """Return the mean of the last values of each step, or of as many as there are."""
    sums = np.concatenate([[0.0], np.cumsum(values)])
    ends = np.arange(1, len(values) + 1)
    starts = np.maximum(0, ends - last)
    return np.asarray((sums[ends] - sums[starts]) / (ends - starts))


class Scored:
    """A method as experiments fit it to development data, whose settings are chosen by what they judge by."""

    def __init__(self, kind: type[Method], measure: Measure | None = None) -> None:
        self.method = kind()
        self.method.measure = measure

    def learn(self, clean: Outputs, y: Any) -> None:
        """Learn from what was recorded of clean development examples, before any stream is seen."""
        if type(self.method).learn is not Method.learn:
            self.method.learn(clean, y)

    def fit(self, dev: Dev) -> None:
        """Keep the setting that is best on the judged steps of a development stream."""
        self.method.fit(labeled(dev))

    def watch(self, seen: Outputs) -> Answers:
        """Return its score and its class, and what it says of the plain network's prediction."""
        found, accuracy = self.method.answer(seen), None
        score = np.asarray(found.score, dtype=np.float64)
        if self.method.calibrated:
            accuracy = np.concatenate([1 - causal_mean(score[piece], HORIZON) for piece in seen.pieces()])
        risk = self.method.prediction_risk(seen, found)
        said = None if risk is None else np.asarray(risk, dtype=np.float64)
        return Answers(score, found.predictions(), None, accuracy, None, said, found.probs)

    @property
    def choice(self) -> dict[str, Any]:
        """What was chosen on a stream, as JSON takes it."""
        found = {name: _plain(value) for name, value in self.method.setting.items()}
        for name in ("temperature", "coef", "bias"):
            value = vars(self.method).get(name)
            if value is not None:
                found[name] = _plain(value)
        return found


def _plain(value: Any) -> Any:
    if isinstance(value, (tuple, np.ndarray)):
        return [_plain(each) for each in value]
    return round(float(value), 6) if isinstance(value, (float, np.floating)) else value
