"""What temporal assistance does to trainings: on, off and watched only; its weights; the number of exits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from ..data import present
from ..data.parts import PARTS, split_of
from ..reproduce.recordings import Recordings
from ..reproduce.run_size import RunSize
from ..reproduce.versions import PROTOCOL, digest_of
from .run import Outcome, SmallExperiment

if TYPE_CHECKING:
    from torch import nn

    from ..zoo.make import Parts
    from ..zoo.train import Examples

BACKBONES: Mapping[str, str] = MappingProxyType(
    {"mnist": "cnn4", "tinyimagenet20": "mobilenetv2", "cifar10": "resnet8", "speech_commands": "dscnn"}
)
"""Networks by task; after the one of trials the longest trainings come first."""
POINTS = 300
"""Most means over stretches of a training that stand for a curve of its losses."""
LIMITS: Mapping[str, tuple[int, int]] = MappingProxyType({"trial": (2, 3000), "reduced": (5, 10_000)})
"""Most epochs, and examples of each part, of settings that show that all works."""
USUAL = MappingProxyType({"first": 3, "step": 0.5})
"""The paper's weights, which the recipe has by default."""
CHANGES = (*(("first", each) for each in (2, 3, 4, 5)), *(("step", each) for each in (0, 0.5, 1)))
EXITS = (2, 4, 6, 8, 10)


class Variant(NamedTuple):
    """A network of an ablation: its questions, its name after that of the backbone, changed settings."""

    ablations: tuple[str, ...]
    suffix: str
    settings: Mapping[str, float]


def variants(backbone: str) -> list[Variant]:
    """Return the networks that are trained of a backbone."""
    if backbone == "mobilenetv2":
        counts = [Variant(("exits",), f"_assisted_exits{count}", {"exits": count}) for count in EXITS]
        return [Variant(("exits",), "", {}), *counts]
    return [
        Variant(("assistance",), "", {}),
        Variant(("assistance", "weights"), "_assisted", {}),
        Variant(("assistance",), "_assisted_probe", {"probe": 1}),
        *(
            Variant(("weights",), f"_assisted_{name}{value}", {name: value})
            for name, value in CHANGES
            if value != USUAL[name]
        ),
    ]


class Training(NamedTuple):
    """One network that is trained."""

    task: str
    seed: int
    suffix: str

    @property
    def name(self) -> str:
        """As progress and results show it."""
        return f"{BACKBONES[self.task]}{self.suffix}"

    @property
    def variant(self) -> Variant:
        """What is changed, and for which questions."""
        return next(each for each in variants(BACKBONES[self.task]) if each.suffix == self.suffix)

    def config(self, setting: str) -> Any:
        """Return the configuration of the training."""
        from ..zoo.make import find_config

        kind = "_assisted" if self.suffix else ""
        found = find_config(f"{BACKBONES[self.task]}{kind}").with_settings(self.variant.settings)
        epochs, _ = LIMITS.get(setting, (found.epochs, 0))
        return found.with_(name=self.name, seed=self.seed, epochs=min(epochs, found.epochs))


@dataclass(frozen=True)
class TrainingsExperiment(SmallExperiment):
    """Trains networks, none of them twice: weights and curves stay beside what was measured of each."""

    name: str = "trainings"
    title: str = "What temporal assistance does to trainings"
    paper: str = "ablations of temporal assistance"
    tasks: tuple[str, ...] = tuple(BACKBONES)
    format: ClassVar[str] = "tcuq-assistance"

    def absent(self, recordings: Recordings) -> list[str]:
        """Return the tasks whose examples are not there."""
        return [
            task for task in self.tasks if any(present(task, split_of(task, part)) is None for part in PARTS)
        ]

    def pieces(self, recordings: Recordings) -> dict[Training, Path]:
        """Return the trainings, seed after seed, so that a run that is cut off leaves whole seeds."""
        from ..zoo.make import check_config

        setting, gone = recordings.setting, self.absent(recordings)
        found = {}
        for seed in setting.seeds:
            for task in (each for each in self.tasks if each not in gone):
                for variant in variants(BACKBONES[task]):
                    training = Training(task, seed, variant.suffix)
                    config = training.config(setting.name)
                    check_config(config)  # what is wrong with one is said before the first begins
                    digest = digest_of([config.to_dict(), LIMITS.get(setting.name), PROTOCOL])
                    home = recordings.folder / "cells" / self.name / digest
                    found[training] = home / f"{training.name}-{seed}.json"
        if not found:
            raise ValueError(f"{self.name} finds no examples of {', '.join(gone)}: tcuq-lab data get")
        return found

    def measured(self, piece: Training, recordings: Recordings, place: Path) -> dict[str, Any]:
        """Train a network unless its weights are there, and return what it is worth."""
        from ..zoo.curves import curves_of, read_curves, thinned
        from ..zoo.heads import recipe
        from ..zoo.make import file_of, train_one
        from ..zoo.weights import load_weights

        config = piece.config(recordings.setting.name)
        _, examples = LIMITS.get(recordings.setting.name, (0, 0))
        parts, path = _parts(piece.task, examples), place.parent / file_of(config)
        card = train_one(config, place.parent, recordings.device, parts, curves=1)
        network, plan = load_weights(path)[0], recipe(config.recipe, config.settings)
        held = {"train": parts.train, "dev": parts.dev, "test": parts.test}
        return {
            "name": config.name,
            "ablations": list(piece.variant.ablations),
            "backbone": config.backbone,
            "dataset": config.dataset,
            "seed": config.seed,
            "recipe": config.recipe,
            "settings": {each.name: plan.setting(each.name) for each in plan.accepted},
            "epochs": config.epochs,
            "examples": {name: len(part.y) for name, part in held.items()},
            **{name: _figures(network, held[name], recordings.device) for name in ("dev", "test")},
            "device": card["device"],
            "seconds": card["seconds"],
            "curves": thinned(read_curves(curves_of(path)), POINTS),
        }

    def gathered(self, found: Mapping[Training, Any]) -> Outcome:
        """Return a line for each network, those of one name together."""
        names = list(dict.fromkeys(piece.name for piece in found))
        ordered = sorted(found, key=lambda piece: (names.index(piece.name), piece.seed))
        seconds = round(sum(each["seconds"] for each in found.values()))
        return Outcome([found[piece] for piece in ordered], {"seconds": seconds})

    def shown(self, outcome: Outcome) -> str:
        """Return a line of text for each network: its figures on the test part."""
        return "\n".join(
            f"{each['name']}-{each['seed']}: "
            + ", ".join(f"{name} {value:.4f}" for name, value in each["test"].items())
            for each in outcome.lines
        )

    def sizes(self, setting: RunSize) -> dict[str, Any]:
        """Return the seeds, and the points of a curve."""
        return {"seeds": list(setting.seeds), "curves": POINTS}


@lru_cache(maxsize=1)  # the trainings of a dataset follow each other
def _parts(dataset: str, examples: int) -> Parts:
    """Return the parts of a dataset, or so many examples of each, evenly spread: classes may lie in order."""
    import torch

    from ..zoo.make import load_parts

    def few(part: Examples) -> Examples:
        if not examples or examples >= len(part.y):
            return part
        chosen = torch.linspace(0, len(part.y) - 1, examples).long()
        return type(part)(part.x[chosen], part.y[chosen])

    found = load_parts(dataset)
    return found._replace(train=few(found.train), dev=few(found.dev), test=few(found.test))


def _figures(network: nn.Module, part: Examples, device: str) -> dict[str, float]:
    """Return the figures of a network on a part; the Brier score is a sum over classes."""
    from ..metrics import accuracy, brier, ece, macro_f1, nll
    from ..zoo.outputs import outputs

    probs, labels = outputs(network, part.x.numpy(), device).probs, part.y.numpy()
    answers = probs.argmax(1)
    found = {
        "accuracy": accuracy(answers, labels),
        "f1": macro_f1(answers, labels, probs.shape[1]),
        "brier": brier(probs, labels),
        "nll": nll(probs, labels),
        "ece": ece(probs.max(1), answers == labels),
    }
    return {name: round(value, 6) for name, value in found.items()}


SPEC = TrainingsExperiment()
