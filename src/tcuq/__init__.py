"""tcuq: a label-free monitor for classifiers on microcontrollers and servers."""

from __future__ import annotations

from ._version import VERSION as __version__

TYPE_CHECKING = False  # as in typing, which takes longer to import than all else here
if TYPE_CHECKING:
    from typing import Any

    from ._core import Step
    from .fitting.fit import fit
    from .fitting.tune import tune
    from .monitor import (
        PROFILES,
        SIGNALS,
        STEP_DTYPE,
        Alarm,
        AlarmSide,
        Bank,
        EvidenceHead,
        InstantHead,
        Log,
        Monitor,
        Params,
        Steps,
        reason_names,
        softmax,
        step_columns,
    )
    from .recording.run import record
    from .report.step_figure import plot_steps

__all__ = [
    "PROFILES",
    "SIGNALS",
    "STEP_DTYPE",
    "Alarm",
    "AlarmSide",
    "Bank",
    "EvidenceHead",
    "InstantHead",
    "Log",
    "Monitor",
    "Params",
    "Step",
    "Steps",
    "__version__",
    "fit",
    "plot_steps",
    "reason_names",
    "record",
    "softmax",
    "step_columns",
    "tune",
]

_ELSEWHERE = {
    "Step": "_core",
    "fit": "fitting",
    "plot_steps": "report",
    "record": "recording",
    "tune": "fitting",
}
"""Where a public name lives when that is not `monitor`."""

_PARTS = (
    "audit",
    "demo",
    "device",
    "export",
    "fitting",
    "fleet",
    "io",
    "live",
    "metrics",
    "monitor",
    "recording",
    "report",
    "torch",
)
"""Parts that may be reached as attributes without importing them first."""

_MOVED = {
    "alarm": "monitor.alarm",
    "cost": "monitor.cost",
    "head": "monitor.evidence_head",
    "inspect": "report.describe",
    "log": "monitor.log",
    "params": "monitor.params",
    "quantize": "monitor.quantize",
    "signals": "monitor.signals",
    "state": "monitor.state",
}
"""Modules of 0.1 by their new place: reachable as attributes, with a warning, until 0.3."""

_LAB = ("audio", "corruptions", "data", "lab", "methods", "zoo")
"""Parts of 0.1 that are now in the package `tcuq_lab`."""


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is asked for, so that the command starts at once."""
    from importlib import import_module

    if name in __all__:
        return getattr(import_module(f".{_ELSEWHERE.get(name, 'monitor')}", __name__), name)
    if name in _PARTS:
        return import_module(f".{name}", __name__)
    if name in _MOVED:
        from warnings import warn

        warn(f"tcuq.{name} is now tcuq.{_MOVED[name]}; the old name goes in 0.3", DeprecationWarning, 2)
        return import_module(f".{_MOVED[name]}", __name__)
    if name in _LAB:
        raise AttributeError(f"tcuq.{name} is now in the package tcuq_lab: pip install ./lab in a checkout")
    raise AttributeError(f"module 'tcuq' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
