"""Devices in the field, one or a million: what they send is decided, kept, shown and told."""

from importlib import import_module
from typing import Any

__all__ = ["Decided", "Events", "Fleet", "watch"]


def __getattr__(name: str) -> Any:  # what imports pyarrow and more is imported where it is used
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(".fleet", __name__), name)
