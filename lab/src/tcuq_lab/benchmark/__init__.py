"""A benchmark of label-free monitors on streams: what a method is given, and what it says."""

from __future__ import annotations

from ..harness.types import ASKED, MAX_ERROR, Answers, Dev, Outputs

__all__ = ["ASKED", "MAX_ERROR", "Answers", "Dev", "Outputs"]
