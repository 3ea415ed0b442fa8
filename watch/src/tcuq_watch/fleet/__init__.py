"""Many devices at once: events put in order, run through banks of monitors, committed, summed up."""

from ..engine.events import Decided, Events
from ..engine.model_version import ModelVersion
from .fleet import Fleet
from .run import watch

__all__ = ["Decided", "Events", "Fleet", "ModelVersion", "watch"]
