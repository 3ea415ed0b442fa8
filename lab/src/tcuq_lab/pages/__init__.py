"""Pages made from result files: what came out, what was promised, what the paper printed."""

from .build import build_pages

__all__ = ["build_pages"]
