"""From a development log to `Params`: the fit and its options."""

from __future__ import annotations

from .fit import fit
from .options import FitOptions

__all__ = ["FitOptions", "fit"]
