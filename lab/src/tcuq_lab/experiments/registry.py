"""All experiments by name: those on streams as users have them, and those that repeat the paper's."""

from __future__ import annotations

from . import accuracy, alarms, answers, questions
from .experiment import Experiment
from .paper import PAPER

STREAMS = {each.SPEC.name: each.SPEC for each in (answers, alarms, accuracy, questions)}
TITLES = {name: each.title for name, each in STREAMS.items()}
EXPERIMENTS: dict[str, Experiment] = {**STREAMS, **{name: PAPER[name] for name in sorted(PAPER)}}
