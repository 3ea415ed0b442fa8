"""Methods by name."""

from __future__ import annotations

from tcuq.base.checks import known

from .base import Base
from .confidence_norm import ConfidenceNorm
from .conformal import Conformal
from .early_exit import EarlyExit, ExitsAlone
from .ensemble import Deep
from .entropy import Entropy
from .godin import Godin, GodinEnergy
from .hydra import Hydra
from .mc_dropout import McDropout
from .method import Method
from .odin import Odin, OdinEnergy
from .postnet import PostNet
from .temperature import Temperature
from .temporal import FIXED_RULES, STREAM_METHODS

NETWORK_METHODS: tuple[type[Method], ...] = (
    Base,
    Entropy,
    Temperature,
    Conformal,
    McDropout,
    Deep,
    EarlyExit,
    Hydra,
    Odin,
    OdinEnergy,
    Godin,
    GodinEnergy,
    PostNet,
)
"""Methods whose score of a step depends on that step alone."""
WEAKENED: tuple[type[Method], ...] = (ExitsAlone,)
"""Network methods without one of their parts, to see what it is worth; they are no baselines."""
RIVALS: tuple[type[Method], ...] = (*FIXED_RULES, ConfidenceNorm)
"""Rivals without settings to try: rules that answer with a class of their own, and a regression."""
METHODS: dict[str, type[Method]] = {
    each.name: each for each in (*NETWORK_METHODS, *WEAKENED, *STREAM_METHODS, *RIVALS)
}


def method(name: str) -> type[Method]:
    """Return the class of a method."""
    return METHODS[known("method", name, METHODS)]
