"""All experiments by name: on streams as users have them, those that repeat the paper's, and on boards."""

from __future__ import annotations

from pathlib import Path

from ..reproduce.experiment import Experiment
from ..reproduce.paper import load_experiments
from . import accuracy, alarms, answers, boards, questions, trainings

STREAMS = {each.SPEC.name: each.SPEC for each in (answers, alarms, accuracy, questions)}
MEASURED = {each.SPEC.name: each.SPEC for each in (boards, trainings)}
"""What is measured without streams."""
TITLES = {name: each.title for name, each in STREAMS.items()}


def experiments(folder: str | Path) -> dict[str, Experiment]:
    """Return all experiments; those that repeat the paper's are files of a folder."""
    return {**STREAMS, **load_experiments(folder), **MEASURED}
