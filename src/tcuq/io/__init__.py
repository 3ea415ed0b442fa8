"""Logs in and decisions out, as CSV, NPZ or JSON lines."""

from __future__ import annotations

from .decision_files import read_decisions
from .decisions import Decisions, write_decisions
from .npz import write_log
from .readers import read_log
from .sources import FORMATS, format_of

__all__ = ["FORMATS", "Decisions", "format_of", "read_decisions", "read_log", "write_decisions", "write_log"]
