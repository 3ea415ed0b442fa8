"""Configurations: how a backbone is trained, and the matrix of those that come with the package."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from tcuq.base.checks import integer, known, known_only, number, put
from tcuq.base.errors import located
from tcuq.base.json_text import from_json

FILE = Path(__file__).parent / "configs.json"
PLAIN = "plain"
BACKBONE = "{backbone}"
"""Stands for the name of the plain configuration in settings of a variant: the teacher, for instance."""


def shipped() -> dict[str, dict[str, Any]]:
    """Return the content of every configuration, by name.

    A name is that of the backbone, or backbone and variant joined by an underscore. Fields of a backbone's
    own entry win over those of the variant, which win over the plain ones.
    """
    matrix = json.loads(FILE.read_text(encoding="utf-8"))
    found = {}
    for backbone, cells in matrix["backbones"].items():
        for variant, own in cells.items():
            plain = variant == PLAIN
            name = backbone if plain else f"{backbone}_{variant}"
            shared = {} if plain else matrix["variants"][variant]
            content = {"name": name, "backbone": backbone, **cells[PLAIN], **shared, **own}
            found[name] = json.loads(json.dumps(content).replace(BACKBONE, backbone))
    return found


OPTIMIZERS = ("sgd", "adam")
SCHEDULES = ("cosine", "exponential", "halving")
PRECISIONS = ("float32", "bfloat16")
NAME = r"[A-Za-z0-9_-][A-Za-z0-9_.-]*"


@dataclass(frozen=True)
class Augment:
    """What is done to training examples."""

    # Largest move along height and width; what is moved in repeats nothing, it is padding
    shift: tuple[int, int] = (0, 0)
    flip: bool = False  # mirror every other picture, left to right
    erase: int = 0  # side of a square that is blanked in each example
    noise: float = 0.0  # spread of normal noise, in units of the normalized input
    shrink: int = 0  # side of pictures in the first half of the epochs, which are quicker so; 0: as they are

    def __post_init__(self) -> None:
        if not isinstance(self.shift, (list, tuple)) or len(self.shift) != 2:
            raise ValueError(f"augment shift is {self.shift!r}, expected two numbers")
        if not isinstance(self.flip, bool):
            raise ValueError(f"augment flip is {self.flip!r}, expected true or false")
        put(self, shift=tuple(integer("augment shift", each, 0, 64) for each in self.shift))
        integer("augment erase", self.erase, 0, 64)
        number("augment noise", self.noise, 0, 10)
        integer("augment shrink", self.shrink, 0, 1024)


@dataclass(frozen=True)
class Config:
    """How a backbone is trained."""

    name: str  # of the resulting weights
    dataset: str
    backbone: str
    epochs: int
    batch: int
    rate: float  # learning rate at its highest
    options: Mapping[str, Any] = field(default_factory=dict)  # of the backbone: `width`, for instance
    recipe: str = "plain"  # what is trained around the backbone: see `tcuq_lab.zoo.recipes`
    settings: Mapping[str, Any] = field(default_factory=dict)  # of the recipe
    optimizer: str = "sgd"  # one of `OPTIMIZERS`
    decay: float = 5e-4  # weight decay; batch norms and biases are spared by `sgd`
    # "cosine" (to zero, after `warmup` of the epochs), "exponential" (times `gamma` an epoch) or "halving"
    # (every two epochs)
    schedule: str = "cosine"
    warmup: float = 0.1
    gamma: float = 0.99
    smoothing: float = 0.0  # of the labels
    augment: Augment = Augment()
    precision: str = "bfloat16"  # "bfloat16" is used on GPUs alone
    seed: int = 0
    note: str = ""  # what is to be known of this configuration

    def __post_init__(self) -> None:
        for name in ("name", "dataset", "backbone", "recipe", "note"):
            if not isinstance(getattr(self, name), str):
                raise ValueError(f"{name} is {getattr(self, name)!r}, expected text")
        if not re.fullmatch(NAME, self.name):
            raise ValueError(f"name is {self.name!r}, expected letters, digits, _, - and .")
        for name in ("options", "settings"):
            if not isinstance(getattr(self, name), Mapping):
                raise ValueError(f"{name} is {getattr(self, name)!r}, expected an object")
        integer("epochs", self.epochs, 1, 100_000)
        integer("batch", self.batch, 1, 1 << 20)
        integer("seed", self.seed, 0, 2**31 - 1)
        number("rate", self.rate, 0, 100)
        number("decay", self.decay, 0, 1)
        number("warmup", self.warmup, 0, 1)
        number("gamma", self.gamma, 0, 1)
        number("smoothing", self.smoothing, 0, 0.9)
        known("optimizer", self.optimizer, OPTIMIZERS)
        known("schedule", self.schedule, SCHEDULES)
        known("precision", self.precision, PRECISIONS)
        if not isinstance(self.augment, (Mapping, Augment)):
            raise ValueError(f"augment is {self.augment!r}, expected an object")
        if isinstance(self.augment, Mapping):
            known_only("augment field", self.augment, [each.name for each in fields(Augment)])
            put(self, augment=Augment(**self.augment))

    def to_dict(self) -> dict[str, Any]:
        """Return the content of a configuration file; cards of old have no `shrink`."""
        content = asdict(self)
        if not self.augment.shrink:
            del content["augment"]["shrink"]
        return content

    def with_(self, **changes: Any) -> Config:
        """Return the same configuration but for what is given."""
        return replace(self, **changes)

    def with_settings(self, changes: Mapping[str, Any]) -> Config:
        """Return the same configuration with other settings of its recipe, and a note that says which.

        Examples
        --------
        >>> plan = Config("x", "mnist", "cnn4", 1, 8, 0.1, recipe="assisted", note="The paper's weights.")
        >>> plan = plan.with_settings({"first": 2, "step": 0})
        >>> plan.settings, plan.note
        ({'first': 2, 'step': 0}, 'As x, but for first 2, step 0.')
        """
        if not changes:
            return self
        listed = ", ".join(f"{name} {value}" for name, value in changes.items())
        note = f"As {self.name}, but for {listed}."
        return self.with_(settings={**self.settings, **changes}, note=note)


def config_from(content: Any) -> Config:
    """Build a configuration from the content of a file."""
    if not isinstance(content, Mapping):
        raise ValueError(f"a configuration is an object, not {type(content).__name__}")
    for name in content:
        known("field", name, [each.name for each in fields(Config)])
    for name in ("name", "dataset", "backbone", "epochs", "batch", "rate"):
        if name not in content:
            raise ValueError(f"field {name!r} is missing")
    return Config(**content)


def load_config(path: str | Path) -> Config:
    """Read a configuration file, which may name one of the package as its `base` and hold what differs."""
    with located(str(path)):
        content = from_json(Path(path).read_bytes())
        if isinstance(content, dict) and "base" in content:
            own, base = shipped(), content.pop("base")
            content = {**own[known("base", base, sorted(own))], **content}
        return config_from(content)
