"""From a model and data to a log: run the model once over the data and keep what it says."""

from __future__ import annotations

from .run import record

__all__ = ["record"]
