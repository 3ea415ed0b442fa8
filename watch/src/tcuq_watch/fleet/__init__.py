"""Many devices at once: events put in order, run through banks of monitors, committed, summed up."""

from .events import Decided, Events
from .fleet import Fleet
from .lane import Lane

__all__ = ["Decided", "Events", "Fleet", "Lane"]
