"""Libraries that only some corruptions need, imported when one of those is used."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def scipy(part: str, what: str = "to corrupt pictures") -> Any:
    """Return a part of scipy, or say how to get it."""
    return _library(f"scipy.{part}", f"scipy is needed {what}: pip install scipy")


def pillow() -> Any:
    """Return the module of Pillow that holds pictures, or say how to get it."""
    return _library("PIL.Image", "Pillow is needed to corrupt pictures: pip install pillow")


def _library(module: str, message: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise ImportError(message) from None
