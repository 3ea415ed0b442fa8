"""The methods that work on a stream of the plain network's outputs."""

from __future__ import annotations

from .belief import Belief, BeliefTold
from .fixed import Mean8, Vote8
from .hmm import Hmm
from .mean_posterior import MeanAnswer, MeanPosterior
from .median import Median
from .paper import TcuqPaper
from .standard import TcuqStandard
from .streaming import Streaming
from .suppress import Suppress
from .variants import VARIANTS
from .vote import Vote

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

__all__ = ["FIXED_RULES", "STREAM_METHODS", "VARIANTS"]
