"""tcuq: a label-free monitor for classifiers on microcontrollers and servers."""

from __future__ import annotations

from ._version import VERSION as __version__

TYPE_CHECKING = False  # as in typing, which takes longer to import than all else here
if TYPE_CHECKING:
    from typing import Any

    from ._core import Step
    from .alarm import Alarm, AlarmSide
    from .fitting.fit import fit
    from .fitting.tune import tune
    from .head import EvidenceHead
    from .log import Log
    from .monitor import STEP_DTYPE, Monitor
    from .params import Params
    from .signals import PROFILES, SIGNALS

__all__ = [
    "PROFILES",
    "SIGNALS",
    "STEP_DTYPE",
    "Alarm",
    "AlarmSide",
    "EvidenceHead",
    "Log",
    "Monitor",
    "Params",
    "Step",
    "__version__",
    "fit",
    "tune",
]

_HOMES = {
    "PROFILES": "signals",
    "SIGNALS": "signals",
    "STEP_DTYPE": "monitor",
    "Alarm": "alarm",
    "AlarmSide": "alarm",
    "EvidenceHead": "head",
    "Log": "log",
    "Monitor": "monitor",
    "Params": "params",
    "Step": "_core",
    "fit": "fitting",
    "tune": "fitting",
}


_ROOMS = (
    *("alarm", "audio", "audit", "corruptions", "cost", "data", "demo", "export", "fitting", "head"),
    *("inspect", "io", "lab", "log", "methods", "metrics", "monitor", "params", "quantize", "reference"),
    *("report", "signals", "state", "zoo"),
)
"""Modules that may be reached as attributes without importing them first."""


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is asked for, so that the command starts at once."""
    from importlib import import_module

    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    if name in _ROOMS:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module 'tcuq' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
