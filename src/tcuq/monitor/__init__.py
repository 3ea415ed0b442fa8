"""The monitor itself: its parameters, signals, input log, running it, and its saved state."""

from __future__ import annotations

from .accuracy import accuracy_band, accuracy_from_labels
from .alarm import Alarm, AlarmSide
from .bank import Bank
from .feedback import Feedback
from .heads import EvidenceHead, InstantHead
from .log import Log
from .logits import softmax
from .monitor import Monitor
from .params import Params
from .questions import Questions
from .signals import PROFILES, SIGNALS
from .steps import STEP_DTYPE, Steps, reason_names, step_columns

__all__ = [
    "PROFILES",
    "SIGNALS",
    "STEP_DTYPE",
    "Alarm",
    "AlarmSide",
    "Bank",
    "EvidenceHead",
    "Feedback",
    "InstantHead",
    "Log",
    "Monitor",
    "Params",
    "Questions",
    "Steps",
    "accuracy_band",
    "accuracy_from_labels",
    "reason_names",
    "softmax",
    "step_columns",
]
