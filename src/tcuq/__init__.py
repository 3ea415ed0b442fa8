"""tcuq: a label-free monitor for classifiers on microcontrollers and servers."""

from __future__ import annotations

from ._version import VERSION as __version__

TYPE_CHECKING = False  # as in typing, which takes longer to import than all else here
if TYPE_CHECKING:
    from typing import Any

    from ._core import Step
    from .base.errors import InputError
    from .fitting.fit import fit
    from .fitting.options import FitOptions
    from .monitor import (
        PROFILES,
        SIGNALS,
        STEP_DTYPE,
        Alarm,
        AlarmSide,
        Bank,
        EvidenceHead,
        Feedback,
        InstantHead,
        Log,
        Monitor,
        Params,
        Questions,
        Steps,
        accuracy_band,
        accuracy_from_labels,
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
    "Feedback",
    "FitOptions",
    "InputError",
    "InstantHead",
    "Log",
    "Monitor",
    "Params",
    "Questions",
    "Step",
    "Steps",
    "__version__",
    "accuracy_band",
    "accuracy_from_labels",
    "fit",
    "plot_steps",
    "reason_names",
    "record",
    "softmax",
    "step_columns",
]

_ELSEWHERE = {
    "FitOptions": "fitting",
    "InputError": "base.errors",
    "Step": "_core",
    "fit": "fitting",
    "plot_steps": "report",
    "record": "recording",
}
"""Where a public name lives when that is not `monitor`."""

_PARTS = (
    "audit",
    "demo",
    "export",
    "fitting",
    "io",
    "metrics",
    "monitor",
    "recording",
    "report",
    "start",
    "torch",
)
"""Parts that may be reached as attributes without importing them first."""


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is asked for, so that the command starts at once."""
    from importlib import import_module

    if name in __all__:
        return getattr(import_module(f".{_ELSEWHERE.get(name, 'monitor')}", __name__), name)
    if name in _PARTS:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module 'tcuq' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
