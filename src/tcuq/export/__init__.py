"""A monitor as C source."""

from __future__ import annotations

from .names import check_name
from .package import export, sources

__all__ = ["check_name", "export", "sources"]
