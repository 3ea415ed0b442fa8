"""All experiments by name: those on streams as users have them, and those that repeat the paper's."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import cast

from .experiment import Experiment
from .field.experiment import TITLES, StreamExperiment
from .paper import load_experiments


def stream_experiment(name: str) -> StreamExperiment:
    """Return an experiment on streams.

    Examples
    --------
    >>> stream_experiment("answers").title
    'Which answers are wrong, and how many errors are left'
    """
    return cast(StreamExperiment, import_module(f".field.{name}", __package__).SPEC)


def experiments(folder: str | Path) -> dict[str, Experiment]:
    """Return all experiments by name.

    Parameters
    ----------
    folder : path
        Files of those that repeat the paper's; see `load_experiments`.
    """
    return {name: stream_experiment(name) for name in TITLES} | dict(load_experiments(folder))
