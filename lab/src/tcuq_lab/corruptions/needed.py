"""Libraries that only some corruptions need, imported when one of those is used."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def scipy(part: str, what: str = "to corrupt pictures", extra: str = "vision") -> Any:
    """Return a part of scipy, or say how to get it.

    Parameters
    ----------
    part : str
        Such as "ndimage".
    what, extra : str
        What it is needed for, and the extra of this package that brings it.

    Examples
    --------
    >>> scipy("nothing")
    Traceback (most recent call last):
    ...
    ImportError: scipy is needed to corrupt pictures: pip install 'tcuq-lab[vision]'
    """
    return _library(f"scipy.{part}", f"scipy is needed {what}: pip install 'tcuq-lab[{extra}]'")


def pillow() -> Any:
    """Return the module of Pillow that holds pictures, or say how to get it."""
    return _library("PIL.Image", "Pillow is needed to corrupt pictures: pip install 'tcuq-lab[vision]'")


def _library(module: str, message: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise ImportError(message) from None
