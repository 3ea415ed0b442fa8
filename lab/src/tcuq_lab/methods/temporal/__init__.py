"""The methods that work on a stream of the plain network's outputs."""

from __future__ import annotations

from .mean_posterior import MeanAnswer, MeanPosterior
from .median import Median
from .streaming import Streaming
from .suppress import Suppress
from .tcuq import Tcuq, TcuqPaper
from .variants import ABLATIONS, VARIANTS
from .vote import Vote

STREAM_METHODS: tuple[type[Streaming], ...] = (
    Vote,
    MeanPosterior,
    MeanAnswer,
    Suppress,
    Median,
    TcuqPaper,
    Tcuq,
    *VARIANTS,
)

__all__ = ["ABLATIONS", "STREAM_METHODS", "VARIANTS"]
