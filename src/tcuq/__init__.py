"""tcuq: a label-free monitor for classifiers on microcontrollers and servers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._core import Step
from ._version import VERSION as __version__
from .alarm import Alarm, AlarmSide
from .log import Log
from .monitor import STEP_DTYPE, Monitor
from .params import Params
from .signals import PROFILES, SIGNALS

if TYPE_CHECKING:
    from .fitting import fit, tune

__all__ = [
    "PROFILES",
    "SIGNALS",
    "STEP_DTYPE",
    "Alarm",
    "AlarmSide",
    "Log",
    "Monitor",
    "Params",
    "Step",
    "__version__",
    "fit",
    "tune",
]

_LATER = {"fit": "fitting", "tune": "fitting"}


def __getattr__(name: str) -> Any:
    """Import what is not needed on a device's host loop only when it is asked for."""
    if name in _LATER:
        from importlib import import_module

        return getattr(import_module(f".{_LATER[name]}", __name__), name)
    raise AttributeError(f"module 'tcuq' has no attribute {name!r}")
