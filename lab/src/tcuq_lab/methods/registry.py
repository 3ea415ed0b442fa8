"""Methods by name."""

from __future__ import annotations

from tcuq.base.checks import known

from .belief import Belief, BeliefStay, BeliefTold, Hmm
from .confidence import Base, ConfidenceNorm, Conformal, Entropy, Temperature
from .ensembles import Deep, EarlyExit, ExitsAlone, Hydra, McDropout, PostNet
from .method import Method
from .paper import VARIANTS, TcuqPaper
from .perturbed import Godin, GodinEnergy, Odin, OdinEnergy
from .rules import Mean8, MeanAnswer, MeanPosterior, Median, Streaming, Suppress, Vote, Vote8
from .stacked import DeepBelief, Stacked
from .tcuq import TcuqStandard

STREAM_METHODS: tuple[type[Streaming], ...] = (
    Vote,
    MeanPosterior,
    MeanAnswer,
    Suppress,
    Median,
    TcuqPaper,
    TcuqStandard,
    *VARIANTS,
)
FIXED_RULES: tuple[type[Streaming], ...] = (Vote8, Mean8, Belief, BeliefTold, Hmm)
"""Rules with nothing to tune, which answer with a class of their own."""

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
RIVALS: tuple[type[Method], ...] = (*FIXED_RULES, ConfidenceNorm, BeliefStay, DeepBelief, Stacked)
"""Rivals of the monitor: rules that answer with a class of their own, and regressions."""
METHODS: dict[str, type[Method]] = {
    each.name: each for each in (*NETWORK_METHODS, *WEAKENED, *STREAM_METHODS, *RIVALS)
}


def method(name: str) -> type[Method]:
    """Return the class of a method."""
    return METHODS[known("method", name, METHODS)]
