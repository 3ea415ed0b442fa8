"""All experiments by name: on streams as users have them, on microcontrollers, and those of the paper."""

from __future__ import annotations

from . import accuracy, alarms, answers, backbones, boards, questions, trainings
from .paper import PAPER
from .run import Experiment

STREAMS = {each.SPEC.name: each.SPEC for each in (answers, alarms, accuracy, questions)}
MEASURED = {each.SPEC.name: each.SPEC for each in (backbones, boards, trainings)}
TITLES = {name: each.title for name, each in STREAMS.items()}
EXPERIMENTS: dict[str, Experiment] = {**STREAMS, **{name: PAPER[name] for name in sorted(PAPER)}, **MEASURED}
