"""Corruptions of pictures and of sound: suites of kinds, each with severities, the same bytes for a seed."""

from .apply import corrupt
from .registry import suite, suite_of, suites
from .suite import Kind, Suite

__all__ = ["Kind", "Suite", "corrupt", "suite", "suite_of", "suites"]
