"""Many devices at once: events put in order, run through banks of monitors, committed, summed up."""

from .events import Decided, Events
from .fleet import Fleet
from .model_version import ModelVersion

__all__ = ["Decided", "Events", "Fleet", "ModelVersion"]
