"""Rows of a table: a method and the networks that it is given."""

from __future__ import annotations

from typing import NamedTuple

from ..harness.laws import BACKBONES, RECORDED, SMALL
from ..methods import method as method_named
from ..methods import names_of, suffix_of
from ..methods.confidence import Base
from ..methods.method import Method

TINY = {"tinyimagenet": "mobilenetv2_200", "tinyimagenet20": "mobilenetv2"}
"""Networks of TinyImageNet: of all classes, and of those of the packed file."""
TASKS = {**BACKBONES, **TINY, "text": "text", **SMALL, **RECORDED}
"""Datasets and their backbones."""


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


def row_of(name: str) -> Row:
    """Return the row of a method, with the networks that development data chose."""
    return Row(name, method_named(name))


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
