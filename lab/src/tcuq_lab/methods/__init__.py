"""Methods by name, and which stored networks each takes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tcuq.base.checks import known

from .belief import Belief, BeliefStay, BeliefTold, Hmm
from .confidence import Base, ConfidenceNorm, Conformal, Entropy, Stacked, Temperature
from .ensembles import Deep, DeepBelief, EarlyExit, ExitsAlone, Hydra, McDropout, PostNet
from .method import Method
from .paper import VARIANTS, TcuqPaper
from .perturbed import Godin, GodinEnergy, Odin, OdinEnergy
from .rules import Mean8, MeanAnswer, MeanPosterior, Median, Suppress, Vote, Vote8
from .tcuq import TcuqStandard

if TYPE_CHECKING:
    from torch import nn


SUFFIXES: Mapping[str, tuple[str, ...]] = {
    "plain": ("",),
    "dropout": ("_dropout_10", "_dropout_05", "_dropout_20"),
    "early_exit": ("_exits", "_exits_light"),
    "hydra": ("_hydra_t1", "_hydra_t4"),
    "godin": ("_godin",),
    "postnet": ("_postnet",),
}
"""Configurations of a recipe, as what follows the name of the backbone."""
STORED = 7
"""Plain networks that are stored of a backbone: members beyond the last are the first ones again."""
CHOICES = "choices.json"
"""File beside the weights with what development data chose where a recipe has several configurations."""


def names_of(method: type[Method], backbone: str, seed: int, suffix: str = "") -> list[str]:
    """Return the names of the networks that a method takes, in its order.

    Members have consecutive seeds, and after the last of `STORED` networks comes the first.
    """
    others = ((seed + member) % STORED for member in range(1, method.members))
    return [f"{backbone}{suffix}-{number}" for number in (seed, *others)]


def suffix_of(method: type[Method], backbone: str, folder: str | Path) -> str:
    """Return the configuration that development data chose for a method on a backbone."""
    offered = SUFFIXES[known("recipe", method.recipe, SUFFIXES)]
    if len(offered) == 1:
        return offered[0]
    path = Path(folder) / CHOICES
    try:
        found = json.loads(path.read_text())[backbone][method.recipe]["chosen"]
    except (KeyError, ValueError) as error:
        raise ValueError(
            f"{path}: no choice for {method.recipe} on {backbone} ({type(error).__name__})"
        ) from None
    return offered[offered.index(known(f"configuration of {method.recipe}", found, offered))]


def load_networks(
    method: type[Method], backbone: str, seed: int, folder: str | Path, suffix: str | None = None
) -> list[nn.Module]:
    """Load the networks that a method takes."""
    from ..zoo.weights import load_weights

    chosen = suffix_of(method, backbone, folder) if suffix is None else suffix
    return [
        load_weights(Path(folder) / f"{name}.npz")[0] for name in names_of(method, backbone, seed, chosen)
    ]


WEAKENED: tuple[type[Method], ...] = (ExitsAlone,)
"""Methods without one of their parts, to see what it is worth; they are no baselines."""
_ALL: tuple[type[Method], ...] = (
    Base, Entropy, Temperature, Conformal, McDropout, Deep, EarlyExit, Hydra, Odin, OdinEnergy, Godin,
    GodinEnergy, PostNet, *WEAKENED, Vote, MeanPosterior, MeanAnswer, Suppress, Median, TcuqPaper,
    TcuqStandard, *VARIANTS, Vote8, Mean8, Belief, BeliefTold, Hmm, ConfidenceNorm, BeliefStay, DeepBelief,
    Stacked,
)  # fmt: skip
METHODS = {each.name: each for each in _ALL}


def method(name: str) -> type[Method]:
    """Return the class of a method."""
    return METHODS[known("method", name, METHODS)]
