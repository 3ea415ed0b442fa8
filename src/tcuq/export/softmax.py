"""Posteriors from int8 logits, in the integers that the exported C uses."""

from __future__ import annotations

from ..monitor.logits import ENTRIES, posteriors, softmax_table

__all__ = ["ENTRIES", "posteriors", "softmax_table"]
