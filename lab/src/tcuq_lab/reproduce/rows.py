"""Rows of a table: a method and the networks that it is given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from tcuq.base.checks import known_only

from ..methods import method as method_named
from ..methods import names_of, suffix_of
from ..methods.confidence import Base
from ..methods.method import Method

TASKS = {
    "mnist": "cnn4",
    "speech_commands": "dscnn",
    "cifar10": "resnet8",
    "tinyimagenet20": "mobilenetv2",
    "text": "text",
    "cifar10_animals": "resnet8_animals",
    "mnist_pairs": "cnn4_pairs",
    "signs": "resnet8_signs",
    "motion": "cnn1d",
}
"""Datasets and their backbones."""
KEPT = {task: TASKS[task] for task in ("mnist", "speech_commands", "cifar10")}
"""Those whose weights come with the project; lab/tools/backbones.py and `tcuq-lab train` make the others."""


class Row(NamedTuple):
    """A row of a table."""

    label: str
    method: type[Method]
    suffix: str | None = None
    backbone: str | None = None

    def networks(self, task: str, seed: int, folder: str) -> list[str]:
        """Return the names of the networks."""
        backbone = self.backbone or TASKS[task]
        chosen = suffix_of(self.method, backbone, folder) if self.suffix is None else self.suffix
        return names_of(self.method, backbone, seed, chosen)


def row_of(given: Any) -> Row:
    """Return a row from what an experiment's file says: a method's name, or a mapping."""
    if isinstance(given, str):
        return Row(given, method_named(given))
    if not isinstance(given, Mapping) or "method" not in given:
        raise ValueError(f"row is {given!r}, expected a method's name, or a mapping with method")
    known_only("entry of a row", given, ("method", "label", "networks", "backbone"))
    for entry, value in given.items():
        if not isinstance(value, str):
            raise ValueError(f"{entry} of a row is {value!r}, expected text")
    name: str = given["method"]
    return Row(given.get("label", name), method_named(name), given.get("networks"), given.get("backbone"))


UNFITTED = ("base", "entropy", "temperature", "conformal", "vote_8", "mean_8", "belief")
"""Rows that no stream is chosen for; a temperature and conformal doubts come from clean examples."""
TUNED = (
    "mc_dropout",
    "deep",
    "early_exit",
    "hydra",
    "odin",
    "godin",
    "postnet",
    "vote",
    "mean_posterior",
    "median",
    "suppress",
    "mean_answer",
    "belief_stay",
    "deep_belief",
)
"""Rows that try eight settings on a development stream."""
LEARNED = ("confidence_norm", "belief_told", "hmm", "stacked")
"""Rows that learn something from a development stream."""
ASSISTED = Row("assisted network", Base, "_assisted")
"""The plain network trained with temporal assistance."""
