"""From a development log to `Params`: the fit and its options."""

from __future__ import annotations

from .fit import fit
from .options import FitOptions
from .words import notes_of

__all__ = ["FitOptions", "fit", "notes_of"]
