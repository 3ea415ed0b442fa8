"""Packages that one part needs and most users do not: imported where they are used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .errors import InputError


def needed(module: str, install: str, what: str) -> Any:
    """Import a package that is used here alone, or say in one line how to get it."""
    try:
        return import_module(module)
    except ImportError:
        problem = f"{what} needs the package {module.partition('.')[0]}"
        raise InputError("needs", f"{problem}; install it with: pip install '{install}'") from None
