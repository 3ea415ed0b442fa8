"""Pages made from result files."""

from .build import build_pages

__all__ = ["build_pages"]
