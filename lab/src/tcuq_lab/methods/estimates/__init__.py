"""Estimates of a network's accuracy over a window of steps without labels."""

from __future__ import annotations

from .atc import Atc
from .bbse import Bbse
from .cot import Cot
from .dev_accuracy import DevAccuracy
from .doc import Doc
from .doc_regression import DocRegression
from .entropy_mean import EntropyMean
from .estimate import Estimate
from .gde import Gde
from .isotonic import Isotonic
from .mano import MaNo
from .mean_confidence import MeanConfidence
from .nuclear_norm import NuclearNorm
from .scaled_confidence import ScaledConfidence
from .windows import Development, Windows

ESTIMATES: tuple[type[Estimate], ...] = (
    Atc,
    Doc,
    DocRegression,
    MeanConfidence,
    ScaledConfidence,
    Isotonic,
    EntropyMean,
    NuclearNorm,
    MaNo,
    Cot,
    Bbse,
    DevAccuracy,
)

__all__ = ["ESTIMATES", "Atc", "Development", "Doc", "Estimate", "Gde", "MeanConfidence", "Windows"]
