"""Many devices at once: events put in order, run through banks of monitors, committed, summed up."""

from ..engine.events import Decided, Events
from ..engine.model_version import ModelVersion
from .fleet import Fleet

__all__ = ["Decided", "Events", "Fleet", "ModelVersion"]
