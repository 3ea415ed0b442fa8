"""Logs in and decisions out, as CSV, NPZ, JSON lines, Parquet or Arrow."""

from __future__ import annotations

from ..base.checks import InputNote
from ..base.limits import Limits
from .decision_files import read_decisions
from .decisions import Decisions, write_decisions
from .logs import read_log, write_log
from .sources import FORMATS, format_of

__all__ = [
    "FORMATS",
    "Decisions",
    "InputNote",
    "Limits",
    "format_of",
    "read_decisions",
    "read_log",
    "write_decisions",
    "write_log",
]
