"""Where events come from, and how they are read."""

from .arrivals import Arrived, Notice, Source
from .opening import open_source
from .streams import IterableSource

__all__ = ["Arrived", "IterableSource", "Notice", "Source", "open_source"]
