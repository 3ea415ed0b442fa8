"""Corruptions of pictures and of sound: suites of kinds, each with severities, the same bytes for a seed."""

from .apply import corrupt
from .suite import Kind, Suite, suite, suite_of, suites

__all__ = ["Kind", "Suite", "corrupt", "suite", "suite_of", "suites"]
