"""Where events come from, and how they are read."""

from .arrivals import Arrived, Notice
from .opening import open_source
from .streams import IterableSource, Source

__all__ = ["Arrived", "IterableSource", "Notice", "Source", "open_source"]
