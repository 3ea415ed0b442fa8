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
    from .monitor.accuracy import accuracy_band, accuracy_from_labels
    from .monitor.alarm import Alarm, AlarmSide
    from .monitor.bank import Bank
    from .monitor.feedback import Feedback
    from .monitor.heads import EvidenceHead, InstantHead
    from .monitor.log import Log
    from .monitor.logits import softmax
    from .monitor.monitor import Monitor
    from .monitor.params import Params
    from .monitor.questions import Questions
    from .monitor.signals import PROFILES, SIGNALS
    from .monitor.steps import STEP_DTYPE, Steps, reason_names, step_columns
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

_HOMES = {
    "_core": ("Step",),
    "base.errors": ("InputError",),
    "fitting": ("FitOptions", "fit"),
    "monitor.accuracy": ("accuracy_band", "accuracy_from_labels"),
    "monitor.alarm": ("Alarm", "AlarmSide"),
    "monitor.bank": ("Bank",),
    "monitor.feedback": ("Feedback",),
    "monitor.heads": ("EvidenceHead", "InstantHead"),
    "monitor.log": ("Log",),
    "monitor.logits": ("softmax",),
    "monitor.monitor": ("Monitor",),
    "monitor.params": ("Params",),
    "monitor.questions": ("Questions",),
    "monitor.signals": ("PROFILES", "SIGNALS"),
    "monitor.steps": ("STEP_DTYPE", "Steps", "reason_names", "step_columns"),
    "recording": ("record",),
    "report": ("plot_steps",),
}
"""Where public names live."""

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

    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f".{home}", __name__), name)
    if name in _PARTS:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module 'tcuq' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
